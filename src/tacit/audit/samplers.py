"""Do the samplers follow their laws? Chi-square tests against exact probabilities.

Bins hold at least 100 expected draws, so that the chi-square law is close; the threshold is a
hundred times stricter than the 1e-7 that a false alarm may have, for what is left between the two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacit._typing import Floats
from tacit.audit.findings import Check, Clock
from tacit.audit.gaussian import CHUNK, Noise
from tacit.audit.laws import choice_law, discrete_gaussian_mass
from tacit.core.events import Exponential, Gaussian, PermuteAndFlip
from tacit.core.noise import discrete_gaussian
from tacit.core.selection import noisy_max
from tacit.progress import Progress, silent

Integers = NDArray[np.int64]
Chooser = Callable[[Integers, Exponential | PermuteAndFlip, int], int]

THRESHOLD = 1e-9
EXPECTED = 100.0  # draws in every bin, at least
BINS = 48
# below this scale the law is summed term by term; above, the normal law is exact in a double
SMALL = 1000.0


def check_gaussian_sampler(
    name: str,
    *,
    scale: float,
    samples: int,
    noise: Noise = discrete_gaussian,
    progress: Progress = silent,
) -> Check:
    """Noise on zeros, in bins of about equal probability."""
    clock = Clock()
    parts = []
    event = Gaussian(sensitivity=1, scale=scale)
    for start in range(0, samples, CHUNK):
        parts.append(noise(np.zeros(min(CHUNK, samples - start), dtype=np.int64), event))
        progress(name, min(start + CHUNK, samples), samples)
    edges = np.unique(np.floor(scale * special.ndtri(np.arange(1, BINS) / BINS)).astype(np.int64))
    bins = np.searchsorted(edges, np.concatenate(parts), side="left")
    observed = np.bincount(bins, minlength=len(edges) + 1)
    p_value = chi_square(observed, _gaussian_bins(edges, scale))
    about = f"chi-square at scale {scale:.4g}"
    return Check(name, p_value, samples, clock.seconds, p_value >= THRESHOLD, about)


def check_choice_sampler(
    name: str,
    *,
    event: Exponential | PermuteAndFlip,
    samples: int,
    scores: tuple[int, ...] = (1_000_000, 0, 0, 200_000, 0, 400_000),
    delta: int = 1_000_000,
    choose: Chooser = noisy_max,
    progress: Progress = silent,
) -> Check:
    """Choices among a few candidates with different scores, some of which tie."""
    clock = Clock()
    argument = np.array(scores, dtype=np.int64)
    observed = np.zeros(len(scores), dtype=np.int64)
    for i in range(samples):
        observed[choose(argument, event, delta)] += 1
        if i % 64 == 63 or i + 1 == samples:
            progress(name, i + 1, samples)
    p_value = chi_square(observed, choice_law(list(scores), event, delta))
    about = f"chi-square on {len(scores)} candidates at epsilon {event.epsilon:g}"
    return Check(name, p_value, samples, clock.seconds, p_value >= THRESHOLD, about)


def chi_square(observed: Integers, law: Floats) -> float:
    """The p-value of Pearson's test. Bins with too few expected draws are put together, smallest
    first."""
    order = np.argsort(law)
    seen = observed[order].astype(np.float64)
    expected = law[order] * observed.sum()
    first = int(np.searchsorted(np.cumsum(expected), EXPECTED))
    seen = np.concatenate([[seen[: first + 1].sum()], seen[first + 1 :]])
    expected = np.concatenate([[expected[: first + 1].sum()], expected[first + 1 :]])
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    return float(special.chdtrc(max(1, len(seen) - 1), statistic))


def _gaussian_bins(edges: Integers, scale: float) -> Floats:
    """P(z <= edge) as differences: bins are (-inf, e_1], (e_1, e_2], ..., (e_m, inf)."""
    if scale >= SMALL:
        below = special.ndtr((edges + 0.5) / scale)
    else:
        start = int(np.floor(-40 * scale))
        mass = np.cumsum(discrete_gaussian_mass(np.arange(start, int(edges[-1]) + 1), scale))
        below = mass[edges - start]
    return np.diff(np.concatenate([[0.0], below, [1.0]]))
