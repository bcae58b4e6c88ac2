# SPDX-License-Identifier: Apache-2.0
"""Print the requirements of dependency groups (PEP 735), for a pip that does not know them yet."""

import sys
import tomllib
from pathlib import Path


def requirements(groups: dict[str, list[object]], name: str) -> list[str]:
    """The requirement strings of one group, with the groups it includes."""
    found: list[str] = []
    for entry in groups[name]:
        if isinstance(entry, dict):
            found += requirements(groups, entry["include-group"])
        else:
            found.append(str(entry))
    return found


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text())
    for group in sys.argv[1:]:
        print("\n".join(requirements(project["dependency-groups"], group)))
