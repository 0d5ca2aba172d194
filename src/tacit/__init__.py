"""Tacit: which action is best for which context, learned from data that must stay private."""

from tacit import contexts, kernels
from tacit._version import __version__
from tacit.bandit import Bandit, Decision
from tacit.core import Budget, Guarantee, Ledger
from tacit.design import Design
from tacit.domains import Ball, Box, Catalogue, Categories, Mixed, Simplex
from tacit.errors import BudgetError, InputError, RequestConflictError, StateError, TacitError
from tacit.kernels import RBF, Categorical, Joint, Linear, Matern, RationalQuadratic, Separable
from tacit.policy import Policy
from tacit.problem import Problem
from tacit.statistic import Statistic

__all__ = [
    "Ball", "Bandit", "Box", "Budget", "BudgetError", "Catalogue", "Categorical", "Categories", "Decision", "Design", "Guarantee",
    "InputError", "Joint", "Ledger", "Linear", "Matern", "Mixed", "Policy", "Problem", "RBF", "RationalQuadratic",
    "RequestConflictError", "Separable", "Simplex", "StateError", "Statistic", "TacitError", "__version__", "contexts",
    "kernels",
]  # fmt: skip
