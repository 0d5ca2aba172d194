"""A page: its address, who may see it, and how whatever goes wrong becomes a page, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tacit.dashboard.rendering import Shown, page_response
from tacit.dashboard.visitors import SESSION, VISITOR, Visitor, new_nonce, visitor_of
from tacit.service.calls import read_body
from tacit.service.problems import ForbiddenError, NotFoundError, UnauthorizedError, problem_of
from tacit.service.served import Served

if TYPE_CHECKING:
    from tacit.dashboard.dashboard import Dashboard

Answered = Shown | Response
Handler = Callable[["Ask"], Awaitable[Answered]]
MOST_FIELDS = 400


@dataclass(frozen=True)
class Page:
    """One address. `scope` is that of the key that it needs for the study it names; None where
    anybody may come."""

    method: str
    path: str
    handler: Handler
    scope: str | None = "read"
    form: bool = field(default=False)  # whether it takes one: then it carries our token

    def route(self, dashboard: Dashboard) -> Route:
        return Route(self.path, PageEndpoint(self, dashboard), methods=[self.method])


@dataclass(frozen=True)
class Ask:
    """A request for a page."""

    dashboard: Dashboard
    request: Request
    visitor: Visitor
    fields: dict[str, list[str]]

    @property
    def root(self) -> str:
        """The address below which all pages are."""
        return str(self.request.scope.get("root_path", "")).rstrip("/")

    @property
    def study(self) -> Served:
        return self.dashboard.service.studies[self.request.path_params["study"]]

    def field(self, name: str, otherwise: str = "") -> str:
        """What a form says; its last word counts."""
        return self.fields.get(name, [otherwise])[-1].strip()

    def to(self, path: str) -> RedirectResponse:
        """Go on to another page."""
        return RedirectResponse(self.root + path, status_code=303)


class PageEndpoint:
    """Answers for one page, as plain ASGI."""

    def __init__(self, page: Page, dashboard: Dashboard) -> None:
        self._page = page
        self._dashboard = dashboard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        service = self._dashboard.service
        visitor = visitor_of(request, service.studies, self._dashboard.options)
        ask = Ask(self._dashboard, request, visitor, {})
        try:
            ask = Ask(self._dashboard, request, visitor, await self._fields(request, receive))
            self._admit(ask)
            answered = await self._page.handler(ask)
        except UnauthorizedError:
            answered = ask.to(f"/sign-in?next={quote(request.url.path.removeprefix(ask.root))}")
        except Exception as error:
            found = problem_of(error)
            answered = Shown("error.html", {"problem": found}, "Not possible", found.status)
        response = answered
        if isinstance(answered, Shown):
            response = self._drawn(ask, answered)
        assert isinstance(response, Response)
        guard(response)
        await response(scope, receive, send)

    def _drawn(self, ask: Ask, shown: Shown) -> Response:
        """A page. Who comes for the first time is given a nonce that forms are tied to."""
        cookies = dict(shown.cookies)
        visitor = ask.visitor
        if not visitor.nonce:
            cookies[VISITOR] = new_nonce()
            visitor = replace(visitor, nonce=cookies[VISITOR])
        visitor = replace(visitor, session=cookies.get(SESSION, visitor.session))
        response = page_response(Ask(ask.dashboard, ask.request, visitor, ask.fields), shown)
        for name, value in cookies.items():
            set_cookie(ask, response, name, value)
        return response

    async def _fields(self, request: Request, receive: Receive) -> dict[str, list[str]]:
        text = request.url.query
        if self._page.form:
            body = await read_body(receive, self._dashboard.service.most_bytes)
            text = body.decode("utf-8", errors="replace")
        found: dict[str, list[str]] = {}
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        return found

    def _admit(self, ask: Ask) -> None:
        """Fails unless the visitor may. A study that does not exist is as closed to strangers as
        one that does."""
        visitor = ask.visitor
        if self._page.form:
            visitor.require_own(ask.request, ask.field("csrf"))
        if self._page.scope is None:
            return
        name = ask.request.path_params.get("study")
        if not visitor.known:
            raise UnauthorizedError("sign in with a key.")
        if name is None:
            if self._page.scope == "operate" and not visitor.operates:
                raise ForbiddenError(_lacks("operate"))
            return
        if not visitor.may(name, self._page.scope):
            if name not in ask.dashboard.service.studies and not visitor.scopes.get(name):
                raise NotFoundError("there is no study of this name here.")
            raise ForbiddenError(_lacks(self._page.scope))


def _lacks(scope: str) -> str:
    return (
        f"this takes a key with the scope {scope!r}: sign in with one, or ask whoever runs the "
        "service for it (tacit keys create)."
    )


def set_cookie(ask: Ask, response: Response, name: str, value: str) -> None:
    """A cookie that no script reads and that other sites' forms do not bring."""
    response.set_cookie(
        name,
        value,
        path=ask.root or "/",
        secure=ask.request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def drop_session(ask: Ask, response: Response) -> None:
    response.delete_cookie(SESSION, path=ask.root or "/", httponly=True, samesite="lax")


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def guard(response: Response) -> None:
    """What every answer tells browsers to refuse; pages are not kept unless they say so."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("Cache-Control", "no-store")
