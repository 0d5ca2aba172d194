"""How fast each stage is, as a ratio to the machine's own float64 matrix product in the same run."""

from tacit.bench.growth import Growth, growth
from tacit.bench.peers import peers
from tacit.bench.stages import Stage, gemm_rate, stages

__all__ = ["Growth", "Stage", "gemm_rate", "growth", "peers", "stages"]
