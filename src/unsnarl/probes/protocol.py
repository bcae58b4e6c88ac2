# SPDX-License-Identifier: Apache-2.0
"""What the fork server asks of a probe, whatever the target is written in.

    made with the setup -> imports() -> run(fork_point): fork_point() calls codes(), forks one
                                                         process per run and returns in those only

`probes/server` is the only caller; `python/target.py` and `native/program.py` implement it. To add
a probe, implement this protocol and list it in `probes/server/service.py`. All of it runs in the
target's process: import the standard library and `unsnarl._core` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

# From the parent's `setup` message: command, cwd, root, include, codes, branches,
# loops; stdin (the file that runs read), temporary (the folder that theirs are made in);
# overlay (by file, the one to run in its stead).
Setup = dict[str, Any]
# The content of codes.json (runfile/codes.py reads it).
CodesDump = dict[str, Any]


class ProbedTarget(Protocol):
    """A target that was loaded with probes in it, ready to be forked."""

    @property
    def private_scratch(self) -> bool:
        """Whether each run needs its own copies of the nameless files that are open."""

    def imports(self) -> Iterator[Callable[[], object]]:
        """The imports that every run would begin with, one by one, in order."""

    def codes(self) -> CodesDump:
        """List the sites. From here on the core knows them, and runs count by them."""

    def before_fork(self) -> None:
        """In the server, before each fork: take in what earlier runs have left for later ones."""

    def run(self, fork_point: Callable[[], dict[str, Any]]) -> NoReturn:
        """Go as far as all runs go alike, call `fork_point` once, then be one run.

        `fork_point` returns in the process of a run only, with that run's plan.
        """
