"""Makes a study from a form: the same problem file and the same study as the command line."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tacit.design import DesignOptions
from tacit.domains import Mixed
from tacit.errors import InputError
from tacit.logs import read_problem
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.report.provenance import toml_lines
from tacit.study import Study
from tacit.typed import read_baseline, read_epochs, read_wait

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST = 100  # letters of a name or label


@dataclass(frozen=True)
class Wanted:
    """A study as a form says it: names to ranges or labels, and what the command line takes as
    options."""

    name: str
    actions: dict[str, Any]
    contexts: dict[str, Any]
    reward_range: tuple[float, float]
    rounds: int
    epsilon: float
    delta: float
    epochs: str = "1"
    explore: float = 0.05
    exploit: float = 0.0
    control: float = 0.0
    baseline: tuple[str, ...] = ()
    wait: str = "0"
    user: bool = False
    rank: int | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError(
                "a study has a name of 1 to 64 letters, digits, - and _: type one, such as dosing."
            )
        if self.rounds < 10:
            raise InputError(f"a study has 10 rounds or more, got {self.rounds}.")

    @property
    def problem(self) -> Problem:
        """Checked as any problem is."""
        low, high = self.reward_range
        return Problem(
            actions=_domain(self.actions, "actions"),
            contexts=_domain(self.contexts, "contexts"),
            reward_range=(low, high),
        )

    @property
    def toml(self) -> str:
        """The problem file."""
        spec = dict(self.problem.spec())
        del spec["kernel"]  # the default one
        tables: dict[str, Any] = {"horizon": self.rounds}
        if self.user:
            tables["user"] = "user"
        tables |= spec
        tables["budget"] = {"epsilon": self.epsilon, "delta": self.delta}
        return "\n".join([f"# {self.name}: made by the form.", *toml_lines(tables, most=None), ""])

    @property
    def command(self) -> str:
        """What makes the same study on a command line."""
        said = ["tacit", "study", "create", f"sqlite:///{self.name}.db", f"{self.name}.toml"]
        said += ["--epochs", self.epochs] if self.epochs != "1" else []
        for name, value, usual in (
            ("explore", self.explore, 0.05),
            ("exploit", self.exploit, 0.0),
            ("control", self.control, 0.0),
        ):
            said += [f"--{name}", f"{value:g}"] if value != usual else []
        for pair in self.baseline:
            said += ["--baseline", pair]
        said += ["--wait", self.wait] if self.wait != "0" else []
        said += ["--rank", str(self.rank)] if self.rank is not None else []
        return shlex.join(said)

    def check(self) -> None:
        """Fails if the study cannot be made, as far as can be told without designing it."""
        actions = self.problem.actions
        read_epochs(self.epochs)
        read_wait(self.wait)
        if self.control and not self.baseline:
            raise InputError("a control share plays a baseline: type the action that is usual now.")
        read_baseline(list(self.baseline), actions, "the baseline")

    def job(self, folder: Path) -> dict[str, Any]:
        """For the studio."""
        options = asdict(self)
        for name in ("actions", "contexts", "reward_range", "more"):
            del options[name]
        return {"kind": "create", "folder": str(folder), "toml": self.toml, "options": options}


def make_study(job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Writes the problem file and the study beside each other. Spends nothing."""
    options = job["options"]
    folder = Path(job["folder"])
    file = folder / f"{options['name']}.toml"
    database = folder / f"{options['name']}.db"
    if file.exists() or database.exists():
        raise InputError(f"there is a study {options['name']} already: choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{database}"
    try:
        file.write_text(job["toml"], encoding="utf-8")
        spec = read_problem(file)
        assert spec.horizon is not None
        assert spec.budget is not None
        Study.create(
            url,
            spec.problem,
            horizon=spec.horizon,
            budget=spec.budget,
            unit="user" if options["user"] else "record",
            options=DesignOptions(rank=options["rank"]),
            epochs=read_epochs(options["epochs"]),
            explore=options["explore"],
            exploit=options["exploit"],
            control=options["control"],
            baseline=read_baseline(options["baseline"], spec.problem.actions, "the baseline"),
            wait=read_wait(options["wait"]),
            progress=progress,
        )
    except BaseException:
        file.unlink(missing_ok=True)  # nothing was made: the name is free again
        for end in ("", "-wal", "-shm"):
            Path(f"{database}{end}").unlink(missing_ok=True)
        raise
    os.chmod(file, 0o600)
    return {"name": options["name"], "url": url}


def _domain(columns: dict[str, Any], what: str) -> Any:
    if not columns:
        raise InputError(f"a study has {what}: name one at least, with its range or its labels.")
    mixed = Mixed.of(columns)
    return mixed.parts[0] if len(mixed.parts) == 1 else mixed
