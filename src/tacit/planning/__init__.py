"""Planning: how good the policy will be, before any data."""

from tacit.planning.columns import ColumnWorth
from tacit.planning.epochs import EpochForecast, EpochPlan, plan_epochs
from tacit.planning.forecast import Forecast, Plan, plan
from tacit.planning.validation import ValidationPlan

__all__ = [
    "ColumnWorth",
    "EpochForecast",
    "EpochPlan",
    "Forecast",
    "Plan",
    "ValidationPlan",
    "plan",
    "plan_epochs",
]
