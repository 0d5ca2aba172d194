"""Planning: how good the policy will be, before any data."""

from tacit.planning.plan import Forecast, Plan, plan

__all__ = ["Forecast", "Plan", "plan"]
