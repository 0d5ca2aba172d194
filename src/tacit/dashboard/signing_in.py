"""Signing in with a key, and out."""

from __future__ import annotations

from starlette.responses import RedirectResponse

from tacit.dashboard.pages import Answered, Ask, Page, drop_session, set_cookie
from tacit.dashboard.rendering import Shown
from tacit.dashboard.visitors import SESSION, session_of

REFUSED = (
    "this is no key that is good here: keys are made by tacit keys create, are shown once, and may "
    "be revoked or expire."
)


def local(path: str) -> str:
    """An address of these pages, and no other: somebody else may have written it."""
    if not path.startswith("/") or path.startswith(("//", "/\\")) or "\n" in path:
        return "/"
    return path


async def show(ask: Ask) -> Answered:
    """The form."""
    view = {"next": local(ask.field("next", "/")), "refused": ""}
    return Shown("sign_in.html", view, "Sign in")


async def sign_in(ask: Ask) -> Answered:
    """A session for a key that is good for one of the studies."""
    token = ask.field("key")
    after = local(ask.field("next", "/"))
    for study in ask.dashboard.service.studies.values():
        key = study.door.ring.find(token)
        if key is not None:
            kept = study.door.ring.keys[key.id][1]
            response: RedirectResponse = ask.to(after)
            set_cookie(ask, response, SESSION, session_of(key, kept, ask.visitor.session))
            return response
    return Shown("sign_in.html", {"next": after, "refused": REFUSED}, "Sign in", status=401)


async def sign_out(ask: Ask) -> Answered:
    """Ends the session here."""
    response = ask.to("/sign-in")
    drop_session(ask, response)
    return response


PAGES = [
    Page("GET", "/sign-in", show, scope=None),
    Page("POST", "/sign-in", sign_in, scope=None, form=True),
    Page("POST", "/sign-out", sign_out, scope=None, form=True),
]
