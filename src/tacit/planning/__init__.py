"""Planning: how good the policy will be, before any data."""

from tacit.planning.forecast import Forecast, Plan, plan

__all__ = ["Forecast", "Plan", "plan"]
