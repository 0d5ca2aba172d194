"""The errors that Tacit raises. A message says what was expected, what came, and what to do.

No message contains a private value: a context, a reward, or how many of them were missing.
"""

from __future__ import annotations

DISTRIBUTION = "tacit-dp"  # what pip calls this package: `tacit` on the index is another project


class TacitError(Exception):
    """The base class of every error that Tacit raises on purpose.

    >>> try:
    ...     tacit.Budget(epsilon=-1.0)
    ... except tacit.TacitError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(TacitError, ValueError):
    """A public argument is wrong: a shape, a name, a range, a version.

    >>> tacit.Box.of(age=(95, 18))
    Traceback (most recent call last):
    tacit.errors.InputError: ...
    """


class StateError(TacitError, RuntimeError):
    """The call is well formed but comes at the wrong time: an unknown round, a spent horizon, a
    closed study.

    >>> study.policy  # before it was released
    Traceback (most recent call last):
    tacit.errors.StateError: this study was not released yet: call release().
    """


class TooLateError(StateError):
    """A reward came after its epoch was closed: it changes nothing."""


class UnknownRoundError(StateError):
    """There is no round of this id."""


class DuplicateRewardError(StateError):
    """The reward of this round was recorded before."""


class BudgetError(TacitError, RuntimeError):
    """The ledger refuses a charge. The message says what was spent, asked and left.

    >>> budget = tacit.Budget(epsilon=2.0, delta=1e-6)  # more than the ledger has
    >>> tacit.fit(problem, log, play="uniform", budget=budget, ledger=ledger)
    Traceback (most recent call last):
    tacit.errors.BudgetError: the budget (epsilon=1, delta=1e-06) does not cover this: ...
    """


class RequestConflictError(TacitError, RuntimeError):
    """A request id was used before for another request.

    >>> issubclass(tacit.RequestConflictError, tacit.TacitError)
    True
    """


class MissingExtraError(TacitError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, use: str, package: str, extra: str) -> MissingExtraError:
        """One sentence for everybody: what `use`, in the plural, needs, and how to get it."""
        return cls(f"{use} need {package}: pip install '{DISTRIBUTION}[{extra}]'.")


class PolicyWarning(UserWarning):
    """A policy is not worth using, as its released numbers say: see `Policy.health`.

    >>> import warnings
    >>> warnings.simplefilter("error", tacit.PolicyWarning)  # never go on with such a policy
    >>> warnings.simplefilter("ignore", tacit.PolicyWarning)  # or ask for policy.health() yourself
    """


class EvaluationWarning(UserWarning):
    """An evaluation may be too good, or rests on little: see docs/evaluation.md.

    >>> import warnings
    >>> warnings.simplefilter("error", tacit.EvaluationWarning)
    """
