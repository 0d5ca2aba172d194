"""Keys: who may ask, tell, look and operate.

A key is `tacit_ID_SECRET`. The secret has 256 random bits, is shown once, and is kept as a keyed
hash. The database is where keys live, so a backup of it can bring back one that was revoked since.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, insert, select, update

from tacit.core.database import perform
from tacit.core.ledger import Ledger
from tacit.errors import InputError, StateError
from tacit.service.tables import keys_table, make_tables

SCOPES = ("decide", "reward", "read", "operate")
PREFIX = "tacit"
NOBODY = "0" * 64  # compared with where there is no such key, so that this takes as long


@dataclass(frozen=True)
class Key:
    """What is known of a key. The secret is not."""

    id: str
    name: str
    scopes: tuple[str, ...]
    rate: float | None
    created: float
    expires: float | None
    revoked: float | None

    def good(self, now: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class Keys:
    """The keys of one database."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        make_tables(engine)
        self._engine = engine
        self._clock = clock
        self._secret = Ledger.open(engine).name.encode()

    def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        expires: float | None = None,
        rate: float | None = None,
    ) -> str:
        """A new key, which is shown now and never again. `expires` is in seconds from now."""
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            raise InputError(
                f"a key has one scope or more of {', '.join(SCOPES)}, got "
                f"{', '.join(wrong) or 'none'}: write --scope decide."
            )
        if not name.strip() or len(name) > 100:
            raise InputError("a key has a name of 1 to 100 letters: write --name shop.")
        if rate is not None and not rate > 0:
            raise InputError(f"a rate is a number of requests a second above 0, got {rate!r}.")
        id = secrets.token_hex(6)
        secret = secrets.token_urlsafe(32)
        now = self._clock()
        row = {
            "id": id,
            "name": name,
            "digest": self._digest(secret),
            "scopes": ",".join(scope for scope in SCOPES if scope in scopes),
            "rate": rate,
            "created": now,
            "expires": None if expires is None else now + expires,
        }
        perform(self._engine, lambda connection: connection.execute(insert(keys_table).values(row)))
        return f"{PREFIX}_{id}_{secret}"

    def all(self) -> list[Key]:
        """Every key, oldest first."""
        return [_key(row) for row in self._rows()]

    def revoke(self, id: str) -> None:
        """From now on the key is refused; services notice within a second."""
        this = (keys_table.c.id == id) & keys_table.c.revoked.is_(None)
        done = perform(
            self._engine,
            lambda connection: (
                connection.execute(
                    update(keys_table).where(this).values(revoked=self._clock())
                ).rowcount
            ),
        )
        if done != 1:
            raise StateError(f"there is no key {id!r} that is good: see tacit keys list.")

    def ring(self) -> Ring:
        """All keys as they are now, to be looked at without the database."""
        found = {row.id: (_key(row), row.digest) for row in self._rows()}
        return Ring(found, self._secret, self._clock)

    def _rows(self) -> Any:
        query = select(keys_table).order_by(keys_table.c.created)
        return perform(self._engine, lambda connection: connection.execute(query).all())

    def _digest(self, secret: str) -> str:
        return digest(secret, self._secret)


@dataclass(frozen=True)
class Ring:
    """Keys in memory."""

    keys: dict[str, tuple[Key, str]]
    secret: bytes
    clock: Callable[[], float] = time.time

    @property
    def empty(self) -> bool:
        """Whether no key was ever made."""
        return not self.keys

    def find(self, token: str) -> Key | None:
        """The key that this is, if it is good."""
        prefix, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        key, kept = self.keys.get(id, (None, NOBODY))
        same = hmac.compare_digest(digest(secret, self.secret), kept)
        if not same or key is None or prefix != PREFIX or not key.good(self.clock()):
            return None
        return key


def digest(secret: str, key: bytes) -> str:
    """A keyed hash of a secret."""
    content = secret.encode(errors="surrogatepass")
    return hashlib.blake2b(content, key=key, digest_size=32).hexdigest()


def _key(row: Any) -> Key:
    return Key(
        row.id,
        row.name,
        tuple(row.scopes.split(",")),
        row.rate,
        row.created,
        row.expires,
        row.revoked,
    )
