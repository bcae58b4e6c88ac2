# SPDX-License-Identifier: Apache-2.0
"""Try somebody's patch without writing it: the stored proof is replayed, then hunted afresh."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.workflows.progress import OnProgress, ignore
from unsnarl.workflows.unified_diff import apply_diff
from unsnarl.workflows.verify import VerifyResult, verify


def try_patch(
    diff: str,
    campaign: str = "",
    flags: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress = ignore,
) -> VerifyResult:
    """Verify a campaign with a patched copy of its files, which stay as they are.

    Args:
        diff: Unified, with paths from the project's root or the folder of the campaign.
        flags: As for `verify`.
    """
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        if store.target().kind == "program":
            raise UsageError(
                "bad-argument",
                "the patch of a compiled program cannot be tried in its stead",
                "apply it, build the program again, then: unsnarl verify",
            )
        description = store.description
    finally:
        store.close()
    patched = _patched(diff, Path(description.root), Path(description.cwd))
    folder = Path(tempfile.mkdtemp(prefix="unsnarl-patch-"))
    try:
        overlay = [(str(path), str(_written(folder, path, new))) for path, new in patched.items()]
        return verify(store.name, flags, on_progress=on_progress, overlay=tuple(overlay))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _patched(diff: str, root: Path, cwd: Path) -> dict[Path, str]:
    try:
        return apply_diff(diff, root)
    except UsageError:
        if root == cwd:
            raise
        return apply_diff(diff, cwd)


def _written(folder: Path, path: Path, text: str) -> Path:
    copy = folder / f"{len(list(folder.iterdir()))}-{path.name}"
    copy.write_text(text, encoding="utf-8", newline="")
    try:
        compile(text, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        text = f"{path} cannot be compiled once patched: {error}"
        raise UsageError("bad-argument", text) from None
    return copy
