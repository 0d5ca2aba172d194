"""The folder of a policy: whole or not there, whatever crashes; wrong in any way, one sentence."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import records, small_design
from tacit import InputError, Policy
from tacit.policy import folders, require_writable
from tacit.policy.files import ARRAYS

DESIGN = small_design(horizon=300, rank=6, public_points=300)
OLD, NEW = (
    DESIGN.statistic().add(*records(300, seed)).simulate_release(np.random.default_rng(seed))
    for seed in (0, 1)
)
RECEIPT = {"ledger": "0123", "request": "fit", "number": 1}


def weights(folder: Path) -> list[float]:
    return Policy.load(folder).posterior.weights.tolist()


def is_one_of_them(folder: Path) -> bool:
    """Whether text and arrays belong together."""
    found = Policy.load(folder)
    return (found.posterior.scale, found.posterior.weights.tolist()) in [
        (each.posterior.scale, each.posterior.weights.tolist()) for each in (OLD, NEW)
    ]


# -- crashes --------------------------------------------------------------------------------------

# Saves the second policy over the first, once for every step after which the process is killed.
KILLED = """
import os, shutil, sys
from pathlib import Path
from tacit import Policy

base = Path(sys.argv[1])
new = Policy.load(base / "new")
steps = {"open", "os.rename", "os.remove", "os.listdir", "os.mkdir"}

def save_and_die(place, at):
    seen = 0
    def count(event, arguments):
        nonlocal seen
        if event in steps:
            seen += 1
            if seen == at:
                os._exit(9)
    sys.addaudithook(count)
    new.save(place)
    os._exit(0)

for kind in ("fresh", "over"):
    for at in range(1, 100):
        place = base / kind / str(at)
        if kind == "over":
            shutil.copytree(base / "old", place)
        else:
            place.parent.mkdir(exist_ok=True)
        child = os.fork()
        if not child:
            save_and_die(place, at)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            break
