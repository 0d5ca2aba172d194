"""Problem files (TOML), small tables, and logs of any size (Parquet, Arrow, CSV)."""

from tacit.files.columns import LogColumns
from tacit.files.logs import LogFile, find_logs
from tacit.files.problem import ProblemFile, read_problem
from tacit.files.reading import pieces, starts
from tacit.files.small import read_table, write_table

__all__ = [
    "LogColumns", "LogFile", "ProblemFile", "find_logs", "pieces", "read_problem", "read_table", "starts",
    "write_table",
]  # fmt: skip
