"""A private sum on disk: exact, whole or not there, for its owner alone, never released twice."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from helpers import BUDGET, records, small_design, small_problem, sqlite, user_design
from log_data import total
from tacit import InputError, Ledger, StateError, Statistic
from tacit.logs import dump, forget, load, load_about, load_design, load_partial, save_partial

DESIGN = small_design(rank=8)
USERS = user_design()
ABOUT = {"files": [["log.parquet", 1, 2, 3]], "ü": "\x00\n"}


def saved(path: Path, rows: int = 400) -> Statistic:
    statistic = DESIGN.statistic().add(*records(rows))
    save_partial(statistic, path, ABOUT)
    return statistic


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    statistic = saved(tmp_path / "p")
    partial = load_partial(DESIGN, tmp_path / "p")
    assert total(partial.statistic) == total(statistic)
    assert partial.statistic.records == 400
    assert partial.about == load_about(tmp_path / "p") == ABOUT


def test_the_design_comes_with_it_to_the_last_bit(tmp_path: Path) -> None:
    """Coins and all: another one that looks the same would round other rows otherwise."""
    saved(tmp_path / "p")
    design = load_design(small_problem(), tmp_path / "p")
    assert design.fingerprint == DESIGN.fingerprint
    assert design.facts() == DESIGN.facts()
    for name, array in DESIGN.arrays().items():
        assert np.array_equal(design.arrays()[name], array)
    more = records(300, seed=1)
    assert total(load_partial(design, tmp_path / "p").statistic.add(*more)) == total(
        DESIGN.statistic().add(*records(400)).add(*more)
    )


def test_sums_of_files_under_way_are_kept_apart(tmp_path: Path) -> None:
    parts = {
        name: DESIGN.statistic().add(*records(50, seed))
        for seed, name in enumerate(("a", "b/ü.csv"))
    }
    save_partial(DESIGN.statistic(), tmp_path / "p", {}, parts)
    loaded = load_partial(DESIGN, tmp_path / "p")
    assert loaded.statistic.records == 0
    assert {name: total(part) for name, part in loaded.parts.items()} == {
        name: total(part) for name, part in parts.items()
    }


def test_users_keep_their_rows_whatever_they_are_called(tmp_path: Path) -> None:
    names: list[Any] = [
        "ann",
        "bob\x00",
        "bob",
        "",
        None,
        "Ø" * 50,
        "\ud800",
        '"quoted"',
        7,
        7.0,
        "line\nbreak",
    ]
    users = [names[i % len(names)] for i in range(400)]
    doses, contexts, rewards = records(400)
    first = USERS.statistic().add(doses[:200], contexts[:200], rewards[:200], users=users[:200])
    save_partial(first, tmp_path / "p", {})
    loaded = load_partial(USERS, tmp_path / "p").statistic
    loaded.add(doses[200:], contexts[200:], rewards[200:], users=users[200:])
    whole = USERS.statistic().add(doses, contexts, rewards, users=users)
    assert total(loaded) == total(whole)
    assert list(loaded._sum._index) == list(whole._sum._index)  # type: ignore[attr-defined]


def test_it_is_for_its_owner_alone_even_where_others_may_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        saved(tmp_path / "p")
        (tmp_path / "p").chmod(0o644)
        saved(tmp_path / "p")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "p").stat().st_mode) == 0o600


def test_nothing_in_it_is_a_pickle(tmp_path: Path) -> None:
    saved(tmp_path / "p")
    with zipfile.ZipFile(tmp_path / "p") as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                npy.read_magic(member)
                assert not npy.read_array_header_1_0(member)[2].hasobject


def test_the_file_does_not_hold_the_sum_under_a_public_name(tmp_path: Path) -> None:
    """The notes are public, and the same for neighbours."""
    heads = []
    for seed in (0, 1):
        statistic = DESIGN.statistic().add(*records(100, seed))
        statistic._request = "same"
        save_partial(statistic, tmp_path / "p", ABOUT)
        with np.load(tmp_path / "p") as file:
            heads.append(file["head"].tobytes())
    assert heads[0] == heads[1]


def test_a_flipped_bit_is_noticed_or_does_not_matter(tmp_path: Path) -> None:
    expected = total(saved(tmp_path / "p"))
    whole = (tmp_path / "p").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at in rng.integers(len(whole), size=300):
        content = bytearray(whole)
        content[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "q").write_bytes(content)
        refused += is_refused(tmp_path / "q", expected)
    assert refused > 250


@pytest.mark.parametrize("length", [0, 1, 100, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, length: float) -> None:
    expected = total(saved(tmp_path / "p"))
    whole = (tmp_path / "p").read_bytes()
    (tmp_path / "p").write_bytes(whole[: int(length * len(whole)) if length % 1 else int(length)])
    assert is_refused(tmp_path / "p", expected)


def is_refused(path: Path, expected: list[int]) -> bool:
    try:
        design = load_design(small_problem(), path)
        assert total(load_partial(design, path).statistic) == expected
    except InputError as error:
        assert "damaged" in str(error)  # noqa: PT017
        return True
    assert np.array_equal(design.whitening, DESIGN.whitening)
    return False


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04\x95", b"PK\x03\x04"])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(InputError, match="damaged, or no checkpoint"):
        load_about(tmp_path / "p")
    with pytest.raises(InputError, match="there is no file"):
        load_about(tmp_path / "q")


def test_a_pickle_in_disguise_is_refused_unopened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "boom"),))

    np.savez(tmp_path / "p.npz", head=np.array([Bomb()], dtype=object))
    with pytest.raises(InputError, match="damaged"):
        load_about(tmp_path / "p.npz")
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"total": np.full(8, 10 * 2**24 + 1)},  # more than ten records can sum to
        {"total": np.full(8, -(2**63))},
        {"total": np.zeros(9, dtype=np.int64)},
        {"total": np.zeros(8)},
        {"records": np.array(-1)},
        {"records": np.array(1001)},
    ],
)
def test_what_no_records_can_have_summed_to_is_refused(change: dict[str, Any]) -> None:
    arrays = dump(DESIGN.statistic().add(*records(10)))
    assert load(DESIGN, arrays).records == 10
    with pytest.raises(ValueError, match="not a sum"):
        load(DESIGN, arrays | change)


def test_a_sum_of_another_design_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "p")
    with pytest.raises(InputError, match="another design"):
        load_partial(small_design(rank=8, seed=1), tmp_path / "p")


def test_a_spent_statistic_is_not_saved(tmp_path: Path) -> None:
    """Its records count elsewhere: saved, they would count twice."""
    a = DESIGN.statistic().add(*records(10))
    b = DESIGN.statistic().add(*records(10, seed=1))
    a.merge(b)
    with pytest.raises(StateError, match="spent"):
        save_partial(b, tmp_path / "p", {})
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_saving_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = total(saved(tmp_path / "p"))

    def crash(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    for step in ("os.fsync", "os.replace", "numpy.savez"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # noqa: PT012
            patch.setattr(step, crash)
            saved(tmp_path / "p", rows=100)
        assert total(load_partial(DESIGN, tmp_path / "p").statistic) == expected
        assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_what_a_kill_left_half_written_goes_with_the_next_save(tmp_path: Path) -> None:
    saved(tmp_path / "p")
    (tmp_path / ".p.abc.part").write_bytes(b"half of a private sum")
    (tmp_path / ".pp.abc.part").write_bytes(b"somebody else's")
    saved(tmp_path / "p")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".pp.abc.part", "p"]
    (tmp_path / ".p.def.part").touch()
    forget(tmp_path / "p")
    assert [path.name for path in tmp_path.iterdir()] == [".pp.abc.part"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        saved(tmp_path / "nowhere" / "p")


def test_a_copy_is_released_once(tmp_path: Path) -> None:
    """The file carries its request: whoever loads it gets the policy that is there, never a fresh
    draw."""
    ledger = Ledger.create(sqlite(tmp_path), BUDGET)
    policy = saved(tmp_path / "p").release(ledger=ledger)
    again = load_partial(DESIGN, tmp_path / "p").statistic.release(ledger=ledger)
    assert np.array_equal(policy.posterior.weights, again.posterior.weights)
    assert len(ledger.charges()) == 1
