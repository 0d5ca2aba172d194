"""Logs of any size: problem files, reading in pieces, counting here or on Ray, checkpoints."""

from tacit.logs.checkpoint import Checkpoint
from tacit.logs.cluster import collect_on_ray, connected, import_ray
from tacit.logs.columns import LogColumns
from tacit.logs.counting import Span, Work
from tacit.logs.dumping import drain, dump, load
from tacit.logs.file_fit import FileFit
from tacit.logs.job import Job
from tacit.logs.local import collect_here
from tacit.logs.log_files import LogFile, find_logs
from tacit.logs.parts import learning_part, open_accounts, require_layout
from tacit.logs.problem_file import ProblemFile, read_problem
from tacit.logs.reading import pieces, starts
from tacit.logs.run_options import RunOptions
from tacit.logs.saving import Partial, load_about, load_design, load_partial, save_partial
from tacit.logs.small_tables import read_table, write_table
from tacit.logs.storage import forget

__all__ = [
    "Checkpoint",
    "FileFit",
    "Job",
    "LogColumns",
    "LogFile",
    "Partial",
    "ProblemFile",
    "RunOptions",
    "Span",
    "Work",
    "collect_here",
    "collect_on_ray",
    "connected",
    "drain",
    "dump",
    "find_logs",
    "forget",
    "import_ray",
    "learning_part",
    "load",
    "load_about",
    "load_design",
    "load_partial",
    "open_accounts",
    "pieces",
    "read_problem",
    "read_table",
    "require_layout",
    "save_partial",
    "starts",
    "write_table",
]
