# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from settings import Settings


@pytest.fixture
def settings(tmp_path):
    settings = Settings(tmp_path / "settings.json")
    settings.set("theme", "dark")
    return settings


def test_a_setting_is_there_after_a_restart(settings):
    assert Settings(settings.path).get("theme") == "dark"


def test_two_windows_change_settings(settings):
    with ThreadPoolExecutor(max_workers=2) as pool:
        changes = [
            pool.submit(settings.set, "font", "mono"),
            pool.submit(settings.set, "size", 12),
        ]
        done, late = wait(changes, timeout=5)
    assert not late
    for change in done:
        change.result()
    assert settings.load() == {"theme": "dark", "font": "mono", "size": 12}
