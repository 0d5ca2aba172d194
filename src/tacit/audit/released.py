"""Do releases follow the law of what was charged? The real functions, on a real ledger that draws
many times for each charge.

Vectors have the shape that a study releases: influences, counts of contexts, the mean and the mean
square of the rewards. An attack along one direction does not see a coordinate that gets no noise of
its own, so here each is held against the normal law, which noise of a real scale follows up to
rounding:

    z = (released - sum) / charged scale,  r = correlation of two coordinates, around the sum

    mean          sqrt(n) mean(z_i)              normal
    variance      sum z_i^2                      chi-square, n
    correlation   r sqrt((n - 1) / (1 - r^2))    Student, n - 1

Choices are held against the exact law of the event that was charged, candidate by candidate: the
binomial law. All of these laws are exact, and a check is called wrong at 5e-8 for all its tests
together (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacit._typing import Floats
from tacit.audit.findings import ALARM, Check, Clock
from tacit.audit.laws import choice_law
from tacit.audit.ledger import WatchedLedger, integers, temporary_ledger
from tacit.audit.settings import HORIZON
from tacit.core import Budget, Encoding, PrivateSum, Released, release_choice, release_gaussian
from tacit.core.budget import epsilon_of_rho
from tacit.core.events import Exponential, Gaussian, PermuteAndFlip
from tacit.core.selection import integer_weights, sensitivity
from tacit.progress import Progress, silent

Integers = NDArray[np.int64]

AGAIN = 24  # draws after the first one, for every request
CANDIDATES = 5
# by which candidate 0 is ahead, in units of the noise: where the two mechanisms differ most
GAP = 2.0
DELTA = 1e-6


def check_released_vectors(
    name: str = "coordinates of a release",
    *,
    total: PrivateSum,
    rho: float,
    samples: int,
    release: Callable[..., Released] = release_gaussian,
    progress: Progress = silent,
) -> Check:
    """Every coordinate has the mean of the sum, the variance that was charged, and noise of its
    own."""
    clock = Clock()
    requests = math.ceil(samples / (1 + AGAIN))
    right = True
    with temporary_ledger(Budget(rho=requests * rho * 1.001)) as ledger:
        watched = WatchedLedger(ledger, AGAIN)
        for i in range(requests):
            released = release(total, Budget(rho=rho), watched, f"release {i}", {})
            stored = ledger.stored(f"release {i}")
            right = right and stored is not None and _same(released.values, integers(stored))
            progress(name, i + 1, requests)
    drawn = [integers(one) for one in watched.drawn]
    scales = {event.scale for event in watched.events if isinstance(event, Gaussian)}
    right = right and len(scales) == 1 and all(len(one) == total.encoding.size for one in drawn)
    about = (
        f"{total.encoding.size} coordinates: integers, and mean, variance and correlations as "
        "charged"
    )
    if not right or not drawn:
        return Check(name, None, len(drawn), clock.seconds, False, about)
    p_value = normal_p_value(np.stack(drawn) - total._value(), scales.pop())
    return Check(name, p_value, len(drawn), clock.seconds, p_value >= ALARM, about)


def normal_p_value(noise: Integers, scale: float) -> float:
    """Of the three families of tests above, for rows of noise. A third of the risk goes to each
    family."""
    z = noise / scale
    n, d = z.shape
    squares = np.sum(z * z, axis=0)
    mean = 2.0 * special.ndtr(-np.abs(np.sum(z, axis=0)) / math.sqrt(n))
    variance = 2.0 * np.minimum(special.chdtr(n, squares), special.chdtrc(n, squares))
    smallest = [d * float(np.min(mean)), d * float(np.min(variance))]
    # Without noise there is no correlation, and the variance is red.
    if d > 1 and np.all(squares > 0.0):
        pairs = np.triu_indices(d, k=1)
        r = np.abs((z.T @ z)[pairs]) / np.sqrt(squares[pairs[0]] * squares[pairs[1]])
        t = float(np.max(r)) * math.sqrt((n - 1) / max(1.0 - float(np.max(r)) ** 2, 1e-300))
        smallest.append(len(pairs[0]) * 2.0 * float(special.stdtr(n - 1, -t)))
    return min(1.0, 3.0 * min(smallest))


def check_released_choices(
    name: str,
    *,
    pure: bool,
    epsilon: float,
    samples: int,
    release: Callable[..., int] = release_choice,
    progress: Progress = silent,
) -> Check:
    """Choices follow the law of the event that a ledger with this kind of budget charged."""
    clock = Clock()
    requests = math.ceil(samples / (1 + AGAIN))
    total, theta = leading_candidate(epsilon)
    right = True
    with temporary_ledger(budget_for(requests, epsilon, pure)) as ledger:
        watched = WatchedLedger(ledger, AGAIN)
        for i in range(requests):
            chosen = release(total, theta, epsilon, watched, f"choice {i}", {})
            stored = ledger.stored(f"choice {i}")
            right = right and stored is not None and chosen == int(integers(stored)[0])
            progress(name, i + 1, requests)
    events = {event for event in watched.events if isinstance(event, Exponential | PermuteAndFlip)}
    drawn = np.array([integers(one)[0] for one in watched.drawn], dtype=np.int64)
    right = right and len(events) == 1 and bool(np.all((drawn >= 0) & (drawn < len(theta))))
    if not right or not len(drawn):
        about = "answers are not what was stored for one event"
        return Check(name, None, len(drawn), clock.seconds, False, about)
    event = events.pop()
    scores = [int(score) for score in theta @ total._value()]
    law = choice_law(scores, event, sensitivity(theta, total.encoding))
    p_value = binomial_p_value(np.bincount(drawn, minlength=len(theta)), law)
    kind = "pure" if pure else "zCDP"
    about = f"{len(theta)} candidates, as a {kind} ledger charged: {type(event).__name__}"
    return Check(name, p_value, len(drawn), clock.seconds, p_value >= ALARM, about)


def binomial_p_value(observed: Integers, law: Floats) -> float:
    """How often each candidate was chosen, against its exact binomial law; both tails, all
    candidates together."""
    n = int(observed.sum())
    low = special.bdtr(observed, n, law)
    high = np.where(observed > 0, special.bdtrc(np.maximum(observed - 1, 0), n, law), 1.0)
    return min(1.0, 2.0 * len(law) * float(np.min(np.minimum(low, high))))


def leading_candidate(epsilon: float) -> tuple[PrivateSum, Integers]:
    """A sum and candidates of which the first is ahead of all others, by `GAP` in units of the
    noise.

    The first has the weight (1, 0), the others weigh nothing, so a record (v, 0) puts it ahead by v
    times the sensitivity, that is by v * epsilon / 2 units.
    """
    ahead = 2.0 * GAP / epsilon
    records = math.ceil(ahead)
    total = PrivateSum(Encoding(size=2, horizon=max(HORIZON, records)))
    total.add(np.tile([ahead / records, 0.0], (records, 1)), records)
    weights = np.zeros((CANDIDATES, 2))
    weights[0, 0] = 1.0
    return total, integer_weights(weights, total.encoding)


def budget_for(choices: int, epsilon: float, pure: bool) -> Budget:
    """Enough for so many choices: pure, or as (epsilon, delta)."""
    if pure:
        return Budget(epsilon=choices * epsilon * 1.001)
    return Budget(epsilon=1.01 * epsilon_of_rho(choices * epsilon**2 / 8.0, DELTA), delta=DELTA)


def _same(values: Any, stored: Integers) -> bool:
    """Whether what was answered is what was stored: integers, as many, the same."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype.kind == "i"
        and np.array_equal(values, stored)
    )
