"""A policy as one file: the two files of its folder in a zip archive, the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.policy.loading import load

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that zip knows
MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Released:
    """A released policy: the name of its law, and what can be fetched of it."""

    name: str
    policy: Any

    @cached_property
    def archive(self) -> bytes:
        return packed(self.policy)

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.archive).hexdigest()[:32]}"'


def packed(policy: Any) -> bytes:
    """The files of a policy, as an archive."""
    target = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(target, "w") as archive:
        policy.save(folder)
        for path in sorted(Path(folder).iterdir()):
            about = zipfile.ZipInfo(path.name, EPOCH)
            archive.writestr(about, path.read_bytes(), zipfile.ZIP_STORED)
    return target.getvalue()


def unpacked(content: bytes, kernel: Any = None) -> Any:
    """The policy of an archive."""
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            zipfile.ZipFile(io.BytesIO(content)) as archive,
        ):
            _require_plain(archive)
            archive.extractall(folder)
            return load(folder, kernel=kernel)
    except zipfile.BadZipFile:
        raise InputError("this is no archive of a policy: it is damaged.") from None


def _require_plain(archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    size = sum(info.file_size for info in archive.infolist())
    if size > MOST_BYTES or any("/" in name or "\\" in name for name in names):
        raise InputError("this is no archive of a policy: it holds other files.")
