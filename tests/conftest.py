"""What all tests share: reproducible property tests, and laws whose asserts explain themselves."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("laws")
settings.register_profile("tacit", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("tacit")
