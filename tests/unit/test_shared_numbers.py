# SPDX-License-Identifier: Apache-2.0
"""Numbers and words that C and Python share, compared with the tables that C is made from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from unsnarl import _core
from unsnarl.experiments.rules import MOST_RULES
from unsnarl.model import choices, graph, plan
from unsnarl.model.event import Op
from unsnarl.model.pattern import FINE, PatternKind
from unsnarl.model.site import CALL_REACH
from unsnarl.probes import statuses
from unsnarl.probes.python.rewriter import kinds
from unsnarl.runfile import layout, pieces

NATIVE = Path(__file__).parents[2] / "native"
PLAN_KEYS = NATIVE / "binding/plan_keys.def"
PROBE_KINDS = NATIVE / "binding/probe_kinds.def"
EXIT_STATUS = NATIVE / "include/unsnarl/exit_status.def"
FORMAT = NATIVE / "include/unsnarl/format.h"


def rows(table: Path, macro: str) -> list[tuple[str, ...]]:
    """The arguments of each use of the macro, quotes off."""
    uses = re.findall(rf"^{macro}\((.*?)\)(?:\s|$)", table.read_text(), re.MULTILINE)
    assert uses, f"{table.name} has no {macro}"
    return [tuple(one.strip().strip('"') for one in use.split(",")) for use in uses]


def enumerators(text: str, enum: str, prefix: str) -> dict[str, int]:
    """The enumerators of a C enum with their numbers, the prefix off."""
    body = re.search(rf"enum {enum} {{(.*?)}};", text, re.DOTALL)
    assert body, enum
    plain = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    numbers: dict[str, int] = {}
    for name, number in re.findall(rf"{prefix}(\w+)(?:\s*=\s*(\d+))?", plain):
        numbers[name] = int(number) if number else max(numbers.values(), default=-1) + 1
    return numbers


def fields(struct_type: type[msgspec.Struct]) -> set[str]:
    return set(struct_type.__struct_fields__)


def test_exit_statuses():
    table = {name: int(number) for name, number in rows(EXIT_STATUS, "UNS_EXIT_STATUS")}
    assert table == {name: getattr(statuses, name) for name in table}
    numbers = {name for name, value in vars(statuses).items() if isinstance(value, int)}
    assert set(table) == {name for name in numbers if name.isupper()}


def test_kinds_of_probes():
    names = [name for (name,) in rows(PROBE_KINDS, "UNS_PROBE_KIND")]
    assert [getattr(kinds, name) for name in names] == list(range(len(names)))
    assert tuple(name.lower() for name in names) == kinds.KIND_NAMES


def test_flags_of_sites():
    table = {name: int(bit) for name, bit in rows(PROBE_KINDS, "UNS_SITE_FLAG")}
    assert table == {name: getattr(kinds, name) for name in table}
    offset = re.search(r"#define SITE_OFFSET (\d+)", (NATIVE / "binding/binding.h").read_text())
    assert offset and int(offset[1]) == kinds.OFFSET_SHIFT
    assert max(table.values()) < 1 << kinds.OFFSET_SHIFT


def test_the_keys_of_a_plan():
    core = {text for _, text in rows(PLAN_KEYS, "UNS_PLAN_KEY")}
    target = {text for (text,) in rows(PLAN_KEYS, "UNS_TARGET_KEY")}
    assert not core & target
    assert core | target == fields(plan.Plan)


def test_the_keys_of_rules_and_matches():
    assert {text for _, text in rows(PLAN_KEYS, "UNS_RULE_KEY")} == fields(plan.Rule)
    matches = {text for _, text in rows(PLAN_KEYS, "UNS_MATCH_KEY")}
    assert matches == fields(plan.Match)
    of_rules = {"who", "equal", "role"}
    assert matches - of_rules <= fields(plan.DebugStop)  # parse_stop of plan.c reads these


def test_keys_that_c_reads_are_in_the_table():
    """No parser has a key of its own, spelled out."""
    for name in ("plan.c", "plan_rules.c"):
        source = (NATIVE / "binding" / name).read_text()
        assert not re.search(r'(?:GetItemString|uns_get|number|text)\(\w+, "', source)


def test_levels():
    names = [text for _, text in rows(PLAN_KEYS, "UNS_LEVEL")]
    header = (NATIVE / "include/unsnarl/plan.h").read_text()
    in_order = enumerators(header, "uns_level", "UNS_LEVEL_")
    assert [name.lower() for name in in_order] == names
    assert tuple(names) == ("none", *choices.LEVELS)


def test_who_a_match_is_about():
    source = (NATIVE / "binding/plan_rules.c").read_text()
    words = re.search(r"names\[\] = {(.*?)}", source)
    assert words and tuple(re.findall(r'"(\w+)"', words[1])) == get_args(plan.Who)


def as_sent(run: object) -> dict[str, object]:
    """As the fork server gets it."""
    return msgspec.json.decode(msgspec.json.encode(run), type=dict[str, object])


def stored(tmp_path: Path, run: dict[str, object]) -> bytes:
    path = tmp_path / "plan"
    _core.store_plan(run, str(path))
    return path.read_bytes()


def test_what_a_plan_leaves_out_is_what_c_assumes(tmp_path):
    """Plans are sent without their defaults: with them they mean the same."""
    bare = plan.Plan(strategy="pct", seed=7)
    spelled = as_sent({name: getattr(bare, name) for name in fields(plan.Plan)})
    assert stored(tmp_path, as_sent(bare)) == stored(tmp_path, spelled)
    assert stored(tmp_path, {**spelled, "depth": 4}) != stored(tmp_path, spelled)


@pytest.mark.parametrize("key", ["when", "hold", "until"])
def test_a_rule_with_a_key_of_another_name_is_refused(key, tmp_path):
    rule = {key: {"points": [16], "place": 1}}
    with pytest.raises(ValueError, match="has no key 'place'"):
        stored(tmp_path, {"strategy": "walk", "seed": 1, "rules": [rule]})


@pytest.mark.parametrize("key", ["sites", "interest", "schedule", "anchors", "capture"])
def test_a_tuple_where_a_list_belongs_is_refused(key, tmp_path):
    """C would read past it, or leave it out in silence."""
    with pytest.raises(ValueError, match=f'"{key}" of a plan must be a list'):
        stored(tmp_path, {"strategy": "walk", "seed": 1, key: (1, 2)})


def test_where_a_debugger_stops_is_a_list_of_points(tmp_path):
    stop = {"title": "here", "path": "0.1", "points": (16,)}
    with pytest.raises(ValueError, match='"points" of a plan must be a list'):
        stored(tmp_path, {"strategy": "walk", "seed": 1, "debug": stop})
    with pytest.raises(ValueError, match='"debug" of a plan must be a dict'):
        stored(tmp_path, {"strategy": "walk", "seed": 1, "debug": [stop]})


def test_operations():
    table = enumerators(FORMAT.read_text(), "uns_op", "UNS_")
    assert table == {op.name: int(op) for op in Op}


def test_kinds_of_patterns():
    table = enumerators(FORMAT.read_text(), "uns_pattern_kind", "UNS_PATTERN_")
    assert table.pop("FINE") == FINE
    assert table == {kind.name: int(kind) for kind in PatternKind}


def test_sections_and_counters():
    text = FORMAT.read_text()
    sections = enumerators(text, "uns_section", "UNS_SECTION_")
    assert sections == {kind.name: int(kind) for kind in layout.Section}
    counters = enumerators(text, "uns_counter", "UNS_COUNT_")
    assert tuple(name.lower() for name in counters) == layout.COUNTERS
    assert tuple(_core.counters()) == layout.COUNTERS


def test_flags_of_threads():
    flags = re.findall(r"#define UNS_THREAD_(\w+)\s+(\d+)u", FORMAT.read_text())
    assert {name: int(bit) for name, bit in flags} == {
        flag.name: int(flag) for flag in layout.ThreadFlag
    }


def test_pieces_of_logs():
    text = FORMAT.read_text()
    marks = dict(re.findall(r"#define UNS_PACKED_(\w+)\s+(\d+)u", text))
    assert marks == {"LOW": str(pieces.LOW), "CORE": str(pieces.CORE)}
    assert min(pieces.LOW, pieces.CORE) > max(Op)
    size = re.search(r"#define UNS_PIECE_BYTES (\d+)u", text)
    assert size and int(size[1]) == pieces.HEADER_BYTES
    assert f'#define UNS_PIECE_MAGIC "{pieces.MAGIC.decode()}"' in text


def test_the_reach_of_a_call():
    reach = re.search(r"#define CALL_REACH (\d+)", (NATIVE / "gate/lock.c").read_text())
    assert reach and int(reach[1]) == CALL_REACH


def test_experiments_know_how_many_rules_the_gate_takes():
    text = (NATIVE / "include/unsnarl/plan.h").read_text()
    assert re.search(rf"^#define UNS_RULES_MOST {MOST_RULES}$", text, re.MULTILINE)


def test_events_in_a_context():
    bits = re.search(r"#define UNS_CONTEXT_BITS (\d+)", (NATIVE / "tracker/tracker.h").read_text())
    most = re.search(
        r"#define UNS_CONTEXT_MAX\s+(\d+)", (NATIVE / "include/unsnarl/plan.h").read_text()
    )
    assert bits and most
    assert (int(bits[1]), int(most[1])) == (graph.CONTEXT_BITS, graph.CONTEXT_MOST)
