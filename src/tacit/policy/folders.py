"""The folder of a policy: two files that are replaced together, or not at all.

`policy.json` holds the digest of the arrays that belong to it. A folder is replaced in three steps,
each of them one atomic rename:

    1. the new arrays     policy-DIGEST.npz
    2. the new text       policy.json, which names them: from here on it is the new policy
    3. the arrays' name   policy-DIGEST.npz becomes policy.npz

A reader looks for the arrays of the text that it read under both names. So it finds the old policy
or the new one, also in a folder that a crash left between two steps.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tacit.errors import InputError

TEXT = "policy.json"
ARRAYS = "policy.npz"
DIGEST = "arrays_sha256"  # the entry of policy.json that names its arrays
LEFT_BEHIND = re.compile(r"policy-[0-9a-f]{64}\.npz|\.policy-[0-9a-f]{16}\.part")
TRIES = 5  # of a reader whose folder is replaced again and again while it reads


def as_folder(path: Any) -> Path:
    """The path of a policy's folder, which need not be there."""
    try:
        folder = Path(path)
        folder.exists()
    except TypeError:
        raise InputError(
            f"the folder of a policy must be a path, got {type(path).__name__}."
        ) from None
    except (OSError, ValueError):
        raise InputError(
            f"{str(path)!r} cannot be the folder of a policy: pass a path that can be opened."
        ) from None
    return folder


# -- writing --------------------------------------------------------------------------------------


def write(folder: Path, about: dict[str, Any], arrays: bytes) -> None:
    """A new folder, or a new policy in the place of the one in this folder. Other files stay."""
    digest = hashlib.sha256(arrays).hexdigest()
    text = json.dumps(about | {DIGEST: digest}, indent=2) + "\n"
    if _in_the_way(folder):
        raise InputError(f"{folder} is a file: a policy is saved to a folder.")
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            _replace(folder, text.encode(), arrays, digest)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise InputError(
            f"{folder} cannot be written ({error.strerror}): save the policy to another folder."
        ) from None


def _replace(folder: Path, text: bytes, arrays: bytes, digest: str) -> None:
    """The three steps. Whatever earlier crashes left behind is deleted after the last of them."""
    staged = _staged(folder, digest)
    try:
        _put(staged, arrays)
        _put(folder / TEXT, text)
    except BaseException:
        # The text may name them already: its rename was done, or an earlier writer was killed.
        if _named(folder) != digest:
            staged.unlink(missing_ok=True)
        raise
    os.replace(staged, folder / ARRAYS)
    sync_folder(folder)
    for name in os.listdir(folder):
        if LEFT_BEHIND.fullmatch(name):
            (folder / name).unlink(missing_ok=True)


def _staged(folder: Path, digest: str) -> Path:
    return folder / f"policy-{digest}.npz"


def _named(folder: Path) -> Any:
    """The digest in the text that is there."""
    with suppress(InputError):
        return read_text(folder).get(DIGEST)
    return None


def _put(path: Path, content: bytes) -> None:
    """A file beside it, written through to the disk, then put in its place."""
    part = path.parent / f".policy-{secrets.token_hex(8)}.part"
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder through to the disk: that of a file that was put there, say."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time, where the system can lock folders."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # which unlocks it


# -- reading --------------------------------------------------------------------------------------


def read_text(folder: Path) -> dict[str, Any]:
    """What `policy.json` says."""
    path = folder / TEXT
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: pass the folder that Policy.save wrote.")
    try:
        about = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{folder} holds no policy: expected a folder written by Policy.save."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read as JSON ({type(error).__name__}): was it edited by hand?"
        ) from None
    if not isinstance(about, dict):
        raise InputError(f"{path} is not a policy description: expected a JSON object.")
    return about


def read_arrays(folder: Path, about: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The bytes of the arrays that belong to this text, and the text: that of a later policy if
    the folder was replaced in the meantime."""
    for _ in range(TRIES):
        found = _arrays_of(folder, about)
        if found is not None:
            return about, found
        about = read_text(folder)
    raise InputError(
        f"{folder / ARRAYS} does not belong to {TEXT}: it is damaged, or one of the two was copied "
        "alone; copy the whole folder, or release again, which is free for the same request."
    )


def _arrays_of(folder: Path, about: dict[str, Any]) -> bytes | None:
    digest = about.get(DIGEST)
    if digest is None:  # a policy of an earlier version, whose arrays go by their name alone
        content = _content(folder / ARRAYS)
        if content is None:
            raise InputError(f"{folder} holds no {ARRAYS}: copy the whole folder of the policy.")
        return content
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise InputError(f"{folder / TEXT} has a wrong {DIGEST}: was it edited by hand?")
    for path in (folder / ARRAYS, _staged(folder, digest)):
        content = _content(path)
        if content is not None and hashlib.sha256(content).hexdigest() == digest:
            return content
    return None


def _content(path: Path) -> bytes | None:
    """None where there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None


# -- before anything is charged -------------------------------------------------------------------


def require_writable(
    path: str | Path, overwrite: bool = False, receipt: dict[str, Any] | None = None
) -> None:
    """Fails unless a policy can be saved to this folder, for commands that are about to spend.

    The folder must be new or empty. It may hold a policy if that is to be overwritten, or if it has
    this `receipt`: that of the policy to be saved, where that was released before. A folder with
    other files and no policy is refused in any case.
    """
    folder = as_folder(path)
    if _in_the_way(folder):
        raise InputError(f"{folder} is a file: choose a folder that is new or empty.")
    try:
        entries = os.listdir(folder) if folder.is_dir() else []
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read ({error.strerror}): choose a folder that is new or empty."
        ) from None
    if any(not LEFT_BEHIND.fullmatch(name) for name in entries):
        _require_replaceable(folder, overwrite, receipt)
    probe_folder(folder)


def _require_replaceable(folder: Path, overwrite: bool, receipt: dict[str, Any] | None) -> None:
    about: dict[str, Any] = {}
    with suppress(InputError):
        about = read_text(folder)
    if not {"schema", "tacit", "guarantee"} <= set(about):
        raise InputError(
            f"{folder} holds files that are no policy: choose a folder that is new or empty."
        )
    same = receipt is not None and about.get("receipt") == receipt
    if not (overwrite or same):
        raise InputError(
            f"{folder} holds another policy: choose a folder that is new or empty, or pass "
            "--overwrite to replace the policy in it."
        )


def probe_folder(folder: Path) -> None:
    """Fails unless files can be made in this folder, or the folder itself, if it is not there.
    Leaves nothing behind."""
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"{folder} cannot be made: {there} is a file.")
    try:
        with tempfile.TemporaryDirectory(prefix=".tacit-", dir=there):
            pass
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror}): choose another place."
        ) from None


def _in_the_way(folder: Path) -> bool:
    """Whether there is something else by this name: a file, or a link to nowhere."""
    return (folder.exists() or folder.is_symlink()) and not folder.is_dir()
