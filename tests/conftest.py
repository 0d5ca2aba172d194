"""What all tests share: reproducible property tests, and laws whose asserts explain themselves."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("laws")
settings.register_profile("tacit", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("tacit")


@pytest.fixture
def coarse_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `tau` from fewer points, which takes a fifth of the time of a small design: for tests to
    which it does not matter how accurate a policy is."""
    monkeypatch.setattr("tacit.design.choices.COARSE_RANK", 30)
    monkeypatch.setattr("tacit.design.choices.TUNING_POINTS", 512)
