"""How many rounds each epoch has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.errors import InputError

# The share of the first epoch, by the number of epochs. `tacit plan --epochs` compares others. Each
# epoch after it has twice as many rounds as the one before, and the last one has all the rest.
FIRST_SHARE = {2: 0.2, 3: 0.1, 4: 0.05, 5: 0.03, 6: 0.016}
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
    if epochs in FIRST_SHARE:
        first = FIRST_SHARE[epochs] * horizon
    else:
        first = horizon / (2.0**epochs - 1.0)
    sizes = [max(LEAST_ROUNDS, math.ceil(first * 2**i)) for i in range(epochs - 1)]
    return [*sizes, _size(horizon - sum(sizes))]


def _size(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < LEAST_ROUNDS:
        raise InputError(
            f"an epoch has at least {LEAST_ROUNDS} rounds, got {value!r}: choose fewer epochs, or "
            "a larger horizon."
        )
    return value
