"""The demo: a dosing study on simulated patients, from exploring to a report."""

from tacit.demo.report import write_picture, write_report
from tacit.demo.study import DemoResult, dosing_problem, run_demo

__all__ = ["DemoResult", "dosing_problem", "run_demo", "write_picture", "write_report"]
