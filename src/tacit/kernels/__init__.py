"""Kernels: what kind of function the reward is thought to be.

>>> age = tacit.Matern(2.5, 0.5).on("age")
>>> dose = tacit.Matern(2.5, 0.3).on("dose")
>>> kernel = tacit.Joint(dose * age + tacit.Linear().on("age"))  # sums and products of kernels
"""

from tacit.kernels.base import Kernel
from tacit.kernels.centred import Centred
from tacit.kernels.compose import Joint, On, Product, Separable, Sum, natural
from tacit.kernels.default import default_kernel, with_levels
from tacit.kernels.other import Categorical, Custom, Linear
from tacit.kernels.pooled import Pooled
from tacit.kernels.rows import one_by_one, sees_batches
from tacit.kernels.stationary import RBF, Matern, RationalQuadratic

REGISTRY: dict[str, type] = {
    cls.__name__.lower(): cls
    for cls in (
        Categorical,
        Joint,
        Linear,
        Matern,
        On,
        Pooled,
        Product,
        RBF,
        RationalQuadratic,
        Separable,
        Sum,
    )
}

__all__ = [
    "Categorical",
    "Centred",
    "Custom",
    "Joint",
    "Kernel",
    "Linear",
    "Matern",
    "On",
    "Pooled",
    "Product",
    "RBF",
    "REGISTRY",
    "RationalQuadratic",
    "Separable",
    "Sum",
    "default_kernel",
    "natural",
    "one_by_one",
    "sees_batches",
    "with_levels",
]
