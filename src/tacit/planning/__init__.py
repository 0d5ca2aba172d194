"""Planning: how good the policy will be, before any data."""

from tacit.planning.columns import ColumnWorth
from tacit.planning.forecast import Forecast, Plan, plan

__all__ = ["ColumnWorth", "Forecast", "Plan", "plan"]
