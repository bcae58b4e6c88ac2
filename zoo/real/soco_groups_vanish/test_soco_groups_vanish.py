# SPDX-License-Identifier: Apache-2.0
"""A page shows the rooms of a house while an event of the speakers brings the new grouping."""

import threading
import time

import pytest
from soco import SoCo

STATE = """<ZoneGroupState><ZoneGroups>%s</ZoneGroups></ZoneGroupState>"""
GROUP = """<ZoneGroup Coordinator="RINCON_%d" ID="RINCON_%d:%d"><ZoneGroupMember UUID="RINCON_%d"
 Location="http://192.0.2.%d:1400/xml/device_description.xml" ZoneName="Room %d"/></ZoneGroup>"""


def payload(revision):
    return STATE % "".join(GROUP % (n, n, revision, n, n, n) for n in (1, 2))


@pytest.fixture
def speaker():
    speaker = SoCo("192.0.2.1")
    speaker._household_id = "house"
    speaker.zone_group_states.clear()
    state = speaker.zone_group_state
    state.process_payload(payload=payload(1), source="event", source_ip="192.0.2.1")
    state._cache_until = time.monotonic() + 3600
    return speaker


def test_groups_are_whole_while_an_event_arrives(speaker):
    seen = []
    event = threading.Thread(
        target=speaker.zone_group_state.process_payload,
        kwargs={"payload": payload(2), "source": "event", "source_ip": "192.0.2.1"})
    page = threading.Thread(target=lambda: seen.append(len(speaker.all_groups)))
    event.start()
    page.start()
    event.join(timeout=5)
    page.join(timeout=5)

    assert seen == [2]
