"""Which kernels the reward functions of a plan are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit._typing import Floats
from tacit.decoder.evidence import LENGTH_REACH, STRETCH
from tacit.decoder.kinds import additive, kinds
from tacit.design.features import Features
from tacit.errors import InputError
from tacit.kernels import Kernel
from tacit.kernels.ard import action_lengthscales, spread, with_lengthscales
from tacit.kernels.ard import lengthscales as lengthscales_of
from tacit.problem import Problem

TRUTHS = 4  # kernels that stand for a range of lengthscales
LEAST = 500  # points that functions are drawn on, where the kernel has as many to tell
# Where less of the kernel than this is explained by all points that functions are drawn on, nobody
# could learn its functions well: the forecast is for its relatives.
EXPLAINED = 0.8
EXPLAINED_AT = 1024  # public points
OWN = "kernel"
RELATIVES = "relatives"
ABOUT_RELATIVES = (
    "Functions of the problem's own kernel have too many dimensions to be learned by any study: "
    "this is about simpler ones, to which contexts matter less, or one by one, and which a fit "
    "finds by itself."
)


class Prior(NamedTuple):
    """Kernels of reward functions, whether they are the problem's own, and the points that
    functions are drawn on."""

    truths: list[Kernel]
    name: str
    points: Floats


def choose_prior(
    problem: Problem, truths: Sequence[Kernel] | None, points: Floats, few: int
) -> Prior:
    """The `truths` that are stated, or else the problem's own kernel, or its relatives, whose
    simpler functions need only so `few` points."""
    if truths is not None:
        return Prior(list(truths), OWN, points)
    simpler = relatives(problem)
    if simpler and _explained(problem, points) < EXPLAINED:
        return Prior(simpler, RELATIVES, points[:few])
    return Prior([problem.k], OWN, points)


def truths_in_range(problem: Problem, lengthscales: Sequence[float]) -> list[Kernel]:
    """The kernels that reward functions are drawn from, over a range of lengthscales."""
    try:
        low, high = (float(value) for value in lengthscales)
    except (TypeError, ValueError):
        raise InputError(
            f"lengthscales must be a range (low, high), got {lengthscales!r}."
        ) from None
    if not 0 < low <= high < math.inf:
        raise InputError(
            f"lengthscales must be positive and increasing, got ({low}, {high}): pass (low, high)."
        )
    whole = spread(problem.k, problem.dimension)
    count = len(lengthscales_of(whole))
    if not count:
        raise InputError("this kernel has no lengthscales: leave lengthscales out.")
    return [
        with_lengthscales(whole, [float(value)] * count)
        for value in np.geomspace(low, high, TRUTHS)
    ]


def relatives(problem: Problem) -> list[Kernel]:
    """Kernels of simpler functions that the decoder finds by their evidence: contexts matter less
    than the kernel says, all together or each by itself. There may be none."""
    kernels = kinds(problem.k, problem.dimension)
    actions = action_lengthscales(kernels[0], problem.actions.dimension)
    own = lengthscales_of(kernels[0])
    found: list[Kernel] = []
    for kernel in (kernels[0], *additive(kernels[0])):
        for stretch in (STRETCH, LENGTH_REACH):
            longer = [math.exp(stretch) * value for value in own[actions:]]
            relative = with_lengthscales(kernel, own[:actions] + longer)
            if relative not in (kernels[0], *found):
                found.append(relative)
    return found


def _explained(problem: Problem, points: Floats) -> float:
    """The part of the kernel's variance at public points that its values on `points` explain."""
    public = problem.public_points(EXPLAINED_AT, np.random.default_rng(0))
    phi = Features.on(problem.k, points)(public)
    return float(np.sum(phi * phi) / np.sum(problem.k.diagonal(public)))
