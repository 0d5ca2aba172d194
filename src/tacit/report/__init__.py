"""The report: one page about one policy, made from released numbers only."""

from tacit.report.findings import Findings
from tacit.report.page import write_findings, write_report

__all__ = ["Findings", "write_findings", "write_report"]
