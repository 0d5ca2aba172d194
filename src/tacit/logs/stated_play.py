"""How the actions of a log were chosen: the one thing that cannot be seen in it. It has to be said,
once, and must not depend on the people in the log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.errors import InputError
from tacit.problem import Problem

CHOICES = (
    'pass play="uniform" if every action was drawn uniformly at random, a law of play such as a '
    'function (contexts, rng) -> actions or a policy, play="problem" if the problem states it, or '
    'propensity="COLUMN" if the log has a column of propensities'
)
OPTIONS = (
    "pass --play uniform if every action was drawn uniformly at random, --propensity COLUMN if the "
    "files have a column of propensities, or write a [play] table into the problem file"
)


def state_play(problem: Problem, play: Any, propensity: str | None) -> Problem:
    """The problem with the play that was stated for its log. Fails unless it was stated once."""
    if propensity is not None:
        _require_column(propensity)
        if play is not None or problem.play is not None:
            raise InputError(
                "play and propensity are two ways to say how actions were chosen: give one of "
                "them, for a problem without a play of its own."
            )
        return problem
    if play is None:
        raise InputError(f"how the actions of the log were chosen must be said: {CHOICES}.")
    if isinstance(play, str):
        _require_known(problem, play)
        return problem
    if problem.play is not None and problem.play is not play:
        raise InputError(
            'the problem states a play of its own: pass play="problem", or a problem without one.'
        )
    return replace(problem, play=play)


def _require_column(propensity: Any) -> None:
    if not isinstance(propensity, str):
        raise InputError(
            f"propensity must be the name of a column, got {type(propensity).__name__}: put the "
            "propensities into the data."
        )


def _require_known(problem: Problem, play: str) -> None:
    if play not in ("uniform", "problem"):
        raise InputError(f"play {play!r} is not known: {CHOICES}.")
    if play == "problem" and problem.play is None:
        raise InputError(
            f'play="problem" is for a problem that states its play, not this one: {CHOICES}.'
        )
    if play == "uniform" and problem.play is not None:
        raise InputError(
            'the problem states a play of its own, which is not uniform: pass play="problem".'
        )


def one_statement(
    option: str | None, column: str | None, file: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """What the options of a command and the problem file say together, as play and propensity.

    `file` is what the file says, two times None if it says nothing.
    """
    if option not in (None, "uniform"):
        raise InputError(
            f"--play takes uniform, got {option!r}: write other laws into the [play] table of the "
            "problem file."
        )
    statements = {(option, None), (None, column), file} - {(None, None)}
    if not statements:
        raise InputError(f"how the actions of the log were chosen must be said: {OPTIONS}.")
    if len(statements) > 1:
        raise InputError(
            "--play, --propensity and the [play] table of the problem file say different things "
            "about how actions were chosen: leave all but one out."
        )
    return statements.pop()
