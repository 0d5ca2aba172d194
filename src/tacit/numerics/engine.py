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
# Rows of one matrix product: what fits into a cache, and what fills a GPU.
CPU_ROWS = 512
GPU_ROWS = 65_536


@dataclass(frozen=True)
class Engine:
    """An array library and a device. Every block of records has `rows` rows, padded if need be."""

    xp: Any
    device: Any = None
    rows: int = CPU_ROWS

    def put(self, array: Any) -> Array:
        """The array as float64 on this engine; one that is there already is not copied."""
        if self.xp is array_api_compat.numpy:
            return np.asarray(array, dtype=np.float64)  # the wrapper of the array API takes longer
        return self.xp.asarray(array, dtype=self.xp.float64, device=self.device)

    def fused(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, compiled on a GPU so that elementwise work takes fewer passes over
        memory."""
        if str(self.device).startswith("cuda"):
            return _compiled(function)
        return function

    def parallel(self, work: Callable[[list[T]], R], items: list[T]) -> list[R]:
        """The results of `work` on parts of `items`: on NumPy one part for each of as many threads
        as there are cores, elsewhere all items in one part.

        Products of blocks are small, so threads that each do whole blocks waste less than threads
        inside a product.
        """
        count = 1
        if self.device is None:
            count = min(cores(), len(items) // 4)
        if count <= 1:
            return [work(items)]
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, [items[i::count] for i in range(count)]))


def cores() -> int:
    """How many cores this process may use. OMP_NUM_THREADS, which clusters set for their tasks, can
    lower the number."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return min(available, int(asked))
    return available


NUMPY = Engine(array_api_compat.numpy)


def engine(device: str | Engine | None) -> Engine:
    """The engine of a device: NumPy for None; PyTorch for "cpu", "cuda" or "cuda:1"."""
    if device is None:
        return NUMPY
    if isinstance(device, Engine):
        return device
    try:
        import torch
    except ImportError:
        raise MissingExtraError.of(f"devices such as {device!r}", "PyTorch", "torch") from None
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(
            f"device {device!r} is not there: pass 'cuda', 'cpu', or leave it out."
        ) from None
    import array_api_compat.torch as xp

    # The compiler would log each place where a value decides what is done next.
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    rows = CPU_ROWS if str(device).startswith("cpu") else GPU_ROWS
    return Engine(xp, torch.device(device), rows)


def to_numpy(array: Array) -> Floats:
    if hasattr(array, "cpu"):  # PyTorch, perhaps on a GPU
        array = array.cpu()
    return np.asarray(array)


@lru_cache(maxsize=64)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    # The compiler warns about its own parts, here and when the function is first called.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(function, dynamic=False)

    def quiet(*arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compiled(*arguments)

    return quiet
