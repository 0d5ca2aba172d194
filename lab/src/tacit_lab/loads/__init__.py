"""Load for a decision service on this machine: connections, rates, percentiles."""
