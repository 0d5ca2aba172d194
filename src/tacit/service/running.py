"""Runs a service: which addresses it may listen on, and how."""

from __future__ import annotations

import ctypes
import gc
import ipaddress
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url
from threadpoolctl import threadpool_limits

from tacit.errors import InputError, MissingExtraError
from tacit.policy.loading import load
from tacit.quiet import quiet
from tacit.service.served import Served
from tacit.service.served_policy import ServedPolicy
from tacit.service.served_study import ServedStudy
from tacit.service.service import MOST_BYTES, Pages, Service

M_TRIM_THRESHOLD = -1  # of the GNU C library
M_MMAP_THRESHOLD = -3
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Listening:
    """Where a service listens. `certificate` and `private_key` are files, for TLS."""

    host: str = "127.0.0.1"
    port: int = 8070
    certificate: Path | None = None
    private_key: Path | None = None
    most_bytes: int = MOST_BYTES
    behind_proxy: bool = False  # one that ends TLS and is trusted with who is calling
    root_path: str = ""  # the address below which such a proxy serves it, such as /tacit

    @property
    def loopback(self) -> bool:
        """Whether nobody outside of this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def serve(
    studies: Sequence[str], policies: Sequence[str] = (), listening: Listening | None = None
) -> None:
    """Serves studies (URLs, or NAME=URL) and released policies (folders, or NAME=FOLDER) until it
    is interrupted."""
    listening = listening or Listening()
    run(make_service(studies, policies, listening), listening)


def run(service: Service, listening: Listening) -> None:
    """Serves in a process that does nothing else, until it is interrupted."""
    # Products of a few rows are faster on one thread. Other threads would wait for the next one by
    # turning on their cores, which the process that calls us may need.
    keep_memory()
    gc.freeze()  # modules stay: they need not be looked through for garbage again and again
    with threadpool_limits(1, user_api="blas"), quiet():
        server(service, listening).run()


def keep_memory() -> None:
    """Keeps freed memory for the next request. The GNU C library would hand each larger array back
    to the operating system, and to get its pages again takes longer than to compute it."""
    with suppress(AttributeError, OSError, TypeError):  # other libraries have no such setting
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 2 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 8 << 20)


def make_service(
    studies: Sequence[str],
    policies: Sequence[str],
    listening: Listening,
    pages: Pages | None = None,
) -> Service:
    """The service, unless it would let strangers in."""
    served: list[Served] = [ServedStudy(*_named_url(text)) for text in studies]
    served += [ServedPolicy(name, load(path), path) for name, path in map(_named_path, policies)]
    open_to_all = [each.name for each in served if each.door.ring.empty]
    if open_to_all and not listening.loopback:
        raise InputError(
            f"{', '.join(open_to_all)} has no keys, so the service listens on the loopback address "
            f"only, not on {listening.host}: make one with tacit keys create."
        )
    if pages is not None and not served and not listening.loopback:
        raise InputError(
            f"without any study there are no keys, so the service listens on the loopback address "
            f"only, not on {listening.host}: serve a study that has one."
        )
    return Service(served, most_bytes=listening.most_bytes, pages=pages)


def server(service: Service, listening: Listening) -> Any:
    """A uvicorn server that logs no request: that a reward came is private."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError.of("services", "uvicorn", "serve") from None
    if (listening.certificate is None) != (listening.private_key is None):
        raise InputError("TLS takes a certificate and its private key: pass both, or neither.")
    logging.getLogger("tacit.service").setLevel(logging.INFO)
    tls: dict[str, Any] = {}
    if listening.certificate is not None:
        tls = {"ssl_certfile": listening.certificate, "ssl_keyfile": listening.private_key}
    config = uvicorn.Config(
        service.app,
        host=listening.host,
        port=listening.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=listening.behind_proxy,
        root_path=listening.root_path.rstrip("/"),
        timeout_graceful_shutdown=10,
        lifespan="on",
        **tls,
    )
    made = uvicorn.Server(config)
    service.exiting = lambda: made.should_exit
    return made


def _named_url(text: str) -> tuple[str, str]:
    name, url = _split(text)
    if name is None:
        name = Path(make_url(url).database or "study").stem
    return _checked(name), url


def _named_path(text: str) -> tuple[str, str]:
    name, path = _split(text)
    return _checked(name or Path(path).resolve().name), path


def _split(text: str) -> tuple[str | None, str]:
    """NAME=REST, or REST alone: a URL may hold = of its own."""
    name, separator, rest = text.partition("=")
    if separator and NAME.fullmatch(name):
        return name, rest
    return None, text


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of a study: use letters, digits, - and _, as in shop=URL."
        )
    return name
