"""One record's contribution: integers, with an exact bound on their Euclidean norm.

The numerics hand over floating-point rows that ought to have norm at most 1. The bound does not
rest on that: it is enforced here, in integers. See contribution.md for the claim and its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from tacit.errors import InputError

Array = Any

DEFAULT_BITS = 24  # a grid of 2^-24: rounding to it is far below any noise that hides a record
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Encoding:
    """The public shape of a contribution: `size` integers whose norm is at most `bound = 2**bits`.

    Both overflow conditions are checked here, before any data is seen: `size * bound^2 < 2^62`
    keeps a squared norm inside int64, `horizon * bound < 2^62` keeps the sum there.
    """

    size: int
    horizon: int
    bits: int = DEFAULT_BITS

    def __post_init__(self) -> None:
        # Python's integers do not overflow in the checks below; NumPy's would.
        for name in ("size", "horizon", "bits"):
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.size < 1:
            raise InputError(
                f"size must be at least 1, got {self.size}: use a design with a landmark."
            )
        if self.horizon < 1:
            raise InputError(
                f"horizon must be at least 1, got {self.horizon}: say how many rounds there will "
                "be."
            )
        most_bits = (62 - self.size.bit_length()) // 2
        if not 1 <= self.bits <= most_bits:
            raise InputError(
                f"{self.bits} bits at size {self.size} do not fit into 64-bit norms: use at most "
                f"{most_bits} bits."
            )
        if self.horizon * self.bound >= 2**62:
            raise InputError(
                f"{self.bits} bits at horizon {self.horizon} do not fit into a 64-bit sum: use "
                "fewer bits."
            )

    @property
    def bound(self) -> int:
        """The largest Euclidean norm of one record's integers."""
        return 1 << self.bits

    @property
    def sensitivity(self) -> int:
        """How far replacing one record can move the sum: the diameter of the ball."""
        return 2 * self.bound

    def encode(self, rows: Array) -> Array:
        """Floating-point rows `(n, size)` to int64 rows whose exact norm is at most `bound`.

        | row                         | result                        |
        |-----------------------------|-------------------------------|
        | holds a NaN or an infinity  | zeros                         |
        | an entry outside [-1, 1]    | that entry clipped first      |
        | integer norm over the bound | shrunk exactly, in integers   |
        | anything else               | `rint(row * bound)`           |
        """
        xp = array_namespace(rows)
        if rows.shape[1] != self.size:
            raise InputError(
                f"rows must have {self.size} columns, got {rows.shape[1]}: use this design's "
                "features."
            )
        rows = xp.astype(rows, xp.float64, copy=False)
        # A row that holds a NaN has NaN for both ends, so that it fails the comparison below.
        low = xp.min(rows, axis=1)
        high = xp.max(rows, axis=1)
        if not bool(xp.all((low >= -1.0) & (high <= 1.0))):
            rows = xp.where(
                (xp.isfinite(low) & xp.isfinite(high))[:, None], xp.clip(rows, -1.0, 1.0), 0.0
            )
        return self.shrink(xp.astype(xp.round(rows * float(self.bound)), xp.int64), small=True)

    def shrink(self, integers: Array, small: bool = False) -> Array:
        """Integer rows to integer rows of norm at most `bound`; rows inside the ball stay as they
        are.

        A row is only ever changed by what is in it: first halved until its squared norm fits into
        62 bits, then, if it is still outside, every entry becomes |q| * bound // r with r > |row|,
        which puts the norm below the bound. `small` says that no entry exceeds `bound`, so that
        none needs to be halved.
        """
        xp = array_namespace(integers)
        if not small:
            integers = self._halved(xp, integers)
        norm2 = xp.sum(integers * integers, axis=1)
        over = norm2 > self.bound**2
        if not bool(xp.any(over)):
            return integers
        # r = floor(|row|) + 1 is above the norm, and rounding down only shrinks further.
        shrunk = xp.abs(integers) * self.bound // (_isqrt(xp, norm2)[:, None] + 1)
        return xp.where(over[:, None], xp.sign(integers) * shrunk, integers)

    def _halved(self, xp: Any, integers: Array) -> Array:
        """Rows halved until their entries are so small that a squared norm fits into 62 bits."""
        roomy = 1 << ((62 - self.size.bit_length()) // 2)
        while True:
            large = (xp.max(integers, axis=1) > roomy) | (xp.min(integers, axis=1) < -roomy)
            if not bool(xp.any(large)):
                return integers
            # -2^63 has no absolute value in 64 bits.
            integers = xp.where(integers < -INT64_MAX, -INT64_MAX, integers)
            halves = xp.sign(integers) * (xp.abs(integers) // 2)
            integers = xp.where(large[:, None], halves, integers)


def _isqrt(xp: Any, n: Array) -> Array:
    """floor(sqrt(n)) for int64 `0 <= n < 2^62`, exactly: a float guess, corrected in integers."""
    root = xp.astype(xp.sqrt(xp.astype(n, xp.float64)), xp.int64)
    root = xp.where(root * root > n, root - 1, root)
    return xp.where((root + 1) * (root + 1) <= n, root + 1, root)
