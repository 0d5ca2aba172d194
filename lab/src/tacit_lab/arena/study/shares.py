"""Shares of uniform play's loss, averaged over what all of those who are compared have played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from tacit_lab.arena.selection import Selection
from tacit_lab.arena.statistics import Interval, Key, Value, error_share, interval, paired

Seeds = dict[int, float]


def shared_means(
    selection: Selection, keys: Mapping[str, Sequence[Key]], value: Value = error_share
) -> dict[str, Seeds]:
    """For each label, by seed, the mean over the places in its list of keys. Only those places and
    seeds count that all labels have, so that differences are paired."""
    rows = selection.cells.rows
    found: dict[str, defaultdict[int, list[float]]] = {label: defaultdict(list) for label in keys}
    for together in zip(*keys.values(), strict=True):
        seeds = set.intersection(*(set(rows.get(key, {})) for key in together))
        for label, key in zip(keys, together, strict=True):
            for seed in seeds:
                found[label][seed].append(value(rows[key][seed]))
    return {
        label: {seed: float(np.mean(values)) for seed, values in sorted(by_seed.items())}
        for label, by_seed in found.items()
    }


def mean(seeds: Seeds) -> Interval:
    return interval(list(seeds.values()))


def difference(a: Seeds, b: Seeds) -> Interval:
    return paired(a, b)


def places(means: Mapping[str, Seeds]) -> bool:
    """Whether there is anything that all of them have."""
    return all(means.values()) and bool(means)
