# SPDX-License-Identifier: Apache-2.0
import pytest

from jobs import JobQueue


class Flaky:
    """Raises the first time it is called, as a service that is being restarted does."""

    def __init__(self, answer):
        self.answer = answer
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls == 1:
            raise ConnectionError("try again")
        return self.answer


@pytest.fixture(params=[1, 2, 3], ids=lambda n: f"{n}-workers")
def jobs(request):
    jobs = JobQueue(workers=request.param)
    yield jobs
    jobs.close()


def test_a_flaky_job_has_its_result_after_drain(jobs):
    jobs.submit("mail", Flaky("sent"))
    jobs.drain()
    assert jobs.results == {"mail": "sent"}


def test_a_sound_job_is_called_once(jobs):
    calls = []
    jobs.submit("mail", lambda: calls.append("sent"))
    jobs.drain()
    assert calls == ["sent"]
    assert not jobs.failed
