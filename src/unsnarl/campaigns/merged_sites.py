# SPDX-License-Identifier: Apache-2.0
"""One list of sites for the runs of several shards.

Machines with the same code and the same Python give the same ids, but for code that runs load by
themselves: who came first decides there (docs/adr/0026). What differs is rolled together by what
the code is: its file, its function, its line and the sites in it. Code that only some shards have
gets ids of its own, and points at the same columns of the same line are one when runs are compared
(runfile/sites.py), whatever Python compiled them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from unsnarl.errors import UsageError
from unsnarl.runfile import CODES_FILE
from unsnarl.runfile.codes import LATE_SUFFIX, Code, CodesFile
from unsnarl.runfile.renumbering import Move, Renumbering


class LateLine(NamedTuple):
    """A line of the file of late code: the code, and all that the line says."""

    code: Code
    row: dict[str, Any]


class ShardSites(NamedTuple):
    """The sites of one shard.

    Attributes:
        text: codes.json; "" if the shard has none.
        head: The first line of the file of late code.
        late: Its code.
        modules: Its other lines, which name modules.
    """

    text: bytes
    head: bytes = b""
    late: tuple[LateLine, ...] = ()
    modules: tuple[bytes, ...] = ()


class MergedSites(NamedTuple):
    """What the merged campaign has, and by shard, in their order, what becomes of its ids.

    Attributes:
        foreign: How many pieces of code are not in the list that the others are counted by.
    """

    sites: ShardSites
    renumberings: tuple[Renumbering, ...]
    foreign: int = 0


def read_sites(folder: Path, root: PurePath) -> ShardSites:
    """The sites of the campaign in a folder; files become relative to `root`."""
    try:
        text = (folder / CODES_FILE).read_bytes()
    except FileNotFoundError:
        return ShardSites(b"")
    try:
        lines = (folder / (CODES_FILE + LATE_SUFFIX)).read_bytes().splitlines()
    except FileNotFoundError:
        return ShardSites(text)
    late, modules = list[LateLine](), list[bytes]()
    for line in lines[1:]:
        try:
            row = json.loads(line)
            if "module" in row:
                modules.append(line)
            else:
                late.append(LateLine(_relative(msgspec.convert(row, Code), root), row))
        except (ValueError, TypeError):  # half a line, of a run that was killed
            continue
    return ShardSites(text, lines[0] if lines else b"", tuple(late), tuple(modules))


def write_sites(folder: Path, sites: ShardSites) -> None:
    """As the target's process would have left them."""
    if not sites.text:
        return
    (folder / CODES_FILE).write_bytes(sites.text)
    if sites.head:
        lines = [_encoded(line) for line in sites.late]
        text = b"\n".join((sites.head, *lines, *sites.modules)) + b"\n"
        (folder / (CODES_FILE + LATE_SUFFIX)).write_bytes(text)


def merge_sites(shards: Sequence[ShardSites]) -> MergedSites:
    """One list of sites; what it is does not depend on how shards are grouped and ordered."""
    listed = [one for one in shards if one.text]
    if not listed:
        return MergedSites(ShardSites(b""), tuple(Renumbering(()) for _ in shards))
    texts = sorted({one.text for one in listed}, key=lambda text: hashlib.sha256(text).digest())
    file = msgspec.json.decode(texts[0], type=CodesFile)
    extra = _extra(listed, _named(file.codes))
    if len(texts) == 1 and _agree(listed):
        late = max((one.late for one in listed), key=lambda late: [len(late), *map(_encoded, late)])
    else:
        late = _placed(file, extra)
    named = _named((*file.codes, *(line.code for line in late)))
    ids = {name: code.base for name, code in named.items()}
    head = min((one.head for one in listed if one.head and one.text == texts[0]), default=b"")
    modules = tuple(sorted({line for one in listed for line in one.modules}))
    sites = ShardSites(texts[0], head, late, modules)
    foreign = sum(line.row.get("key") == name for name, line in extra.items())
    return MergedSites(sites, tuple(_renumbering(one, ids) for one in shards), foreign)


def _extra(shards: Iterable[ShardSites], listed: Mapping[str, Code]) -> dict[str, LateLine]:
    """The code that the list does not have, by name; of equal lines the least."""
    found: dict[str, LateLine] = {}
    for shard in shards:
        lines = {id(line.code): line for line in shard.late}
        for name, code in _all_named(shard).items():
            if name in listed:
                continue
            # No run asks for code by such a key: it is another machine's.
            line = lines.get(id(code)) or LateLine(code, {"key": name, **msgspec.to_builtins(code)})
            line = LateLine(code, {**line.row, "base": 0})
            found[name] = min(found.get(name, line), line, key=_encoded)
    return found


def _agree(shards: Iterable[ShardSites]) -> bool:
    """Whether nobody gave late code other ids than the others, or other code the same."""
    names: dict[int, str] = {}
    bases: dict[str, int] = {}
    for shard in shards:
        for name, code in _named(line.code for line in shard.late).items():
            if names.setdefault(code.base, name) != name:
                return False
            if bases.setdefault(name, code.base) != code.base:
                return False
    return True


def _placed(file: CodesFile, extra: Mapping[str, LateLine]) -> tuple[LateLine, ...]:
    """Ids for code that is not in the list, in the order of its names."""
    found, base = [], file.watermark
    for name in sorted(extra):
        code, row = extra[name]
        found.append(LateLine(msgspec.structs.replace(code, base=base), {**row, "base": base}))
        base += code.size
    if base > max(file.shared, file.watermark):
        raise UsageError(
            "not-mergeable",
            "the shards ran different code: their sites cannot be counted by one list",
            "hunt all shards with the same revision, the same Python and the same build",
        )
    return tuple(found)


def _renumbering(shard: ShardSites, ids: Mapping[str, int]) -> Renumbering:
    named = _all_named(shard) if shard.text else {}
    return Renumbering(Move(code.base, code.size, ids[name]) for name, code in named.items())


def _all_named(shard: ShardSites) -> dict[str, Code]:
    listed = msgspec.json.decode(shard.text, type=CodesFile).codes
    return _named((*listed, *(line.code for line in shard.late)))


def _named(codes: Iterable[Code]) -> dict[str, Code]:
    """Code by what it is; of the same loaded twice the second one is another."""
    count: Counter[str] = Counter()
    found = {}
    for code in sorted(codes, key=lambda code: code.base):
        text = msgspec.json.encode(msgspec.structs.replace(code, base=0))
        name = hashlib.sha256(text).hexdigest()[:40]
        count[name] += 1
        found[f"{name}/{count[name]}"] = code
    return found


def _relative(code: Code, root: PurePath) -> Code:
    file = PurePath(code.file)
    name = str(file.relative_to(root)) if file.is_relative_to(root) else code.file
    return msgspec.structs.replace(code, file=name)


def _encoded(line: LateLine) -> bytes:
    return json.dumps(line.row, sort_keys=True).encode()
