"""What all tests share: reproducible property tests, laws whose asserts explain themselves,
databases in files that do not wait for the disk, and commands that are built once."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator

import pytest
from hypothesis import settings

from helpers import (
    COARSE,
    COARSE_TUNING,
    build_commands_once,
    do_not_wait_for_the_disk,
)

pytest.register_assert_rewrite("laws")
settings.register_profile("tacit", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("tacit")
do_not_wait_for_the_disk()
build_commands_once()


@pytest.fixture
def coarse_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `tau` from fewer points, which takes a fifth of the time of a small design: for tests to
    which it does not matter how accurate a policy is."""
    for name, value in COARSE_TUNING.items():
        monkeypatch.setattr(name, value)


@pytest.fixture(scope="module")
def coarse_fits() -> Iterator[None]:
    """Everything coarse, for a whole module and its fixtures, where it does not matter how accurate
    a policy is: a small fit takes half of its time."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in COARSE.items():
            monkeypatch.setattr(name, value)
        yield


SHIPPED = {name: pkgutil.resolve_name(name) for name in COARSE}


@pytest.fixture
def shipped_fits(coarse_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test to which accuracy does matter, in a module whose fits are coarse: the numbers of
    the library as they are."""
    for name, value in SHIPPED.items():
        monkeypatch.setattr(name, value)
