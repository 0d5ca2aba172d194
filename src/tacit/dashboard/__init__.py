"""The dashboard: pages about studies, drawn on the server from public and released numbers."""

from tacit.dashboard.dashboard import Dashboard
from tacit.dashboard.options import DashboardOptions

__all__ = ["Dashboard", "DashboardOptions"]
