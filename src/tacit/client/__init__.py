"""A client of the decision service: `tacit.client.Client`, and `AsyncClient` for asyncio."""

from tacit.errors import MissingExtraError

try:
    import httpx as _httpx  # noqa: F401
except ImportError:
    raise MissingExtraError.of("clients", "httpx", "client") from None

from tacit.client.async_client import AsyncClient
from tacit.client.client import Client
from tacit.client.messages import (
    ClientOptions,
    Decided,
    RefusedError,
    ServiceUnavailableError,
)

__all__ = [
    "AsyncClient",
    "Client",
    "ClientOptions",
    "Decided",
    "RefusedError",
    "ServiceUnavailableError",
]
