"""How private sums are collected from logs: which rows are counted, by whom, and how to stop and go on."""

from tacit.collect.checkpoint import Checkpoint
from tacit.collect.cluster import collect_on_ray, connected, import_ray
from tacit.collect.here import collect_here
from tacit.collect.job import Job
from tacit.collect.work import Span, Work

__all__ = ["Checkpoint", "Job", "Span", "Work", "collect_here", "collect_on_ray", "connected", "import_ray"]
