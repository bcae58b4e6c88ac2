# SPDX-License-Identifier: Apache-2.0
"""`--unsnarl-html DIR`: a page for every hunted test that failed."""

from __future__ import annotations

import re
from pathlib import Path

from unsnarl.errors import UnsnarlError
from unsnarl.workflows.page import html_report


def write_page(folder: Path, test: str, campaign: str) -> str:
    """Write the page of a test's hunt; gives what to say of it.

    The answer is in the test's report already: what goes wrong here costs the page only.
    """
    file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', test)}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(html_report(campaign=campaign))
    except (OSError, UnsnarlError) as error:
        return f"no page: {error}"
    return f"page: {file}"
