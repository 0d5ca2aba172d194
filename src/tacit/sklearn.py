"""A scikit-learn estimator: `PolicyLearner`. It needs the extra `tacit-dp[sklearn]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from tacit.core import Budget
from tacit.design import DesignOptions
from tacit.domains import Domain, Mixed
from tacit.errors import InputError, MissingExtraError
from tacit.fitting import fit as fit_policy
from tacit.logs.run_options import RunOptions
from tacit.problem import Problem
from tacit.tables import is_column, records

try:
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError.of("estimators", "scikit-learn", "sklearn") from None


class PolicyLearner(BaseEstimator):  # type: ignore[misc]
    """Learns privately which action is best in which context: `tacit.fit` for scikit-learn.

    >>> from tacit.sklearn import PolicyLearner
    >>> learner = PolicyLearner(
    ...     actions=(0, 100), contexts={"age": (18, 95)}, play="uniform",
    ...     ledger="sqlite:///sklearn.db",
    ... )
    >>> learner = learner.fit(frame[["age"]], frame["reward"], action=frame["dose"])
    >>> len(learner.predict(frame[["age"]].head(3)))
    3

    Ranges and labels are declared, never learned from rows, and so is how actions were played:
    without `actions`, `contexts`, `ledger` and `play`, or the propensities of the actions, there is
    an error. Cells outside their range
    are clipped. A record with a missing or unreadable cell counts and adds nothing; none is an
    error.

    | parameter | what it is |
    |---|---|
    | `actions` | a range `(low, high)`, a list of labels, or a domain such as `tacit.Box` |
    | `contexts` | one range for all columns, a mapping of columns to ranges or labels, a domain |
    | `reward_range` | the least and the largest reward |
    | `play` | how actions were chosen: "uniform" at random, or a law (see `tacit.play`) |
    | `epsilon`, `delta` | the budget that a fit spends |
    | `ledger` | the URL of the database that keeps the budget, made if there is none |
    | `request` | the name of the release in the ledger; it follows from the design otherwise |
    | `passes` | how often the records are read |
    | `kernel`, `options` | see `tacit.Problem` and `tacit.DesignOptions` |
    | `action_column` | the column of X that holds the actions, by name or number |
    | `random_state` | the seed of the design's public coins; the noise has none |

    X is an array or a frame; columns without names are called x0, x1, ... With an `action_column`
    it holds the actions too: `fit(X, y)` then needs no `action`, and `predict(X)` does not read
    that column.

    EVERY FIT SPENDS. What was spent stays in the ledger, and a fit that it does not cover is
    refused. The same fit on the same ledger returns the policy that was released, free of charge,
    also for other data with as many rows: give that a `request` of its own. So cross-validation
    and grid search are not for this estimator, and there is no `score`: it would tell exact facts
    about private rewards.

    After `fit`: `policy_` (a `tacit.Policy`), `n_features_in_`, and `feature_names_in_` for frames.
    """

    def __init__(
        self,
        *,
        actions: Any = None,
        contexts: Any = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        play: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        ledger: str | None = None,
        request: str | None = None,
        passes: int = 2,
        kernel: Any = None,
        options: DesignOptions | None = None,
        action_column: str | int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.actions = actions
        self.contexts = contexts
        self.reward_range = reward_range
        self.play = play
        self.epsilon = epsilon
        self.delta = delta
        self.ledger = ledger
        self.request = request
        self.passes = passes
        self.kernel = kernel
        self.options = options
        self.action_column = action_column
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, action: Any = None, user: Any = None, propensity: Any = None
    ) -> PolicyLearner:
        """SPENDS the budget, and learns from contexts `X`, rewards `y` and the actions played.

        With `user`, one id per row, all rows of a user are protected together. With `propensity`,
        one number per row, actions need not have been drawn uniformly (see `tacit.fit`).
        """
        if not isinstance(self.ledger, str):
            raise InputError(
                "ledger must be the URL of the database that keeps the budget, got "
                f"{type(self.ledger).__name__}: write ledger='sqlite:///study.db'."
            )
        _require_table(X, 1 if self.action_column is None else 2)
        validate_data(self, X, y, skip_check_array=True)  # names and number of columns
        columns = self._columns(X)
        held = None if self.action_column is None else columns.pop(self._action_name)
        played = _one_of(held, action)
        actions = self._actions()
        contexts = self._contexts(list(columns))
        problem = Problem(actions, contexts, self.kernel, self.reward_range)
        data = self._by_name(contexts, columns)
        data |= _played(actions, played)
        reward = _free_name("reward", data)
        data[reward] = y
        users = None
        if user is not None:
            users = _free_name("user", data)
            data[users] = user
        propensities = None
        if propensity is not None:
            propensities = _free_name("propensity", data)
            data[propensities] = propensity
        policy = fit_policy(
            problem,
            data,
            reward=reward,
            play=self.play,
            propensity=propensities,
            budget=Budget(self.epsilon, self.delta),
            ledger=self.ledger,
            user=users,
            passes=self.passes,
            options=self._options(),
            run=RunOptions(request=self.request),
        )
        self.policy_ = replace(policy, releases=())  # as from a file: it can be pickled
        return self

    def predict(self, X: Any) -> Any:
        """The best action for each row: an array, with one column for each column of actions if
        there are several. Free. A missing cell counts as the middle of its range."""
        check_is_fitted(self)
        _require_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = self._columns(X)
        if self.action_column is not None:
            columns.pop(self._action_name)
        decided = self.policy_.decide(self._by_name(self.policy_.problem.contexts, columns))
        best = list(decided.values())
        return best[0] if len(best) == 1 else np.column_stack(best)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # No private cell is an error: what is no number adds nothing.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    # -- X, by its public structure ----------------------------------------------------------------

    @property
    def _names(self) -> list[str]:
        """Of all columns of X."""
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    @property
    def _action_name(self) -> str:
        names = self._names
        at = self.action_column
        if isinstance(at, str) and at in names:
            return at
        if isinstance(at, int) and 0 <= at < len(names):
            return names[at]
        raise InputError(
            f"action_column must be one of the columns {', '.join(names)} of X, or its number, got "
            f"{at!r}."
        )

    def _columns(self, X: Any) -> dict[str, Any]:
        """Every column under its name. Cells are read as everywhere in Tacit, each by itself."""
        names = self._names
        if not nw.dependencies.is_into_dataframe(X):
            X = np.asarray(X)
        elif not hasattr(self, "feature_names_in_"):  # a frame whose columns are numbered
            frame = nw.from_native(X, eager_only=True)
            series = [frame.get_column(name).to_native() for name in frame.columns]
            X = dict(zip(names, series, strict=True))
        return dict(records(X, names, "X").columns)

    # -- what is declared --------------------------------------------------------------------------

    def _actions(self) -> Domain:
        if isinstance(self.actions, Domain):
            return self.actions
        if not isinstance(self.actions, list | tuple):
            raise InputError(
                "actions must be declared: a range (low, high), a list of labels, or a domain such "
                f"as tacit.Box; got {type(self.actions).__name__}."
            )
        name = "action" if self.action_column is None else self._action_name
        return _domain({name: self.actions})

    def _contexts(self, names: list[str]) -> Domain:
        declared = self.contexts
        if isinstance(declared, Domain):
            return declared
        if isinstance(declared, Mapping):
            return _domain(declared)
        if isinstance(declared, tuple):
            return _domain(dict.fromkeys(names, declared))
        raise InputError(
            "contexts must be declared: one range (low, high) for all columns, a mapping of "
            "columns to ranges or labels, or a domain such as tacit.Box; got "
            f"{type(declared).__name__}."
        )

    def _by_name(self, contexts: Domain, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns of the contexts. Those of an array go by position with a domain that has
        names of its own."""
        names = list(contexts.names)
        unnamed = not hasattr(self, "feature_names_in_")
        if unnamed and isinstance(self.contexts, Domain) and len(names) == len(columns):
            return dict(zip(names, columns.values(), strict=True))
        for name in names:
            if name not in columns:
                raise InputError(
                    f"contexts declare a column {name!r} that X does not have: it has "
                    f"{', '.join(columns)}."
                )
        return {name: columns[name] for name in names}

    def _options(self) -> DesignOptions:
        options = self.options or DesignOptions()
        if self.random_state is None:
            return options
        if options.seed is not None:
            raise InputError("random_state and options.seed are the same seed: give one of them.")
        return replace(options, seed=self.random_state)


