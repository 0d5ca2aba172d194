"""How one law of play is distinguished from another."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from tacit.domains import Domain
from tacit.errors import InputError
from tacit.play.base import NotWritable, PlayLaw
from tacit.play.wrapped import Stated

TRIED = 256  # contexts at which a law that cannot be written down is compared with another


def law_digest(law: PlayLaw, contexts: Domain) -> str:
    """Tells one law from another: by what it says of itself, or by what it plays in some contexts
    with the same coins. Fails if that is not the same each time."""
    if isinstance(law, Stated):
        return law.digest
    try:
        content = json.dumps(law.spec(), sort_keys=True, default=str).encode()
    except NotWritable:
        content = _tried(law, contexts)
        # Otherwise the same fit would be another one, and charged again, each time it is run.
        if content != _tried(law, contexts):
            raise InputError(
                f"the play ({law.description}) chooses other actions with the same contexts and "
                "the same rng: draw all of its randomness from the rng that it is given, as in "
                "rng.random(), and from no other."
            ) from None
    return hashlib.sha256(content).hexdigest()[:16]


def _tried(law: PlayLaw, contexts: Domain) -> bytes:
    """What the law plays in some contexts, with the same coins each time."""
    rng = np.random.default_rng(0)
    columns = contexts.decode(contexts.sample_points(TRIED, rng))
    return np.round(law.points(columns, rng), 6).astype("<f8").tobytes()
