"""`tacit study` for studies that go on in epochs: advance, history, extend, export."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tacit.cli.console import Json, emit, err, out, progress, say_health, table
from tacit.cli.epoch_options import Baseline, read_baseline, read_epochs
from tacit.cli.options import Overwrite, StudyUrl, save_released
from tacit.errors import InputError, StateError

if TYPE_CHECKING:
    from tacit.epochs import EpochPlay
    from tacit.study import Epoch, EpochStudy

NOTHING_RELEASED = 3  # the exit code of `tacit study advance` where something is missing
ONE_EPOCH = "each person counts in one epoch"

# -- what is shown ---------------------------------------------------------------------------------


def about_epochs(study: EpochStudy) -> dict[str, Any]:
    """The present epoch for machines. Nothing here depends on which rewards came."""
    present = study.present
    return {
        "epoch_asked": present.asked,
        "epoch_size": present.size,
        "epoch_stage": present.stage,
        "epoch_kind": present.kind,
        "measured": _measured(study),
        "sizes": study.sizes,
        "advance_waits_for": study.missing,
        "play": asdict(study.play.shares) | {"learn": study.play.shares.learn},
        "baseline": _baseline(study.play),
        "wait_seconds": study.wait.total_seconds(),
        "counted": ONE_EPOCH,
    }


def show_epochs(study: EpochStudy) -> None:
    """Where a study in epochs stands, as a table."""
    state = study.state
    present = study.present
    missing = study.missing
    whom = "one user, with all of their rounds" if state.unit == "user" else "one round"
    spent = f"{state.spent_text}; {ONE_EPOCH}" if state.spent else "nothing"
    rows = [
        ["state", state.stage + (" (validation)" if present.kind == "validation" else "")],
        ["rounds of this epoch", f"{present.asked:,} of {present.size:,} asked"],
        ["rounds of the study", f"{state.asked:,} of {state.horizon:,} asked"],
        ["play", present.play],
    ]
    if study.play.baseline is not None:
        rows.append(["control plays", str(_baseline(study.play))])
    measured = _measured(study)
    if measured:
        rows.append(["measured", measured])
    rows += [
        ["advance", f"waits: {missing}" if missing else "would release this epoch now"],
        ["every release spends", state.release_budget],
        ["spent, per person", spent],
        ["protects", f"{whom}; {ONE_EPOCH}"],
    ]
    table("Study in epochs", ["", ""], rows)


def _measured(study: EpochStudy) -> str | None:
    """What was found out about the latest policy that was measured, as a sentence: by the epoch
    that tells it best."""
    told = [(epoch.gain or epoch.policy_value, epoch) for epoch in study.history]
    known = [
        (epoch.policy_epoch or 0, -estimate.half_width, epoch.answer)
        for estimate, epoch in told
        if estimate is not None and epoch.answer
    ]
    return max(known)[-1] if known else None


def _baseline(play: EpochPlay) -> str | None:
    from tacit.study.baselines import named_baseline

    return named_baseline(play.baseline)


# -- commands --------------------------------------------------------------------------------------


def advance(
    url: StudyUrl,
    early: Annotated[
        bool, typer.Option("--early", help="Close the epoch although rounds of it are missing.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--out", help="A folder to write the latest policy to.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """SPEND the budget of the present epoch, release its policy and open the next epoch.

    It does so once all rounds of the epoch were asked and its rewards were waited for. Otherwise it
    says what is missing, spends nothing and exits with code 3, so that it may be run every hour.
    Code 0 means that an epoch was released, and code 2 an error.

        tacit study advance sqlite:///study.db --out policy/

    Every epoch spends the whole budget: each person counts in one epoch. With --early an epoch is
    closed that is not full; the rounds that it lacks are lost. It may be stopped anywhere and run
    again: what was released stays released, and nothing is charged twice.

    The folder of --out gets the latest policy, also where nothing is released now. It must be new
    or empty, or hold a policy of this study, which is replaced; other ones with --overwrite only.
    """
    study = _open(url)
    if to is not None:
        _require_folder(study, to, overwrite)
    if study.finished:
        _say_missing(study, to, "all epochs were released: go on with tacit study extend", json)
    with progress(json, rate="rounds") as bars:
        done = study.advance(early=early, progress=bars)
    if not done.advanced:
        _say_missing(study, to, f"epoch {done.epoch}: {done.missing}", json)
    released = next(epoch for epoch in reversed(study.history) if epoch.stage == "released")
    policy = study.policy_of(released.number)
    if to is not None:
        save_released(policy, to)
    say_health(policy)
    opened = None if done.finished else study.present
    if json:
        emit(
            {
                "advanced": True,
                "released": released.to_json(),
                "opened": None if opened is None else opened.to_json(),
                "finished": done.finished,
                "policy": None if to is None else str(to),
            }
            | asdict(policy.guarantee)
            | {"health": policy.health().to_json()}
        )
        return
    out.print(f"[bold]Epoch {released.number} was released[/bold]  ({released.size:,} rounds)")
    if released.kind == "learning":
        out.print(
            f"Mean reward of its rounds {_mean(released)}; its policy expects {_expected(released)}"
        )
    if released.answer:
        out.print(f"Measured: {released.answer}", soft_wrap=True)
    out.print(f"Guarantee: {policy.guarantee}", soft_wrap=True)
    if to is not None:
        out.print(f"Policy written to {to}", soft_wrap=True)
    if opened is None:
        out.print("This was the last epoch: go on with tacit study extend.")
    else:
        out.print(f"Epoch {opened.number} is open: {opened.size:,} rounds, {opened.play}")


def history(url: StudyUrl, json: Json = False) -> None:
    """Show what became of every epoch. Free: public and released numbers only.

    The mean reward is that of the epoch's rounds, however they were played, with the standard
    deviation of privacy noise and sampling. "Expected" is what the policy of the epoch expects of
    its own decisions. Drift is how much the reward function changed since the epoch before, from 0
    to 1.

    Where epochs have exploit or control rounds, a second table says what these earned: the policy
    of an epoch before, as it was played in this one, and the baseline, with 95 % intervals.

        tacit study history sqlite:///study.db
    """
    epochs = _open(url).history
    if json:
        emit({"epochs": [epoch.to_json() for epoch in epochs]})
        return
    columns = ["epoch", "state", "rounds", "play", "mean reward", "expected"]
    rows = [
        [
            str(epoch.number),
            epoch.stage,
            f"{epoch.asked:,} of {epoch.size:,}",
            epoch.play,
            _mean(epoch),
            _expected(epoch),
        ]
        for epoch in epochs
    ]
    if any(epoch.drift is not None for epoch in epochs):
        columns.append("drift")
        for row, epoch in zip(rows, epochs, strict=True):
            row.append("" if epoch.drift is None else f"{epoch.drift:.2f}")
    table("Epochs", columns, rows)
    arms = [epoch for epoch in epochs if epoch.policy_value or epoch.baseline_value]
    if arms:
        _show_arms(arms)


def _show_arms(epochs: list[Epoch]) -> None:
    """What the exploit and control rounds of epochs earned, and the difference in words."""
    rows = [
        [
            str(epoch.number) + (" (validation)" if epoch.kind == "validation" else ""),
            "" if epoch.policy_epoch is None else f"epoch {epoch.policy_epoch}",
            "" if epoch.policy_value is None else str(epoch.policy_value),
            "" if epoch.baseline_value is None else str(epoch.baseline_value),
            "" if epoch.gain is None else str(epoch.gain),
        ]
        for epoch in epochs
    ]
    columns = ["epoch", "policy of", "the policy earns", "the baseline earns", "gain"]
    table("Measured, with 95 % intervals", columns, rows)
    for epoch in epochs:
        if epoch.answer:
            out.print(f"Epoch {epoch.number}: {epoch.answer}", soft_wrap=True)


def extend(
    url: StudyUrl,
    rounds: Annotated[int, typer.Option(help="How many rounds to add.")],
    epochs: Annotated[
        str, typer.Option(help="In how many further epochs, or their sizes: 5000,5000.")
    ] = "1",
    json: Json = False,
) -> None:
    """Add rounds to a study in epochs, in further epochs. Spends nothing.

    The new epochs have people of their own, so each may spend the whole budget as before. If the
    last epoch was released already, the next one is opened now.

        tacit study extend sqlite:///study.db --rounds 20000 --epochs 2
    """
    study = _open(url)
    with progress(json) as bars:
        study.extend(rounds=rounds, epochs=read_epochs(epochs), progress=bars)
    if json:
        emit(asdict(study.state) | about_epochs(study))
        return
    show_epochs(study)


def validate(
    url: StudyUrl,
    rounds: Annotated[
        int, typer.Option(help="How many rounds; tacit plan --detect says how many it takes.")
    ] = 2000,
    baseline: Baseline = None,
    split: Annotated[
        float, typer.Option(help="The share of the rounds that the policy plays.")
    ] = 0.5,
    json: Json = False,
) -> None:
    """Plan a validation epoch: fresh people, the policy against a baseline. Spends nothing yet.

    It follows the present epoch, or opens now if the last one was released. Each of its
    rounds is given at random to the policy or to the baseline; the study's own one if none is
    typed. It is filled and waited for like any epoch. `tacit study advance` then SPENDS the whole
    budget of these people on the two mean rewards and their difference, and `tacit study history`
    shows them. The policy stays the same, and learning goes on after it.

        tacit study validate sqlite:///study.db --rounds 2000 --baseline dose=30
    """
    study = _open(url)
    action = read_baseline(baseline or [], study.problem.actions)
    with progress(json) as bars:
        number = study.validate(rounds=rounds, baseline=action, split=split, progress=bars)
    if json:
        emit(asdict(study.state) | about_epochs(study) | {"validation_epoch": number})
        return
    out.print(f"Epoch {number} compares the policy with the baseline: {rounds:,} rounds.")
    show_epochs(study)


def export(
    url: StudyUrl,
    to: Annotated[Path, typer.Option("--out", help="The Parquet file to write; it must be new.")],
    json: Json = False,
) -> None:
    """Write the rounds of closed epochs to a Parquet file. The file is PRIVATE: raw records.

    It holds contexts, actions, rewards and propensities as they are, without any noise, for the
    owner of the study. Only you can read it; keep it as you keep the study's database.

        tacit study export sqlite:///study.db --out rounds.parquet

        tacit fit problem.toml rounds.parquet --propensity propensity --out other/

    What such a fit spends, it spends on the same people: it adds to what the study spent. The
    problem file must not say in a `play` table that the log was played some other way.
    """
    study = _open(url)
    path = study.export(to)
    if json:
        emit({"file": str(path), "private": True})
        return
    out.print(f"[bold]Rounds written to {path}[/bold]", soft_wrap=True)
    err.print(
        "This file is PRIVATE: raw records without noise. What is fitted to it spends a budget on "
        "people on whom this study has spent one.",
        soft_wrap=True,
    )


def _open(url: str) -> EpochStudy:
    from tacit.study import EpochStudy, Study

    study = Study.open(url)
    if not isinstance(study, EpochStudy):
        raise StateError(
            "this study has no epochs: release it with tacit study release, or create one with "
            "--epochs."
        )
    return study


def _require_folder(study: EpochStudy, to: Path, overwrite: bool) -> None:
    """Fails unless the folder is new or empty, or holds a policy that may be replaced: before
    anything is spent."""
    from tacit.policy import require_writable
    from tacit.policy.folders import read_text

    held = None
    with suppress(InputError):
        held = read_text(to).get("receipt")
    numbers = [epoch.number for epoch in study.history if epoch.stage == "released"]
    own = held is not None and held in [study.policy_of(number).receipt for number in numbers]
    require_writable(to, overwrite or own)


def _say_missing(study: EpochStudy, to: Path | None, missing: str, json: bool) -> NoReturn:
    """Says why nothing was released, and writes the latest policy, if there is one."""
    saved = to is not None and study.receipt is not None
    if saved:
        assert to is not None
        save_released(study.policy, to)
    if json:
        emit(
            {
                "advanced": False,
                "missing": missing,
                "finished": study.finished,
                "policy": str(to) if saved else None,
            }
        )
    else:
        out.print(f"Nothing was released: {missing}", soft_wrap=True)
        if saved:
            out.print(f"The latest policy was written to {to}", soft_wrap=True)
    raise typer.Exit(NOTHING_RELEASED)


def _mean(epoch: Epoch) -> str:
    if epoch.mean_reward is None:
        return ""
    return f"{epoch.mean_reward:.3g} ± {epoch.mean_reward_std:.2g}"


def _expected(epoch: Epoch) -> str:
    return "" if epoch.expected is None else f"{epoch.expected:.3g}"