"""


def test_a_process_killed_at_any_step_leaves_the_old_policy_or_the_new_one(tmp_path: Path) -> None:
    OLD.save(tmp_path / "old")
    NEW.save(tmp_path / "new")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    over = sorted((tmp_path / "over").iterdir(), key=lambda place: int(place.name))
    assert len(over) > 8  # as many steps were seen
    found = [weights(place) for place in over]
    olds = found.count(weights(tmp_path / "old"))
    assert 0 < olds < len(found)
    assert found[olds:] == [weights(tmp_path / "new")] * (len(found) - olds)
    assert all(is_one_of_them(place) for place in over)
    for i in range(1, 100):
        place = tmp_path / "fresh" / str(i)
        if i > 1 and not place.exists():
            break
        if not (place / "policy.json").exists():
            with pytest.raises(InputError, match="holds no policy"):
                Policy.load(place)
        else:
            assert weights(place) == weights(tmp_path / "new")
        # What a crash left behind is in nobody's way, and is cleared by the next save.
        require_writable(place, overwrite=True)
        NEW.save(place)
        assert sorted(os.listdir(place)) == ["policy.json", "policy.npz"]


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("at", range(1, 7))
def test_an_error_at_any_step_is_one_sentence_and_the_policy_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, at: int
) -> None:
    OLD.save(tmp_path / "there")
    (tmp_path / "there" / "notes.txt").write_text("mine")
    genuine = getattr(os, call)
    calls = 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(28, "No space left on device")
        return genuine(*arguments)

    for name in ("there", "new"):
        calls = 0
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            if at > {"replace": 3, "fsync": 5}[call]:
                NEW.save(tmp_path / name)
            else:
                with pytest.raises(InputError, match="No space left on device"):
                    NEW.save(tmp_path / name)
        if (tmp_path / name).exists():
            assert is_one_of_them(tmp_path / name)
    assert (tmp_path / "there" / "notes.txt").read_text() == "mine"


def test_a_reader_finds_one_policy_or_the_other_while_they_replace_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # faster, so that more of them meet
    OLD.save(tmp_path / "policy")
    stop = threading.Event()

    def write(policy: Policy) -> None:
        while not stop.is_set():
            policy.save(tmp_path / "policy")

    writers = [threading.Thread(target=write, args=(policy,)) for policy in (OLD, NEW)]
    for writer in writers:
        writer.start()
    monkeypatch.setattr(folders, "TRIES", 100)
    try:
        assert all(is_one_of_them(tmp_path / "policy") for _ in range(60))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert is_one_of_them(tmp_path / "policy")
    assert sorted(os.listdir(tmp_path / "policy")) == ["policy.json", "policy.npz"]


def test_a_policy_of_an_earlier_version_has_no_digest_and_loads(tmp_path: Path) -> None:
    folder = OLD.save(tmp_path / "policy")
    edit(folder, lambda about: about.pop(folders.DIGEST))
    assert is_one_of_them(folder)


# -- wrong folders --------------------------------------------------------------------------------


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    about = json.loads((folder / "policy.json").read_text())
    change(about)
    (folder / "policy.json").write_text(json.dumps(about))


def put_arrays(folder: Path, content: bytes) -> None:
    """Other arrays, with the digest to match."""
    (folder / "policy.npz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edit(folder, lambda about: about.update({folders.DIGEST: digest}))


def npz(**change: Any) -> bytes:
    arrays = {name: getattr(OLD.posterior, name) for name in ARRAYS} | change
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in arrays.items() if array is not None})
    return buffer.getvalue()


def as_npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


def directory(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no arrays": (lambda f: (f / "policy.npz").unlink(), "does not belong to policy.json"),
    "cut off": (
        lambda f: (f / "policy.npz").write_bytes(npz()[:-40]),
        "does not belong to policy.json",
    ),
    "cut off, digest to match": (lambda f: put_arrays(f, npz()[:-40]), "damaged"),
    "empty": (lambda f: put_arrays(f, b""), "damaged"),
    "one array": (lambda f: put_arrays(f, as_npy()), "damaged"),
    "pickle": (
        lambda f: put_arrays(f, npz(weights=np.array([{}] * 6, dtype=object))),
        "damaged",
    ),
    "an array missing": (lambda f: put_arrays(f, npz(reduction=None)), "lacks 'reduction"),
    "wrong shape": (lambda f: put_arrays(f, npz(weights=np.zeros(5))), "array landmarks must be"),
    "a scalar": (lambda f: put_arrays(f, npz(weights=np.float64(1))), "damaged"),
    "no landmarks": (
        lambda f: put_arrays(
            f,
            npz(
                weights=np.zeros(0),
                landmarks=np.zeros((0, 3)),
                reduction=np.zeros((0, 0)),
                level_covariance=np.zeros(0),
            ),
        ),
        "must be float64 of shape",
    ),
    "text": (lambda f: put_arrays(f, npz(weights=np.array(["x"] * 6))), "array weights must be"),
    "complex": (lambda f: put_arrays(f, npz(weights=np.zeros(6, complex))), "got complex128"),
    "NaN": (lambda f: put_arrays(f, npz(weights=np.full(6, np.nan))), "is not finite"),
    "no schema": (lambda f: edit(f, lambda a: a.pop("schema")), "policy of schema None"),
    "no problem": (lambda f: edit(f, lambda a: a.pop("problem")), "lacks 'problem'"),
    "no contexts": (lambda f: edit(f, lambda a: a["problem"].pop("contexts")), "no .contexts."),
    "no guarantee": (lambda f: edit(f, lambda a: a.pop("guarantee")), "lacks 'guarantee'"),
    "no epsilon": (lambda f: edit(f, lambda a: a["guarantee"].pop("epsilon")), "damaged"),
    "epsilon is text": (
        lambda f: edit(f, lambda a: a["guarantee"].update(epsilon="1")),
        "'epsilon' must be a number",
    ),
    "epsilon is negative": (
        lambda f: edit(f, lambda a: a["guarantee"].update(epsilon=-1.0)),
        "epsilon must be at least 0",
    ),
    "private is text": (
        lambda f: edit(f, lambda a: a["guarantee"].update(private="no")),
        "'private' of its guarantee has the wrong type",
    ),
    "posterior is a list": (
        lambda f: edit(f, lambda a: a.update(posterior=[])),
        "'posterior' must be a table",
    ),
    "a level without a number": (
        lambda f: put_arrays(f, npz(level_covariance=np.full(6, np.inf))),
        "array level_covariance has an entry that is not finite",
    ),
    "level varies by less than nothing": (
        lambda f: edit(f, lambda a: a["posterior"].update(level_variance=-0.1)),
        "level_variance must not be negative",
    ),
    "no scale": (lambda f: edit(f, lambda a: a["posterior"].pop("scale")), "lacks 'scale'"),
    "scale is NaN": (
        lambda f: edit(f, lambda a: a["posterior"].update(scale=float("nan"))),
        "'scale' must be a finite number",
    ),
    "candidates are text": (
        lambda f: edit(f, lambda a: a.update(candidates="many")),
        "candidates must be a whole number",
    ),
    "a receipt of nothing": (lambda f: edit(f, lambda a: a.update(receipt={})), "lacks 'request'"),
    "usable is a number": (
        lambda f: edit(f, lambda a: a["facts"].update(usable=0.5)),
        "'usable' must be a table, got float",
    ),
    "usable without a share": (
        lambda f: edit(f, lambda a: a["facts"].update(usable={"std": 0.1})),
        "lacks 'share'",
    ),
    "usable share is text": (
        lambda f: edit(f, lambda a: a["facts"].update(usable={"share": "all", "std": 0.1})),
        "'share' must be a number, got str",
    ),
    "usable share varies by less than nothing": (
        lambda f: edit(f, lambda a: a["facts"].update(usable={"share": 1, "std": -0.1})),
        "usable share is negative",
    ),
    "a play check of another kind": (
        lambda f: edit(f, lambda a: a["facts"].update(play_check=[])),
        "'play_check' must be a table",
    ),
    "a verdict on play that is none": (
        lambda f: edit(f, lambda a: a["facts"].update(play_check={"contradicted": "no"})),
        "'contradicted' of its facts has the wrong type",
    ),
    "play is a list": (
        lambda f: edit(f, lambda a: a["facts"].update(play=["uniform"])),
        "'play' of its facts has the wrong type",
    ),
    "records are text": (
        lambda f: edit(f, lambda a: a["facts"].update(records="many")),
        "'records' of its facts has the wrong type",
    ),
    "passes are true": (
        lambda f: edit(f, lambda a: a["facts"].update(passes=True)),
        "'passes' of its facts has the wrong type",
    ),
    "a digest of another kind": (
        lambda f: edit(f, lambda a: a.update({folders.DIGEST: 3})),
        "wrong arrays_sha256",
    ),
    "a list": (lambda f: (f / "policy.json").write_text("[]"), "expected a JSON object"),
    "bytes": (lambda f: (f / "policy.json").write_bytes(b"\xff\x00"), "cannot be read as JSON"),
    "deep": (lambda f: (f / "policy.json").write_text("[" * 100_000), "cannot be read as JSON"),
    "a folder for text": (directory("policy.json"), "Is a directory"),
    "a folder for arrays": (directory("policy.npz"), "Is a directory"),
}


@pytest.mark.parametrize("name", WRONG)
def test_whatever_is_wrong_with_a_folder_is_one_sentence(tmp_path: Path, name: str) -> None:
    change, says = WRONG[name]
    folder = OLD.save(tmp_path / "policy")
    change(folder)
    with pytest.raises(InputError, match=says) as caught:
        Policy.load(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_folder_that_may_not_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = OLD.save(tmp_path / "policy")

    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(InputError, match="Permission denied"):
        Policy.load(folder)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (3, "must be a path, got int"),
        (None, "must be a path, got NoneType"),
        ("x" * 5000, "a path that can be opened"),
    ],
)
def test_a_path_that_is_none_is_one_sentence(path: Any, says: str) -> None:
    for call in (Policy.load, OLD.save):
        with pytest.raises(InputError, match=says):
            call(path)


def test_a_file_in_the_place_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="is a file: pass the folder"):
        Policy.load(tmp_path / "file")
    for name in ("file", "nowhere"):
        with pytest.raises(InputError, match="is a file: a policy is saved to a folder"):
            OLD.save(tmp_path / name)
    with pytest.raises(InputError, match="cannot be written"):
        OLD.save(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


CONTENT: dict[str, bytes] = {}


def content(name: str) -> bytes:
    if not CONTENT:
        with tempfile.TemporaryDirectory() as place:
            folder = OLD.save(Path(place) / "policy")
            CONTENT.update({path.name: path.read_bytes() for path in folder.iterdir()})
    return CONTENT[name]


@st.composite
def corrupted(draw: st.DrawFn, name: str) -> bytes:
    """Bytes of a file that are flipped, cut out, put in, or cut off."""
    data = bytearray(content(name))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "remove", "insert", "cut"]))
        if kind == "flip" and data:
            data[at] ^= draw(st.integers(1, 255))
        elif kind == "remove":
            del data[at : at + draw(st.integers(1, 40))]
        elif kind == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "cut":
            del data[at:]
    return bytes(data)


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """The text with entries deleted, or of another type, anywhere in it."""
    about = json.loads(content("policy.json"))
    odd: st.SearchStrategy[Any] = st.sampled_from(
        [None, True, -1, 0, 10**30, 1e308, "", "x", [], {}, [[]], float("nan")]
    )
    for _ in range(draw(st.integers(1, 2))):
        place = about
        while True:
            key = draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or not place[key] or draw(st.booleans()):
                break
            place = place[key]
        if draw(st.booleans()):
            del place[key]
        else:
            place[key] = draw(odd)
        if not about:
            break
    return json.dumps(about).encode()


@settings(max_examples=150, deadline=None)
@given(
    files=st.one_of(
        st.fixed_dictionaries({"policy.json": corrupted("policy.json")}),
        st.fixed_dictionaries({"policy.json": edited()}),
        st.fixed_dictionaries({"policy.npz": corrupted("policy.npz")}),
    ),
    digest=st.booleans(),
)
def test_any_corruption_loads_or_is_one_input_error(files: dict[str, bytes], digest: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("policy.json", "policy.npz"):
            (folder / name).write_bytes(files.get(name, content(name)))
        if "policy.npz" in files and not digest:
            edit(folder, lambda about: about.pop(folders.DIGEST))
        try:
            found = Policy.load(folder)
        except InputError:
            return
        assert "Policy(rank=6" in repr(found)
        assert str(found.guarantee)


# -- before anything is charged -------------------------------------------------------------------


def test_a_new_folder_an_empty_one_and_the_same_policy_are_writable(tmp_path: Path) -> None:
    require_writable(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    require_writable(tmp_path / "empty")
    assert os.listdir(tmp_path / "empty") == []
    folder = replace(OLD, receipt=RECEIPT).save(tmp_path / "policy")
    require_writable(folder, receipt=RECEIPT)
    for other in (None, RECEIPT | {"number": 2}, RECEIPT | {"ledger": "4567"}):
        with pytest.raises(InputError, match=r"holds another policy.*--overwrite"):
            require_writable(folder, receipt=other)
    require_writable(folder, overwrite=True)
    simulated = OLD.save(tmp_path / "simulated")
    with pytest.raises(InputError, match="holds another policy"):
        require_writable(simulated)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_and_a_folder_of_other_things_are_never_writable(
    tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file: choose a folder"):
        require_writable(tmp_path / "file", overwrite)
    with pytest.raises(InputError, match=r"cannot be made: .*file is a file"):
        require_writable(tmp_path / "file" / "below", overwrite)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    with pytest.raises(InputError, match="files that are no policy"):
        require_writable(tmp_path / "thesis", overwrite)
    (tmp_path / "thesis" / "policy.json").write_text('{"Version": "2012-10-17"}')
    with pytest.raises(InputError, match="files that are no policy"):
        require_writable(tmp_path / "thesis", overwrite)


def test_a_folder_that_cannot_be_written_is_seen_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any, **options: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refused)
    with pytest.raises(InputError, match="Read-only file system"):
        require_writable(tmp_path / "policy")


def test_saving_over_a_policy_leaves_other_files_alone(tmp_path: Path) -> None:
    folder = OLD.save(tmp_path / "policy")
    (folder / "report.html").write_text("mine")
    NEW.save(folder)
    assert weights(folder) == NEW.posterior.weights.tolist()
    assert sorted(os.listdir(folder)) == ["policy.json", "policy.npz", "report.html"]
