# SPDX-License-Identifier: Apache-2.0
from jobs import JobQueue


def test_every_job_has_a_result_after_drain():
    seen = set()

    def fetch(page):
        if page not in seen:
            seen.add(page)
            raise TimeoutError(page)
        return page.upper()

    jobs = JobQueue(workers=2)
    try:
        for page in ("index", "about"):
            jobs.submit(page, lambda page=page: fetch(page))
        jobs.drain()
        assert jobs.results == {"index": "INDEX", "about": "ABOUT"}
        assert not jobs.failed
    finally:
        jobs.close()
