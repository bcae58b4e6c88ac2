# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison: a process that runs kernels, plain or as a hunt would run them.

`python -m benchmarks.worker plain|probed ROOT` reads one request a line and answers each with one
line. Every request is served in a forked child, so that no run leaves anything to the next.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from time import perf_counter, process_time  # before they are replaced by the target's clocks
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]


def main(mode: str, root: str) -> None:
    """Serve until standard input ends."""
    if mode == "probed":
        _install_probes(root)
    sys.path.insert(0, root)
    for line in sys.stdin:
        request = json.loads(line)
        for name in request.get("load", ()):
            importlib.import_module(name)  # here, so that the children need not
        print(json.dumps(_forked(lambda request=request: _serve(request))), flush=True)


def _install_probes(root: str) -> None:
    """What the fork server does before it loads the target."""
    from unsnarl.probes.python import importer, sync  # noqa: PLC0415  never in the plain worker

    sync.install()
    importer.install(root, [])


def _forked(serve: Callable[[], Answer]) -> Answer:
    """The answer of `serve`, from a child process."""
    reading, writing = os.pipe()
    gc.freeze()  # as the fork server does
    child = os.fork()
    if child == 0:
        try:
            answer = serve()
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"error": f"the child ended with wait status {status}"}


def _serve(request: Request) -> Answer:
    if "import" in request:
        return _timed(lambda: importlib.import_module(request["import"]).__name__)
    kernel = importlib.import_module(request["kernel"])
    plan = request.get("plan")
    if plan is None:
        return _timed(lambda: kernel.run(request["size"], request["threads"]))
    return _timed_run(plan, lambda: kernel.run(request["size"], request["threads"]))


def _timed(work: Callable[[], object]) -> Answer:
    wall, cpu = perf_counter(), process_time()
    result = work()
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return {"cpu": cpu, "wall": wall, "result": result}


def _timed_run(plan: dict[str, Any], work: Callable[[], object]) -> Answer:
    """One run of a hunt; the time to write the run file is measured separately."""
    from unsnarl import _core  # noqa: PLC0415
    from unsnarl.probes.python import caught  # noqa: PLC0415

    caught.install()
    _core.begin_run(plan)
    answer = _timed(work)
    counters = _core.counters()
    writing = process_time()
    if not _core.finish_run():
        raise RuntimeError("no run file was written")
    return answer | {"finish": process_time() - writing, "counters": counters}


if __name__ == "__main__":
    main(*sys.argv[1:])
