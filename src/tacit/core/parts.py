"""Parts: the people of a log in two groups, one to learn from and one held out. See parts.md.

Who is in which part is a keyed hash of the privacy unit: of the row's number in the log, or of the
user's id. It looks at no context, action or reward. Each part is a cohort, so each may spend the
whole budget. The name of the cohort states the rule, and the sum of it takes the records of its
part and drops all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.cohorts import LARGEST, Cohort
from tacit.core.users import user_key
from tacit.errors import InputError

LEARN = "learn"
HOLD_OUT = "hold-out"
MIDDLE = LARGEST // 2  # numbers below it are of the part to learn from
NAME = re.compile(r"(learn|hold-out) \((\S+) of (record|user)s held out by ([0-9a-f]{16})\)")
STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64, as are the shifts and factors below
SCRAMBLE = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


@dataclass(frozen=True)
class Part:
    """The people to "learn" from, or those of the "hold-out": a `share` of all. Public.

    `unit` is "record" or "user", and `key` 16 hexadecimal digits.

    >>> part = tacit.Part("hold-out", 0.2, "record", "0123456789abcdef")
    >>> bool(part.mask(0, 1000).sum() < 300)  # about a fifth of the rows, always the same ones
    True
    >>> part.other.name
    'learn'
    """

    name: str
    share: float
    unit: str
    key: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", held_out_share(self.share))
        if NAME.fullmatch(self._rule) is None:
            raise InputError(
                f"a part is 'learn' or 'hold-out' of records or users, with a key of 16 "
                f"hexadecimal digits, got {self.name!r}, {self.unit!r} and {self.key!r}."
            )

    @classmethod
    def of(cls, cohort: Cohort | None) -> Part | None:
        """The part that a cohort is; None if it is another kind of cohort, or none."""
        found = None if cohort is None else NAME.fullmatch(cohort.name)
        if found is None:
            return None
        name, share, unit, key = found.groups()
        try:
            part = cls(name, float(share), unit, key)
        except ValueError:  # no share, or none that can be held out
            return None
        return part if part.cohort == cohort else None

    @classmethod
    def restore(cls, facts: Mapping[str, Any]) -> Part:
        """The inverse of `facts`."""
        try:
            return cls(**facts)
        except TypeError:
            raise InputError(
                "this says of no part what its name, share, unit and key are: take it from "
                'policy.facts["hold_out"].'
            ) from None

    def facts(self) -> dict[str, Any]:
        """The part as plain data."""
        return asdict(self)

    @property
    def cohort(self) -> Cohort:
        """The cohort whose account pays for what is released of this part. The record in row `i`
        of the log has the number `cohort.first + i`."""
        first = 0 if self.name == LEARN else MIDDLE
        return Cohort(self._rule, first, first + MIDDLE)

    @property
    def other(self) -> Part:
        """Everybody else."""
        return replace(self, name=HOLD_OUT if self.name == LEARN else LEARN)

    def mask(
        self, first_row: int, rows: int, users: Sequence[Any] | None = None
    ) -> NDArray[np.bool_]:
        """Which of these rows of the log are of this part. Where users are split it takes one user
        id per row."""
        if self.unit == "record":
            held_out = _hashes(int(self.key, 16), first_row, rows) < np.uint64(self._limit)
        else:
            if users is None or len(users) != rows:
                raise InputError(f"parts of users need one user id per record, {rows}.")
            names = [user_key(user) for user in users]
            known = {name: self._holds_out(name) for name in set(names)}
            held_out = np.array([known[name] for name in names], dtype=bool)
        return held_out if self.name == HOLD_OUT else ~held_out

    def has_user(self, user: Any) -> bool:
        """Whether a user is of this part."""
        return self._holds_out(user_key(user)) == (self.name == HOLD_OUT)

    @property
    def _rule(self) -> str:
        return f"{self.name} ({self.share!r} of {self.unit}s held out by {self.key})"

    @property
    def _limit(self) -> int:
        """Whose hash, of 64 bits, is below it is held out."""
        return int(self.share * 2.0**64)

    def _holds_out(self, name: str) -> bool:
        text = name.encode(errors="surrogatepass")
        digest = blake2b(text, key=bytes.fromhex(self.key), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self._limit


def held_out_share(share: Any) -> float:
    """The share as a float, if it is above 0 and at most a half; anything else is an error."""
    try:
        value = float(share)
    except (TypeError, ValueError):
        value = 0.0
    if not 0.0 < value <= 0.5:
        raise InputError(
            f"hold_out is the share of people to keep apart, above 0 and at most 0.5, got "
            f"{share!r}: pass for example 0.2."
        )
    return value


def same_split(cohort: Cohort, other: Cohort) -> bool:
    """Whether both are parts of one split, or neither is a part of any."""
    parts = [Part.of(each) for each in (cohort, other)]
    names = [part and replace(part, name=LEARN) for part in parts]
    return names[0] == names[1]


def _hashes(key: int, first: int, rows: int) -> NDArray[np.uint64]:
    """Outputs `first`, `first + 1`, ... of the generator SplitMix64 with the key as its seed."""
    number = np.arange(first, first + rows, dtype=np.uint64)
    z = np.uint64(key) + (number + np.uint64(1)) * STEP  # modulo 2^64
    for shift, factor in SCRAMBLE:
        z = (z ^ (z >> np.uint64(shift))) * factor
    return z ^ (z >> np.uint64(31))
