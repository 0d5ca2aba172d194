"""Tacit: which action is best for which context, learned from data that must stay private."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit._version import __version__

if TYPE_CHECKING:
    from tacit import contexts, kernels, paper
    from tacit.core import Budget, Cohort, Guarantee, Ledger, Part
    from tacit.design import Design, DesignOptions
    from tacit.domains import Ball, Box, Catalogue, Categories, Mixed, Range, Simplex
    from tacit.errors import (
        BudgetError,
        EvaluationWarning,
        InputError,
        PolicyWarning,
        RequestConflictError,
        StateError,
        TacitError,
    )
    from tacit.evaluating import evaluate
    from tacit.evaluation import Estimate, Evaluation, EvaluationOptions
    from tacit.fitting import fit
    from tacit.kernels import (
        RBF,
        Categorical,
        Joint,
        Linear,
        Matern,
        Pooled,
        RationalQuadratic,
        Separable,
    )
    from tacit.logs.run_options import RunOptions
    from tacit.planning import plan
    from tacit.policy import Policy
    from tacit.problem import Problem
    from tacit.residual.refine import refine
    from tacit.single_decision.decision import release_decision
    from tacit.statistic import Statistic
    from tacit.study import Decision, Study

# Where each public name lives. Rooms are opened when they are first needed: `tacit --help` should
# not load a database driver, nor a GPU worker OpenDP.
_ROOMS = {
    "study": ("Decision", "Study"),
    "core": ("Budget", "Cohort", "Guarantee", "Ledger", "Part"),
    "design": ("Design", "DesignOptions"),
    "domains": ("Ball", "Box", "Catalogue", "Categories", "Mixed", "Range", "Simplex"),
    "errors": (
        "BudgetError",
        "EvaluationWarning",
        "InputError",
        "PolicyWarning",
        "RequestConflictError",
        "StateError",
        "TacitError",
    ),
    "evaluating": ("evaluate",),
    "evaluation": ("Estimate", "Evaluation", "EvaluationOptions"),
    "fitting": ("fit",),
    "kernels": (
        "Categorical",
        "Joint",
        "Linear",
        "Matern",
        "Pooled",
        "RBF",
        "RationalQuadratic",
        "Separable",
    ),
    "logs.run_options": ("RunOptions",),
    "single_decision": ("release_decision",),
    "planning": ("plan",),
    "policy": ("Policy",),
    "residual.refine": ("refine",),
    "problem": ("Problem",),
    "statistic": ("Statistic",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
_MODULES = ("contexts", "kernels", "paper")

__all__ = [
    "Ball",
    "Study",
    "Box",
    "Budget",
    "BudgetError",
    "Catalogue",
    "Categorical",
    "Categories",
    "Cohort",
    "Decision",
    "Design",
    "DesignOptions",
    "Estimate",
    "Evaluation",
    "EvaluationOptions",
    "EvaluationWarning",
    "Guarantee",
    "InputError",
    "Joint",
    "Ledger",
    "Linear",
    "Matern",
    "Mixed",
    "Part",
    "Policy",
    "PolicyWarning",
    "Pooled",
    "Problem",
    "RBF",
    "Range",
    "RationalQuadratic",
    "RequestConflictError",
    "RunOptions",
    "Separable",
    "Simplex",
    "StateError",
    "Statistic",
    "TacitError",
    "__version__",
    "contexts",
    "evaluate",
    "fit",
    "release_decision",
    "kernels",
    "paper",
    "plan",
    "refine",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tacit.{name}")
    if name in _HOME:
        return getattr(import_module(f"tacit.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
