# SPDX-License-Identifier: Apache-2.0
"""Jobs that run at the same time work in folders of their own, named by their slots."""

import hashlib

import pytest
from e3.collection.dag import DAG
from e3.job import Job
from e3.job.scheduler import Scheduler

SOURCES = bytes(4_000_000)
FOLDERS = []


class Build(Job):
    def run(self):
        checksum = hashlib.sha256(SOURCES).hexdigest()
        FOLDERS.append((f"build-{self.slot}", checksum))

    def interrupt(self):
        pass


@pytest.fixture
def libraries():
    dag = DAG()
    for name in ("zlib", "openssl", "sqlite"):
        dag.add_vertex(name)
    dag.add_vertex("python", predecessors=["zlib", "openssl", "sqlite"])
    return dag


def test_jobs_have_slots(libraries):
    scheduler = Scheduler(Scheduler.simple_provider(Build), tokens=2, job_timeout=5)
    scheduler.run(libraries)

    assert len(FOLDERS) == 4
    assert {folder for folder, _ in FOLDERS} <= {"build-0", "build-1"}
