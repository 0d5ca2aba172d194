"""User ids: the one name under which the private sum keeps a user. See sums.md.

Taking two users for one is safe: they share one bound. Taking one user for two is not: together
they could move the sum by twice the bound. So whatever may be two spellings of one id is one id.
"""

from __future__ import annotations

import re
from numbers import Number
from typing import Any
from unicodedata import category, normalize

import numpy as np

# What stands for "no id" in some kind of table, as text in lower case. A CSV file drops these words
# where a Parquet file keeps them, so they have to be nobody's name in either.
WORDS_FOR_MISSING = "none null nan -nan nat na <na> n/a #na #n/a 1.#ind -1.#ind 1.#qnan -1.#qnan"
MISSING = ("", "#n/a n/a", *WORDS_FOR_MISSING.split())
WORDS = dict.fromkeys(MISSING, "") | {"false": "0.0", "true": "1.0"}
WRAPPINGS = 8  # of sequences with one element, one inside the other
PASSES = 8  # of folding until nothing changes; two or three are enough for all text that is known

# Unicode's default-ignorable characters that are neither of category Cf nor Cc: they show nothing.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# What word processors make of a hyphen, a minus and an apostrophe.
TYPESET = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
)
LONE = re.compile("[\ud800-\udfff]")


def user_key(user: Any) -> str:
    """The name of a user: equal for everything that may be the same id, and safe to store in any
    database.

    | id                                           | name                                         |
    |----------------------------------------------|----------------------------------------------|
    | None, NaN, NaT, NA, masked, empty, "n/a"     | "", the one nameless user                    |
    | a number, or text that spells one            | its float64 value, -0 as 0: "7.0"            |
    | a truth value, the texts "true" and "false"  | that of 1 and 0                              |
    | bytes of any kind, also padded with NULs     | that of their UTF-8 text, odd bytes escaped  |
    | text                                         | Unicode NFKC, case folded, without invisible |
    |                                              | characters, single spaces, plain - and '     |
    | a sequence with one element                  | that of the element                          |
    | anything else                                | that of its `str()`; nameless if that raises |

    A name is its own name: `user_key(user_key(x)) == user_key(x)`. It holds no NUL and no lone
    surrogate.
    """
    try:
        if type(user) is str:
            return _of_text(user)
        if type(user) is int or type(user) is float:
            return _of_number(user)
        return _of_anything(user)
    except Exception:  # whatever somebody else's class raises: it is nobody's name
        return ""


def _of_number(value: Any) -> str:
    try:
        number = float(value) + 0.0  # -0.0 + 0.0 is 0.0
    except OverflowError:  # an integer that no float holds
        number = float("inf") if value > 0 else float("-inf")
    return "" if number != number else repr(number)  # NaN is no name


def _of_text(text: str) -> str:
    if text.isascii() and text.isprintable():  # folding is then the lower case
        text = " ".join(text.lower().split())
    else:
        text = _folded(text)
    if text in WORDS:
        return WORDS[text]
    try:
        return _of_number(float(text))
    except ValueError:
        return text


def _of_anything(user: Any) -> str:
    for _ in range(WRAPPINGS):
        if user is None or user is np.ma.masked:
            return ""
        if isinstance(user, str):
            return _of_text(str.__str__(user))
        if isinstance(user, np.void):
            user = user.tobytes()
        if isinstance(user, bytes | bytearray | memoryview):
            return _of_text(bytes(user).decode("utf-8", "backslashreplace"))
        if isinstance(user, bool | np.bool_):
            return _of_number(int(user))
        if isinstance(user, Number) and not isinstance(user, np.timedelta64):
            if user.imag == 0:  # type: ignore[attr-defined]
                return _of_number(user.real)  # type: ignore[attr-defined]
            return _of_text(str(user))
        inside = _inside(user)
        if inside is user:
            break
        user = inside
    return _of_text(str(user))


def _inside(user: Any) -> Any:
    """What is wrapped in a sequence with one element, a scalar of Arrow or a tensor; the thing
    itself otherwise."""
    if isinstance(user, np.ndarray) and user.size <= 1:
        return list(user.reshape(-1))
    if isinstance(user, np.ndarray):
        return user
    if isinstance(user, list | tuple) and len(user) <= 1:
        return user[0] if user else None
    if hasattr(user, "as_py"):
        return user.as_py()
    if getattr(user, "ndim", None) == 0 and not isinstance(user, np.generic):
        return user.item()
    return user


def _folded(text: str) -> str:
    """Text as it is compared: folded again and again until nothing changes, so that a name is its
    own name.

    Invisible characters go first, because they may keep accents apart. Then accents are put in
    order (NFKD), because case folding makes a letter of one of them (U+0345), and accents after it
    would stay on its wrong side.
    """
    text = LONE.sub(_escaped, text)
    for _ in range(PASSES):
        folded = text
        if not folded.isprintable() or INVISIBLE.search(folded):
            folded = "".join(letter for letter in folded if not _invisible(letter))
        folded = normalize("NFKC", normalize("NFKD", folded).casefold().translate(TYPESET))
        folded = " ".join(folded.split())
        if folded == text:
            return folded
        text = folded
    return ""


def _invisible(letter: str) -> bool:
    if letter.isspace():
        return False
    return category(letter) in ("Cc", "Cf") or INVISIBLE.match(letter) is not None


def _escaped(lone: re.Match[str]) -> str:
    """A lone surrogate, escaped; one that stands for a byte (PEP 383) is escaped as that byte."""
    code = ord(lone[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}"
