"""A kernel on actions with the mean over all actions taken out: what an action changes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from tacit._typing import Array
from tacit.kernels.base import Kernel, _device


@dataclass(frozen=True)
class Centred(Kernel):
    """k(x, x') - m(x) - m(x') + M with m(x) = mean_p k(x, p) and M = mean_p m(p), over a fixed set
    of actions `p`.

    Functions of its space have mean zero over `p`. Scaled like a `Custom` kernel where its diagonal
    is over 1.
    """

    kernel: Kernel
    points: NDArray[np.float64] = field(compare=False, repr=False)

    def __call__(self, A: Array, B: Array) -> Array:
        xp = array_namespace(A, B)
        result = self.kernel(A, B)
        mA, dA = self._parts(A)
        mB, dB = self._parts(B)
        result -= mA[:, None]
        result -= mB[None, :]
        result /= xp.sqrt(xp.clip(dA, min=1.0))[:, None]
        result /= xp.sqrt(xp.clip(dB, min=1.0))[None, :]
        return result

    def diagonal(self, A: Array) -> Array:
        return array_namespace(A).clip(self._parts(A)[1], min=0.0, max=1.0)

    def _parts(self, A: Array) -> tuple[Array, Array]:
        """m(a) - M/2, and the diagonal before it is scaled."""
        xp = array_namespace(A)
        P = xp.asarray(self.points, dtype=A.dtype, device=_device(A))
        m = xp.mean(self.kernel(A, P), axis=1) - 0.5 * xp.mean(self.kernel(P, P))
        return m, self.kernel.diagonal(A) - 2.0 * m
