# SPDX-License-Identifier: Apache-2.0
"""The sources of Debian's programs: fetched by apt from the mirrors that the machine has, unpacked.

A mirror may lack a part of a package (its description, a patch set): other releases are asked, too,
and what is there is enough if the upstream archive is among it.
"""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

# After the machine's own release.
RELEASES = ("bookworm", "trixie", "sid")


def fetch(name: str, folder: Path) -> Path:
    """The upstream archive of a source package, in `folder`, fetched if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for release in ("", *RELEASES):
        found = sorted(folder.glob(f"{name}_*.orig.tar.*[!c]"))
        if found:
            return found[-1]
        if release:
            _apt(name, release, folder)
    raise SystemExit(f"no mirror of this machine has the source of {name}: put it into {folder}")


def _apt(name: str, release: str, folder: Path) -> None:
    """What apt can get of a package of a release, without touching the machine's own lists."""
    with tempfile.TemporaryDirectory() as scratch:
        lists, sources = Path(scratch, "lists"), Path(scratch, "sources.list")
        (lists / "partial").mkdir(parents=True)
        sources.write_text("".join(f"deb-src {site} {release} main\n" for site in _mirrors()))
        options = ["-q", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-"]
        options += ["-o", f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]
        for words in (["update"], ["source", "--download-only", name]):
            subprocess.run(
                ["apt-get", *options, *words], cwd=folder, capture_output=True, check=False
            )


def _mirrors() -> list[str]:
    """Where the machine gets its packages of Debian."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(SITE) $(REPO_URI)"]
    rows = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {row.split()[2] for row in rows if row.startswith("Debian ")}
    return sorted(uri for uri in found if "security" not in uri)


def unpack(archive: Path, folder: Path) -> Path:
    """A new copy of the source below `folder`, with Debian's patches if they were fetched."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    (source,) = [path for path in folder.iterdir() if path.is_dir()]
    name, version = archive.name.split(".orig.")[0].split("_")
    for debian in sorted(archive.parent.glob(f"{name}_{version}-*.debian.tar.*"))[-1:]:
        with tarfile.open(debian) as tar:
            tar.extractall(source, filter="tar")
        for patch in _patches(source / "debian" / "patches"):
            subprocess.run(["patch", "-p1", "-s", "-i", patch], cwd=source, check=True)
    return source


def _patches(folder: Path) -> Iterator[Path]:
    series = folder / "series"
    for line in series.read_text().splitlines() if series.exists() else ():
        if line.strip() and not line.startswith("#"):
            yield folder / line.split()[0]
