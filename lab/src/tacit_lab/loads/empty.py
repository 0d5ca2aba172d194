"""An empty endpoint on the same stack as the service: what HTTP alone costs."""

from __future__ import annotations

import sys

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

ANSWER = b'{"event_id":"0123456789abcdef01234567","action":{"dose":50.0},"mode":"explore"}'


async def empty(request: Request) -> Response:
    """Reads the body and answers with a constant."""
    await request.body()
    return Response(ANSWER, media_type="application/json")


def main(port: int) -> None:
    routes = [Route("/empty", empty, methods=["POST"])]
    uvicorn.run(Router(routes), host="127.0.0.1", port=port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
