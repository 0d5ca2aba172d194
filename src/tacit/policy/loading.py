"""Policies of every kind from their folders."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.policy import files, folders
from tacit.policy.blend import Blend
from tacit.policy.cautious import Cautious
from tacit.policy.policy import Policy

KINDS: dict[Any, type[Cautious] | type[Blend]] = {
    Cautious.schema: Cautious,
    Blend.schema: Blend,
}


def load(path: str | Path, *, kernel: Any = None) -> Policy | Cautious | Blend:
    """The policy in a folder, whatever its kind. `kernel` is needed only if it was made with a
    function of one's own."""
    folder = folders.as_folder(path)
    about = folders.read_text(folder)
    if not _is_derived(about):
        return Policy.load(folder, kernel=kernel)
    return _restore(folder, *folders.read_arrays(folder, about), kernel)


def _is_derived(about: dict[str, Any]) -> bool:
    schema = about.get("schema")
    return isinstance(schema, str) and schema in KINDS


def _restore(folder: Path, about: Any, content: bytes, kernel: Any) -> Policy | Cautious | Blend:
    """The inverse of `Derived.dump`, and of `files.dump`."""
    try:
        if not _is_derived(about):
            return files.restore(Policy, folder, about, content, kernel)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name].tobytes() for name in ("policy", "baseline")}
        policy = files.restore(Policy, folder, about["policy"], arrays["policy"], kernel)
        kept = about["baseline"]
        if "policy" in kept:
            baseline = _restore(folder, kept["policy"], arrays["baseline"], kernel)
        else:
            baseline = kept["action"]
        kind = KINDS[about["schema"]]
        return kind(policy, baseline, about[kind.number])
    except InputError:
        raise
    except Exception as error:  # whatever nonsense in a file makes NumPy, zip or a domain raise
        raise InputError(
            f"the policy in {folder} cannot be read ({type(error).__name__}): it is damaged, or "
            "was edited by hand."
        ) from None
