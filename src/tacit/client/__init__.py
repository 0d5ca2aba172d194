"""A client of the decision service: `tacit.client.Client`, and `AsyncClient` for asyncio."""

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
