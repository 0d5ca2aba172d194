"""How fast each stage is, beside the machine's own float64 matrix product in the same run."""

from tacit_lab.bench.growth import Growth
from tacit_lab.bench.run import measure

__all__ = ["Growth", "measure"]
