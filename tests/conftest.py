"""What all tests share: reproducible property tests, laws whose asserts explain themselves, and
databases in files that do not wait for the disk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from helpers import do_not_wait_for_the_disk

pytest.register_assert_rewrite("laws")
settings.register_profile("tacit", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("tacit")
do_not_wait_for_the_disk()


def tune_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.design.choices.COARSE_RANK", 30)
    monkeypatch.setattr("tacit.design.choices.TUNING_POINTS", 512)


@pytest.fixture
def coarse_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `tau` from fewer points, which takes a fifth of the time of a small design: for tests to
    which it does not matter how accurate a policy is."""
    tune_coarsely(monkeypatch)


@pytest.fixture(scope="module")
def coarse_fits() -> Iterator[None]:
    """For a whole module and its fixtures, in which it does not matter how accurate a policy is:
    `tau` and the laws of contexts and residuals from fewer points, hyperparameters from fewer
    steps. A small fit takes half of its time."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        tune_coarsely(monkeypatch)
        monkeypatch.setattr("tacit.decoder.evidence.STEPS", 8)
        monkeypatch.setattr("tacit.decoder.evidence.FEW_STEPS", 4)
        monkeypatch.setattr("tacit.decoder.context_law.POINTS", 4096)
        monkeypatch.setattr("tacit.design.building.GENERATOR_SAMPLE", 2048)
        monkeypatch.setattr("tacit.residual.refine.POINTS", 1024)
        monkeypatch.setattr("tacit.residual.expected.POINTS", 1024)
        yield
