"""Where the heavy work is done: NumPy by default, any library of the Python array API on request.

Kernels, design and statistic ask an engine for arrays and never for a library by name.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import array_api_compat
import array_api_compat.numpy
import numpy as np
from threadpoolctl import threadpool_limits

from tacit._typing import Array, Floats
from tacit.errors import InputError, MissingExtraError

T = TypeVar("T")
R = TypeVar("R")
# rows per product: what fits a cache, and what fills a GPU
CPU_ROWS = 512
GPU_ROWS = 65_536


@dataclass(frozen=True)
class Engine:
    """An array library and a device. `rows` is the height of every block of records, always the
    same."""

    xp: Any
    device: Any = None
    rows: int = CPU_ROWS

    def put(self, array: Any) -> Array:
        """Float64 on this engine; what is there already stays."""
        return self.xp.asarray(array, dtype=self.xp.float64, device=self.device)

    def fused(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function with its elementwise work in few passes, where the library can."""
        return _compiled(function) if str(self.device).startswith("cuda") else function

    def share(self, work: Callable[[list[T]], R], items: list[T]) -> list[R]:
        """`work` on all items: on NumPy in as many threads as there are cores, each with a like
        share of them.

        Products of blocks are small, so threads that each do whole blocks waste less than threads
        inside a product.
        """
        count = min(cores(), len(items) // 4) if self.device is None else 1
        if count <= 1:
            return [work(items)]
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, [items[i::count] for i in range(count)]))


def cores() -> int:
    """How many this process may use; OMP_NUM_THREADS, which clusters set for their tasks, may say
    fewer."""
    there = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(there, int(asked)) if asked.isdecimal() and int(asked) else there


NUMPY = Engine(array_api_compat.numpy)


def engine(device: str | Engine | None) -> Engine:
    """None: NumPy. "cpu", "cuda", "cuda:1": PyTorch on that device."""
    if device is None:
        return NUMPY
    if isinstance(device, Engine):
        return device
    try:
        import torch
    except ImportError:
        raise MissingExtraError(f"device {device!r} needs PyTorch: install tacit[torch].") from None
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(
            f"device {device!r} is not there: pass 'cuda', 'cpu', or leave it out."
        ) from None
    import array_api_compat.torch as xp

    logging.getLogger("torch._dynamo").setLevel(
        logging.ERROR
    )  # that a block is looked at is no news
    return Engine(xp, torch.device(device), CPU_ROWS if str(device).startswith("cpu") else GPU_ROWS)


def to_numpy(array: Array) -> Floats:
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


@lru_cache(maxsize=64)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    with warnings.catch_warnings():  # the compiler's remarks on its own parts
        warnings.simplefilter("ignore")
        compiled = torch.compile(function, dynamic=False)

    def quiet(*arguments: Any) -> Any:
        with warnings.catch_warnings():  # and on how it reads caches
            warnings.simplefilter("ignore")
            return compiled(*arguments)

    return quiet
