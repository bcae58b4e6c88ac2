# SPDX-License-Identifier: Apache-2.0
import pytest

from audit import AuditLog


@pytest.fixture
def log():
    return AuditLog(backlog=1)


def test_all_messages_are_written(log):
    for user in ("ann", "bob", "cid"):
        log.record(f"login {user}")
    log.close()
    assert [line.split()[-1] for line in log.written] == ["ann", "bob", "cid"]