def _require_table(X: Any, least: int = 0) -> None:
    """Fails unless X is a table of so many columns. Only types, dtypes and shapes are read."""
    if issparse(X):
        raise InputError("sparse data is not supported: pass X.toarray().")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise InputError("Complex data not supported: pass real numbers.")
    shape = _shape(X)
    if len(shape) != 2:
        raise InputError(
            f"X must have two dimensions, got {len(shape)}. Reshape your data: X.reshape(-1, 1) if "
            "it is one column, X.reshape(1, -1) if it is one row."
        )
    if shape[1] < least:
        raise InputError(
            f"X has {shape[1]} feature(s) (shape={shape}) while a minimum of {least} is required."
        )
    if not shape[0]:
        raise InputError("X has no rows: there is nothing to learn from or to decide.")


def _domain(declared: Mapping[str, Any]) -> Domain:
    """Of columns by name: a tuple of two numbers is a range, a list is labels."""
    mixed = Mixed.of(declared)
    return mixed.parts[0] if len(mixed.parts) == 1 else mixed


def _one_of(held: Any, action: Any) -> Any:
    if (held is None) == (action is None):
        raise InputError(
            "say which actions were played: pass fit(X, y, action=...), or the column of X that "
            "holds them as PolicyLearner(action_column=...), and not both."
        )
    return action if held is None else held


def _played(actions: Domain, action: Any) -> dict[str, Any]:
    """The columns of actions by name."""
    names = list(actions.names)
    if len(names) == 1 and is_column(action):
        return {names[0]: action}
    return dict(records(action, names, "action").columns)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _shape(X: Any) -> tuple[int, ...]:
    """Of an array or a frame. How many columns a list has would be up to one of its rows, and what
    stands in a private row must not decide whether there is an error."""
    if hasattr(X, "shape"):
        return tuple(X.shape)
    if hasattr(X, "__array__"):
        return np.shape(X)
    raise InputError(
        f"X must be an array or a frame, got {type(X).__name__}: pass numpy.array(X) of rows."
    )
