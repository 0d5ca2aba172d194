"""The heavy stages beside the product of two matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.design import Design
from tacit.numerics import linalg
from tacit.numerics.engine import Engine, to_numpy
from tacit.policy import Policy
from tacit.progress import Progress, silent
from tacit_lab.bench import work

DECISIONS = 10_000
AROUND = 5  # samples of the product rate before and after a stage


@dataclass(frozen=True)
class Stage:
    """`gemm_fraction`: at which share of the machine's own product rate the stage does its
    floating-point work."""

    stage: str
    device: str
    rows: int
    rank: int
    seconds: float
    gflops: float
    gemm_fraction: float


class Products:
    """Float64 operations a second in products of a tall matrix with a rank x rank one, the shape of
    all heavy work.

    Sampled now and then while a stage runs: the speed of a shared machine changes within seconds.
    """

    def __init__(self, rank: int, on: Engine) -> None:
        rng = np.random.default_rng(0)
        height = 4096 if on.device is None else 32_768
        self._a = on.put(rng.random((height, rank)))
        self._b = on.put(rng.random((rank, rank)))
        self._repeats = 3 if on.device is None else 20
        self._flops = self._repeats * 2.0 * height * rank**2
        self._times: list[float] = []

    def sample(self) -> None:
        self._run()  # once, so that the library's threads are awake
        self._times.append(work.seconds(self._run))

    def rate(self) -> float:
        """The mean since the last call."""
        rate = len(self._times) * self._flops / sum(self._times)
        self._times.clear()
        return rate

    def _run(self) -> None:
        for _ in range(self._repeats):
            c = self._a @ self._b
        to_numpy(c[:1, :1])  # waits for the device


def stages(
    rank: int,
    rows: int,
    on: Engine,
    device: str,
    points: int | None = None,
    progress: Progress = silent,
) -> list[Stage]:
    """Design, statistic and decisions at one rank."""
    products = Products(rank, on)
    points = points or rows
    found: list[Stage] = []

    def note(name: str, n: int, seconds: float, flops: float) -> None:
        share = flops / seconds / products.rate()
        found.append(Stage(name, device, n, rank, seconds, flops / seconds / 1e9, share))
        progress("stages", len(found), 3)

    def around(timed: Callable[[], float]) -> float:
        for _ in range(AROUND):
            products.sample()
        seconds = timed()
        for _ in range(AROUND):
            products.sample()
        return seconds

    progress("stages", 0, 3)
    made = work.design(rank, rows, 2048, on)
    factors = linalg.thin(made.whitening)
    work.sum_points(made, factors, 2 * max(2048, on.rows), on)  # once, so that nothing is new
    design = around(lambda: work.seconds(lambda: work.sum_points(made, factors, points, on)))
    # phi and phi phi' (4 D^2); then of K directions q, q k_U' (4 D K) and q q' (2 K^2)
    directions = len(factors[1])
    flops = 4.0 * rank**2 + 4.0 * rank * directions + 2.0 * directions**2
    note("public points of a design", points, design, flops * points)
    added = work.add_seconds(made, rows, on, products.sample)
    note("statistic", rows, added, 2.0 * rank**2 * rows)
    policy = _policy(made)
    contexts = made.problem.contexts.sample_points(DECISIONS, np.random.default_rng(1))
    policy.decide_points(contexts, on)  # compiled kernels and the menu are made once
    decide = around(lambda: work.seconds(lambda: policy.decide_points(contexts, on), 2))
    flops = 2.0 * rank * policy.candidates * DECISIONS
    note("10 000 decisions, 256 candidates", DECISIONS, decide, flops)
    return found


def _policy(design: Design) -> Policy:
    """A policy of this rank that was not learned from anything: decisions cost the same."""
    from tacit.core import Guarantee
    from tacit.decoder import Posterior

    rng = np.random.default_rng(0)
    weights = rng.normal(size=design.rank)
    landmarks = design.features.U
    posterior = Posterior(
        design.problem.k,
        landmarks,
        weights,
        np.eye(design.rank),
        scale=0.1,
        mean_square=0.2,
        lengthscales=(),
        level=0.0,
        level_variance=0.0,
        level_covariance=np.zeros(design.rank),
    )
    nothing = Guarantee(
        rho=0.0, epsilon=0.0, delta=1e-6, private=False, unit="record", relation="none"
    )
    return Policy(design.problem, nothing, posterior)
