# SPDX-License-Identifier: Apache-2.0
"""Runs that are started at the same time are stored in folders of their own."""

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest
from sacred.observers import FileStorageObserver


@pytest.fixture
def run(tmp_path):
    return {
        "_id": None,
        "ex_info": {"name": "train", "sources": [], "doc": "", "base_dir": str(tmp_path)},
        "command": "run",
        "host_info": {"hostname": "bench", "cpu_count": 1},
        "start_time": datetime.datetime(2018, 5, 1, 12, 0),
        "config": {"rate": 0.1},
        "meta_info": {"comment": ""},
    }


def test_two_runs_are_started(tmp_path, run):
    folder = tmp_path / "runs"
    folder.mkdir()

    def start(rate):
        observer = FileStorageObserver.create(str(folder))
        return observer.started_event(**{**run, "ex_info": dict(run["ex_info"]), "config": {"rate": rate}})

    with ThreadPoolExecutor(max_workers=2) as pool:
        numbers = list(pool.map(start, [0.1, 0.2]))

    assert sorted(int(number) for number in numbers) == [1, 2]
