"""The decision service: studies and released policies over HTTP."""
