"""How many rounds each epoch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.errors import InputError

# The share of the first epoch, by the number of epochs. `tacit plan --epochs` compares others.
FIRST_SHARE = {2: 0.2, 3: 0.05, 4: 0.05, 5: 0.03, 6: 0.016}
LEAST_FIRST = 600  # rounds of the first epoch, if that is at most a fifth of all
MOST_EPOCHS = 64
LEAST_ROUNDS = 10  # of an epoch


def largest_ratio(epochs: int) -> float:
    """Of an epoch to the one before it, except for the last one, which has all the rest. What
    epochs release adds up by the squares of their sizes, so that one large epoch at the end is
    worth more than many."""
    return 3.0 if epochs == 3 else 2.0


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
    share = FIRST_SHARE.get(epochs, 1.0 / (2.0**epochs - 1.0))
    first = max(share * horizon, min(LEAST_FIRST, horizon / 5.0, horizon / epochs))
    ratio = _ratio(horizon / first, epochs)
    sizes = [max(LEAST_ROUNDS, round(first * ratio**i)) for i in range(epochs - 1)]
    return [*sizes, _size(horizon - sum(sizes))]


def _ratio(total: float, epochs: int) -> float:
    """Of each epoch to the one before it, if all of them are `total` times the first one."""

    from scipy.optimize import brentq  # late: serving a policy does not need it

    def left(ratio: float) -> float:
        return total - sum(ratio**i for i in range(epochs))

    largest = largest_ratio(epochs)
    if left(largest) >= 0.0:
        return largest
    if left(1.0) <= 0.0:
        return 1.0
    return float(brentq(left, 1.0, largest))


def _size(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < LEAST_ROUNDS:
        raise InputError(
            f"an epoch has at least {LEAST_ROUNDS} rounds, got {value!r}: choose fewer epochs, or "
            "a larger horizon."
        )
    return value
