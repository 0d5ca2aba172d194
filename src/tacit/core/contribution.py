"""One record's contribution: integers, with an exact bound on their Euclidean norm.

The numerics hand over floating-point rows that *ought* to have norm at most 1. Nothing here
believes it. See contribution.md for the claim and its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from tacit.errors import InputError

Array = Any

DEFAULT_BITS = 24
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Encoding:
    """The public shape of a contribution: `rank` integers whose norm is at most `bound = 2**bits`.

    Both overflow conditions are checked here, before any data is seen: `rank * bound^2 < 2^62`
    keeps a squared norm inside int64, `horizon * bound < 2^62` keeps the sum there.
    """

    rank: int
    horizon: int
    bits: int = DEFAULT_BITS

    def __post_init__(self) -> None:
        for name in (
            "rank",
            "horizon",
            "bits",
        ):  # Python's integers, which do not overflow in the checks below
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.rank < 1:
            raise InputError(
                f"rank must be at least 1, got {self.rank}: use a design with a landmark."
            )
        if self.horizon < 1:
            raise InputError(
                f"horizon must be at least 1, got {self.horizon}: say how many rounds there will "
                "be."
            )
        if self.bits < 1 or 2 * self.bits + self.rank.bit_length() > 62:
            raise InputError(
                f"{self.bits} bits at rank {self.rank} do not fit into 64-bit norms: use at most "
                f"{(62 - self.rank.bit_length()) // 2} bits."
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
        """How far replacing one record can move the sum: two vectors inside the ball are at most
        this far apart."""
        return 2 * self.bound

    def encode(self, rows: Array) -> Array:
        """Floating-point rows `(n, rank)` to int64 rows whose exact integer norm is at most
        `bound`.

        | row                         | result                        |
        |-----------------------------|-------------------------------|
        | holds a NaN or an infinity  | zeros                         |
        | an entry outside [-1, 1]    | that entry clipped first      |
        | integer norm over the bound | shrunk exactly, in integers   |
        | anything else               | `rint(row * bound)`           |
        """
        xp = array_namespace(rows)
        if rows.shape[1] != self.rank:
            raise InputError(
                f"rows must have {self.rank} columns, got {rows.shape[1]}: use this design's "
                "features."
            )
        rows = xp.astype(rows, xp.float64, copy=False)
        # both NaN if any entry is
        low = xp.min(rows, axis=1)
        high = xp.max(rows, axis=1)
        if not bool(xp.all((low >= -1.0) & (high <= 1.0))):
            rows = xp.where(
                (xp.isfinite(low) & xp.isfinite(high))[:, None], xp.clip(rows, -1.0, 1.0), 0.0
            )
        return self.shrink(xp.astype(xp.round(rows * float(self.bound)), xp.int64), small=True)

    def shrink(self, units: Array, small: bool = False) -> Array:
        """Integer rows to integer rows of norm at most `bound`; rows inside the ball stay as they
        are.

        A row is only ever changed by what is in it: first halved until its squared norm fits into
        62 bits, then, if it is still outside, every entry becomes |q| * bound // r with r > |row|,
        which puts the norm below the bound. `small` says that no entry exceeds `bound`, so that
        none needs to be halved.
        """
        xp = array_namespace(units)
        roomy = 1 << ((62 - self.rank.bit_length()) // 2)
        while not small and bool(
            xp.any(large := (xp.max(units, axis=1) > roomy) | (xp.min(units, axis=1) < -roomy))
        ):
            units = xp.where(units < -INT64_MAX, -INT64_MAX, units)  # so that abs never overflows
            units = xp.where(large[:, None], xp.sign(units) * (xp.abs(units) // 2), units)
        over = (norm2 := xp.sum(units * units, axis=1)) > self.bound**2
        if not bool(xp.any(over)):
            return units
        return xp.where(
            over[:, None],
            xp.sign(units) * (xp.abs(units) * self.bound // (_isqrt(xp, norm2)[:, None] + 1)),
            units,
        )


def _isqrt(xp: Any, n: Array) -> Array:
    """floor(sqrt(n)) for int64 `0 <= n < 2^62`, exactly: a float guess, then corrected in integers."""
    root = xp.astype(xp.sqrt(xp.astype(n, xp.float64)), xp.int64)
    root = xp.where(root * root > n, root - 1, root)
    return xp.where((root + 1) * (root + 1) <= n, root + 1, root)
