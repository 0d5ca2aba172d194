"""How many rounds each epoch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy.optimize import brentq

from tacit.errors import InputError

# The share of the first epoch, by the number of epochs. `tacit plan --epochs` compares others.
FIRST_SHARE = {2: 0.2, 3: 0.1, 4: 0.05, 5: 0.03, 6: 0.016}
LEAST_FIRST = 300  # rounds of the first epoch, if that is at most a tenth of all
LARGEST_RATIO = 2.0  # of an epoch to the one before it; the last one has all the rest
MOST_EPOCHS = 64
LEAST_ROUNDS = 10  # of an epoch


def epoch_sizes(horizon: int, epochs: Any) -> list[int]:
    """The sizes of epochs that hold `horizon` rounds together: `epochs` is how many there are, or
    their sizes."""
    if isinstance(epochs, Sequence) and not isinstance(epochs, str):
        sizes = [_size(each) for each in epochs]
        if sum(sizes) != horizon:
            raise InputError(
                f"the epochs have {sum(sizes)} rounds together and the horizon is {horizon}: make "
                "them the same."
            )
        return sizes
    whole = isinstance(epochs, int) and not isinstance(epochs, bool)
    if not whole or not 1 <= epochs <= MOST_EPOCHS:
        raise InputError(
            f"epochs must be a number of epochs from 1 to {MOST_EPOCHS}, or a list of their sizes, "
            f"got {epochs!r}."
        )
    if epochs == 1:
        return [horizon]
    share = FIRST_SHARE.get(epochs, 1.0 / (LARGEST_RATIO**epochs - 1.0))
    first = max(share * horizon, min(LEAST_FIRST, horizon / 10.0, horizon / epochs))
    ratio = _ratio(horizon / first, epochs)
    sizes = [max(LEAST_ROUNDS, round(first * ratio**i)) for i in range(epochs - 1)]
    return [*sizes, _size(horizon - sum(sizes))]


def _ratio(total: float, epochs: int) -> float:
    """Of each epoch to the one before it, if all of them are `total` times the first one."""

    def left(ratio: float) -> float:
        return total - sum(ratio**i for i in range(epochs))

    if left(LARGEST_RATIO) >= 0.0:
        return LARGEST_RATIO
    if left(1.0) <= 0.0:
        return 1.0
    return float(brentq(left, 1.0, LARGEST_RATIO))


def _size(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < LEAST_ROUNDS:
        raise InputError(
            f"an epoch has at least {LEAST_ROUNDS} rounds, got {value!r}: choose fewer epochs, or "
            "a larger horizon."
        )
    return value
