"""A new study by a form: what is typed becomes a problem file, which is shown before anything is
made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tacit.dashboard.following import LOOK, job_page
from tacit.dashboard.making import LONGEST, Wanted
from tacit.dashboard.pages import Answered, Ask, Page
from tacit.dashboard.rendering import Shown
from tacit.dashboard.studio import Job
from tacit.dashboard.visitors import SESSION, session_of
from tacit.errors import InputError
from tacit.service.problems import NotFoundError
from tacit.service.served_study import ServedStudy

if TYPE_CHECKING:
    from tacit.dashboard.dashboard import Dashboard

ACTIONS = 2  # rows of the form
CONTEXTS = 4
MORE = 2
MOST_ROWS = 40
USUAL = {
    "low": "0",
    "high": "1",
    "rounds": "5000",
    "epsilon": "1",
    "delta": "1e-6",
    "epochs": "3",
    "explore": "0.05",
    "exploit": "0.1",
    "control": "0.1",
    "baseline": "",
    "wait": "0",
    "rank": "",
    "name": "",
    "unit": "record",
}


@dataclass(frozen=True)
class Row:
    """A line of the form: a column that is a range of numbers, or a list of labels."""

    id: str
    number: int
    name: str
    kind: str
    low: str
    high: str
    labels: str


def rows_of(fields: Mapping[str, list[str]], prefix: str, least: int) -> list[Row]:
    """The lines of a form, as they were typed."""

    def said(i: int, what: str, otherwise: str = "") -> str:
        return fields.get(f"{prefix}{i}-{what}", [otherwise])[-1].strip()

    there = [i for i in range(MOST_ROWS) if f"{prefix}{i}-name" in fields]
    many = min(
        MOST_ROWS, max(least, len(there)) + (MORE if fields.get("do") == [f"more-{prefix}"] else 0)
    )
    return [
        Row(
            f"{prefix}{i}",
            i + 1,
            said(i, "name"),
            said(i, "kind", "range"),
            said(i, "low"),
            said(i, "high"),
            said(i, "labels"),
        )
        for i in range(many)
    ]


def columns_of(rows: list[Row]) -> dict[str, Any]:
    """Names to ranges or labels."""
    found: dict[str, Any] = {}
    for row in rows:
        if not row.name:
            continue
        if len(row.name) > LONGEST or not row.name.isprintable() or row.name in found:
            raise InputError(
                f"names of columns differ and have at most {LONGEST} letters: change one of line "
                f"{row.number}."
            )
        if row.kind == "labels":
            labels = [label.strip() for label in row.labels.split(",") if label.strip()]
            if not all(label.isprintable() and len(label) <= LONGEST for label in labels):
                raise InputError(f"labels have at most {LONGEST} letters: see line {row.number}.")
            found[row.name] = labels
        else:
            found[row.name] = (
                number_of(row.low, f"the lowest {row.name}"),
                number_of(row.high, f"the highest {row.name}"),
            )
    return found


def number_of(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} must be a number: type one.") from None


def whole(text: str, what: str) -> int:
    if not text.replace(",", "").replace("_", "").isdecimal():
        raise InputError(f"{what} must be a whole number: type one.")
    return int(text.replace(",", "").replace("_", ""))


def wanted_of(ask: Ask) -> Wanted:
    """The study that a form asks for, checked."""
    made = Wanted(
        name=ask.field("name"),
        actions=columns_of(rows_of(ask.fields, "a", ACTIONS)),
        contexts=columns_of(rows_of(ask.fields, "c", CONTEXTS)),
        reward_range=(
            number_of(ask.field("low"), "the lowest reward"),
            number_of(ask.field("high"), "the highest reward"),
        ),
        rounds=whole(ask.field("rounds"), "the number of rounds"),
        epsilon=number_of(ask.field("epsilon"), "epsilon"),
        delta=number_of(ask.field("delta"), "delta"),
        epochs=ask.field("epochs", "1") or "1",
        explore=number_of(ask.field("explore", "0.05"), "the share that explores"),
        exploit=number_of(ask.field("exploit", "0"), "the share of the policy's own decision"),
        control=number_of(ask.field("control", "0"), "the share of the baseline"),
        baseline=tuple(part.strip() for part in ask.field("baseline").split(",") if part.strip()),
        wait=ask.field("wait", "0") or "0",
        user=ask.field("unit") == "user",
        rank=whole(ask.field("rank"), "the rank") if ask.field("rank") else None,
    )
    made.check()
    if made.name in ask.dashboard.service.studies:
        raise InputError(f"there is a study {made.name} already: choose another name.")
    return made


async def show(ask: Ask) -> Answered:
    """The form."""
    _require_folder(ask)
    return _form(ask)


async def review(ask: Ask) -> Answered:
    """The problem file that the form makes, or what is wrong with it."""
    _require_folder(ask)
    if ask.field("do").startswith("more"):
        return _form(ask)
    try:
        made = await asyncio.to_thread(_checked, ask)
    except InputError as error:
        return _form(ask, str(error))
    if ask.field("do") == "toml":
        file = f'attachment; filename="{made.name}.toml"'
        return Response(
            made.toml, media_type="application/toml", headers={"Content-Disposition": file}
        )
    kept = {name: values[-1] for name, values in ask.fields.items() if name not in ("csrf", "do")}
    return Shown("new_review.html", {"made": made, "kept": kept}, f"New study {made.name}")


def _checked(ask: Ask) -> Wanted:
    made = wanted_of(ask)
    assert made.toml  # the problem is one
    return made


async def create(ask: Ask) -> Answered:
    """Has the study designed and written, by the studio."""
    folder = _require_folder(ask)
    made = await asyncio.to_thread(_checked, ask)
    job = ask.dashboard.studio.job(f"create/{made.name}/{ask.visitor.nonce[:6]}", made.job(folder))
    task = asyncio.create_task(adopt(ask.dashboard, job))
    ask.dashboard.tasks.add(task)
    task.add_done_callback(ask.dashboard.tasks.discard)
    return ask.to(f"/jobs/{job.id}")


async def follow(ask: Ask) -> Answered:
    """How far a new study is; once it is there it is served."""
    job = ask.dashboard.studio.find(ask.request.path_params["job"])
    if job is None or job.request["kind"] != "create":
        raise NotFoundError("there is no such work here.")
    serving = job.request["options"]["name"] in ask.dashboard.service.studies
    if not job.done or job.problem is not None or not serving:
        title = f"Making the study {job.request['options']['name']}"
        return job_page(job, title, "/new", f"/jobs/{job.id}/events")
    assert job.result is not None
    name = job.result["name"]
    key = job.result.pop("key", None)
    cookies = {}
    if key is not None:
        ring = ask.dashboard.service.studies[name].door.ring
        found = ring.find(key)
        assert found is not None
        cookies[SESSION] = session_of(found, ring.keys[found.id][1], ask.visitor.session)
    view = {"name": name, "key": key}
    return Shown("new_done.html", view, f"Study {name} is there", cookies=cookies)


async def adopt(dashboard: Dashboard, job: Job) -> None:
    """Serves a study once it is made. Where keys are needed here it gets one, to be shown once."""
    while not job.done:
        await asyncio.sleep(LOOK)
    studies = dashboard.service.studies
    if job.result is None or job.result["name"] in studies:
        return
    keyed = any(not study.door.ring.empty for study in studies.values())
    name = job.result["name"]
    served, key = await asyncio.to_thread(_opened, name, job.result["url"], keyed)
    if name not in studies:  # nobody was quicker
        job.result["key"] = key
        dashboard.service.add(served)


def _opened(name: str, url: str, keyed: bool) -> tuple[ServedStudy, str | None]:
    served = ServedStudy(name, url)
    key = None
    if keyed:
        scopes = ["decide", "reward", "read", "operate"]
        key = served.keys.create("made with the study", scopes)
        served.door.ring = served.keys.ring()
    return served, key


def _form(ask: Ask, refused: str = "") -> Shown:
    values = {name: ask.field(name, usual) for name, usual in USUAL.items()}
    view = {
        "actions": rows_of(ask.fields, "a", ACTIONS),
        "contexts": rows_of(ask.fields, "c", CONTEXTS),
        "values": values,
        "refused": refused,
    }
    return Shown("new.html", view, "New study", status=422 if refused else 200)


def _require_folder(ask: Ask) -> Any:
    folder = ask.dashboard.options.folder
    if folder is None:
        raise NotFoundError(
            "studies are not created here: start the service with --folder, or use tacit study "
            "create."
        )
    return folder


PAGES = [
    Page("GET", "/new", show, scope="operate"),
    Page("POST", "/new", review, scope="operate", form=True),
    Page("POST", "/new/create", create, scope="operate", form=True),
    Page("GET", "/jobs/{job}", follow, scope="operate"),
]
