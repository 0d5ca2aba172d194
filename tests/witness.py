"""Witnesses at the borders of the trusted path: what OpenDP is asked and answers, and who else
makes randomness."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import opendp.measurements

GAUSSIAN = "make_gaussian"
NOISY_MAX = "make_noisy_max"
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@dataclass(frozen=True)
class Draw:
    """One call of an OpenDP measurement: how it was made, what it was given, what it returned."""

    made_with: tuple[Any, ...]
    argument: list[int]
    answer: Any

    @property
    def scale(self) -> float:
        return float(self.made_with[-1])

    @property
    def measure(self) -> Any:
        """Of a noisy max: the privacy measure that it is made for."""
        return self.made_with[2]


class _Watched:
    """A measurement that behaves as it always does, except where told otherwise, and keeps a
    record."""

    def __init__(
        self, measurement: Any, draws: list[Draw], made_with: tuple[Any, ...], **told: Any
    ) -> None:
        self._measurement = measurement
        self._draws = draws
        self._made_with = made_with
        self._told = told

    @property
    def input_domain(self) -> Any:
        if self._told["member"] is None:
            return self._measurement.input_domain
        return mock.Mock(member=lambda argument: self._told["member"])

    def map(self, d_in: Any) -> Any:
        return self._told["price_times"] * self._measurement.map(d_in=d_in)

    def __call__(self, argument: Sequence[int]) -> Any:
        self._told["before"]()
        answer = self._measurement(argument)
        if self._told["answer"] is not None:
            answer = self._told["answer"](len(argument))
        self._draws.append(Draw(self._made_with, list(argument), answer))
        return answer


@contextmanager
def watched(
    maker: str,
    *,
    before: Callable[[], None] = lambda: None,
    answer: Callable[[int], Any] | None = None,
    member: bool | None = None,
    price_times: float = 1.0,
) -> Iterator[list[Draw]]:
    """OpenDP under observation: yields a list that fills with the draws of all measurements by
    `maker`.

    `before` is called just before each draw. `answer` is returned in the place of what was drawn,
    given its length. `member` is what the measurement's domain says of any argument; `price_times`
    makes its privacy map disagree.
    """
    make = getattr(opendp.measurements, maker)
    draws: list[Draw] = []
    told = {"before": before, "answer": answer, "member": member, "price_times": price_times}

    def made(*arguments: Any) -> _Watched:
        return _Watched(make(*arguments), draws, arguments, **told)

    with mock.patch.object(opendp.measurements, maker, made):
        yield draws


def always(seed: int, size: float = 2.0**27) -> Callable[[int], list[int]]:
    """An answer that depends on nothing but its length: for studies whose releases must come out
    the same."""
    return lambda length: [
        int(v) for v in size * np.random.default_rng([seed, length]).normal(size=length)
    ]


@contextmanager
def no_other_randomness() -> Iterator[None]:
    """Fails if anybody makes a generator of NumPy's or Python's, or uses one of the global ones."""

    def forbidden(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("randomness came from a generator that is not OpenDP's")

    before = (repr(np.random.get_state()), random.getstate())
    with ExitStack() as stack:
        for name in ("default_rng", "RandomState", *BIT_GENERATORS):
            stack.enter_context(mock.patch.object(np.random, name, forbidden))
        stack.enter_context(mock.patch.object(random, "Random", forbidden))
        yield
    assert (repr(np.random.get_state()), random.getstate()) == before, "a global generator was used"
