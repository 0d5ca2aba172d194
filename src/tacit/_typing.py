"""Names of types that the whole package shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any  # of whatever library an engine computes with
Floats = NDArray[np.float64]
Rng = np.random.Generator
