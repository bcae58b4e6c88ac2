# SPDX-License-Identifier: Apache-2.0
"""Everything that can go wrong, each with a slug; docs/messages.md is made from this table.

A message says what happened; the hint says what to do next; the paragraph here says what it means
for the result. The exit codes are those of the contract: 2 wrong usage or input, 3 the tool could
not do its work, 4 inconclusive.
"""

from __future__ import annotations

import sys

EXIT_OK = 0
EXIT_FAILURE_FOUND = 1
EXIT_USAGE = 2
EXIT_TOOL = 3
EXIT_INCONCLUSIVE = 4
EXIT_INTERRUPTED = 130

ERRORS: dict[str, str] = {
    "bad-argument": (
        "An option or argument has a value that the command cannot use. The message names it; "
        "`unsnarl COMMAND --help` lists what is allowed."
    ),
    "bad-pattern": (
        "The regular expression given to `--fail-if` does not compile. It is searched in the "
        "run's standard output and standard error, in Python's `re` syntax."
    ),
    "bad-setting": (
        "A setting in the environment (`UNSNARL_…`) or under `[tool.unsnarl]` in pyproject.toml "
        "is unknown or has the wrong type. The message gives the full key."
    ),
    "build-missing": (
        "The native core, `unsnarl._core`, cannot be imported: the package was copied instead of "
        "installed, or was built for another Python. Reinstall it with the interpreter named."
    ),
    "campaign-damaged": (
        "The campaign's database or `campaign.json` cannot be read, or was written by a newer "
        "version. The run files beside it are untouched."
    ),
    "clocks-drift": (
        "The clocks of two cores do not keep their distance, so stamps of one cannot be compared "
        "with stamps of the other. Nothing was kept. Seen on machines of several sockets with "
        "clocks of their own, and on virtual machines that were moved to another host."
    ),
    "clocks-not-bound": (
        "The kernel did not let the measuring threads run on cores that it had named before: they "
        "were taken away meanwhile, or their numbers are beyond 1023. Nothing was kept. "
        "`unsnarl clocks --no-pin` takes the threads wherever they run."
    ),
    "clocks-unseen": (
        "The test loops ran out of time before messages had passed both ways between all cores: "
        "the machine is too busy, or threads that are not bound (`--no-pin`) never came to run "
        "there. Nothing was kept; try again, with `--pin`, or when less is going on."
    ),
    "code-changed": (
        "The code of the target, or its build, is no longer what the campaign's runs were made of, "
        "so nothing can be added to that campaign. `unsnarl replay` and `unsnarl verify` follow "
        "its schedules in the code as it is now; a new hunt starts afresh."
    ),
    "collection-failed": (
        "pytest could not collect the tests, or was told to run them in other processes. Its own "
        "output is shown. Nothing was run."
    ),
    "command-missing": "`unsnarl hunt` needs the command to run, after `--`.",
    "command-not-found": (
        "The program or script named in the command does not exist or cannot be executed. "
        "Nothing was run."
    ),
    "command-not-python": (
        "The command is not a Python script, module or pytest call, nor a program. Probes are "
        "placed in Python code, so nothing could be observed. Name the Python program itself "
        "rather than a shell script that starts it."
    ),
    "command-unsupported": (
        "This form of the Python command line (`-c`, standard input) cannot be hunted. Put the "
        "code into a file."
    ),
    "compiler-conflict": (
        "An option given to `unsnarl cc` or `unsnarl c++` cannot be had together with the probe: "
        "another sanitizer has its own idea of memory, and there is no probe for 32-bit programs. "
        "Nothing was compiled."
    ),
    "damaged-run-file": (
        "A run file is cut off or is not a run file. It is reported by name and skipped; the "
        "ranking is made from the others."
    ),
    "disk-full": (
        "The disk, or the limit on file sizes, was reached while a run was written. What was "
        "stored before is complete; free some space and continue with `unsnarl hunt --resume`."
    ),
    "fails-early": (
        "Every run failed before the target started a second thread, so the failure does not "
        "depend on the interleaving of threads. The traceback or output of the first run is "
        "shown. Make the command pass by itself first."
    ),
    "internal-error": (
        "unsnarl itself is at fault. Please report the text shown, with the command."
    ),
    "interrupted": (
        "Ctrl-C. All finished runs are stored; `unsnarl hunt --resume` goes on from there. What "
        "was being reproduced is as it was; a schedule that was found already is kept."
    ),
    "level-unavailable": (
        "What was asked for cannot be recorded of this program. A C or C++ program tells of its "
        "functions if it was built with `unsnarl cc --functions` (or with UNSNARL_CC_FUNCTIONS=1 "
        "in the environment), of its basic blocks with `--blocks` (UNSNARL_CC_BLOCKS=1), of its "
        "loops with `--loops` (UNSNARL_CC_LOOPS=1), which has both; branches are recorded of "
        "Python code only. Nothing was run."
    ),
    "no-campaign": (
        "There is no stored campaign of that name (or of that command) under `.unsnarl/`. Run "
        "`unsnarl hunt` first, or start from the directory where it was run."
    ),
    "no-debug-info": (
        "The program has the probe in it but no debug information, so no access could be told by "
        "its line. Compile it with `-g` and do not strip it. Nothing was run."
    ),
    "no-finding": (
        "The campaign has no finding of that number: nothing failed, or the list is shorter."
    ),
    "no-run": (
        "The campaign has no run of that number, or the word does not name a run. Reports name "
        "the runs that they tell of; `unsnarl replay` takes a number, a run file or CAMPAIGN/RUN."
    ),
    "no-schedule": (
        "The schedule of this run is not stored, so it cannot be replayed. Schedules are kept of "
        "failing runs whose run files are kept."
    ),
    "no-step": "The explanation has fewer steps than `--break` asks for. Nothing was run.",
    "no-run-files": (
        "The runs ended without leaving a run file, so nothing is known of their threads. A target "
        "that ends its process itself (`os._exit`, `exec`) leaves none."
    ),
    "no-tests": "pytest found no test to run. Check the path and the selection (`-k`, `-m`, `::`).",
    "no-threads": (
        "No run started a second thread and none failed. A failure that needs an interleaving of "
        "threads cannot happen in such a program, and the hunt says nothing about it. Programs "
        "that use only processes or only asyncio are not covered."
    ),
    "not-writable": (
        "The campaign folder cannot be written. Run from a directory that you may write, or make "
        "`.unsnarl` writable."
    ),
    "nothing-instrumented": (
        "No module of the target was instrumented, so no access could be observed. The project "
        "root may be wrong (start from the project's directory), or the code lives in an "
        "installed package: name it with `--include`."
    ),
    "nothing-to-rank": (
        "The campaign has no failing run, so there is nothing that a ranking could explain."
    ),
    "nothing-to-verify": (
        "No failing run of the campaign is stored, so there is no schedule to try on the edited "
        "code. Name a campaign in which something failed."
    ),
    "one-core": (
        "The process may use a single core (taskset, a container's cpuset), so there is no skew "
        "to measure, and no parallel run to record either."
    ),
    "platform-unsupported": "unsnarl runs on Linux, on x86-64 and aarch64.",
    "not-reproduced": (
        "`unsnarl reproduce` made its tries, and none failed as recorded, or none of the schedules "
        "that did fails every time. The record is still there: more tries (`--tries`), a record at "
        "a finer level (`--level access`), or clocks that were measured (`unsnarl clocks`) help."
    ),
    "program-refused": (
        "A run could not be done as planned: the program was built again while it was hunted, was "
        "built with another version of unsnarl, may not use the memory that the probe needs, or "
        "has more threads at once than the gate can hold. What was stored before is complete."
    ),
    "program-static": (
        "A statically linked program cannot be observed: the probe stands between a program and "
        "the shared libc. `unsnarl cc` refuses to link one, and `unsnarl hunt` to run one."
    ),
    "program-stripped": (
        "The program was built with the probe, but its symbols have been removed since. Nothing "
        "was run."
    ),
    "program-unsupported": (
        "The file is no program that can run on this machine: it is built for another one or for "
        "32 bits, it is a library or an object file, or it is cut off. Nothing was run."
    ),
    "program-without-probe": (
        "The program was not built with `unsnarl cc` or `unsnarl c++`, so none of its accesses can "
        "be seen. Nothing was run. In a project with a Makefile or a configure script: "
        '`CC="unsnarl cc" CXX="unsnarl c++"`; with CMake: `-DCMAKE_C_COMPILER=unsnarl-cc`.'
    ),
    "python-unsupported": (
        "The target's interpreter is not CPython 3.11 to 3.13. The probes are rewritten bytecode, "
        "which differs from version to version."
    ),
    "python-without-unsnarl": (
        "The command uses another Python environment than the one unsnarl runs in, and unsnarl is "
        "not installed there. The probes must load in the target's own interpreter."
    ),
    "record-lacks-values": (
        "`unsnarl reproduce --with clap` solves the order of a run from what its accesses found, "
        "or from the branches of Python code. Record with `--values`, best with `--level access` "
        "or `--level funcloop`, or with `--branches`; or use `--with pres`, which needs neither."
    ),
    "record-passed": (
        "The recorded run did not fail, so there is nothing to find back. `unsnarl record "
        "--until-fail N` keeps the first run that fails."
    ),
    "replay-differs": (
        "The run was repeated with the stored schedule and did not fail as recorded, so there is "
        "no moment to stop at. `unsnarl replay` says where the program has changed."
    ),
    "solver-memory": (
        "The search for an order needed more memory than it may have, which is half of the "
        "machine's. This says nothing about whether there is an order. A shorter run, or clocks at "
        "a finer level (`--level`), leave less to search for."
    ),
    "solver-missing": (
        "The order problem was to be solved by z3, which is not installed in this environment: "
        "`pip install 'unsnarl[solve]'` brings it. Nothing was solved. unsnarl's own solver "
        "needs nothing and is much faster."
    ),
    "step-not-reached": (
        "This run fails with the same signature as the explained one, but in another way: it does "
        "not pass the step asked for. Replay the run that the report names."
    ),
    "server-failed": (
        "The process that imports the target and forks the runs could not start, or died "
        "repeatedly. The end of its output is shown; the whole is in `server.log` in the "
        "campaign's folder."
    ),
    "target-import-failed": (
        "The target could not be loaded: importing it raised an exception before any run began. "
        "Make the command work by itself first."
    ),
    "target-not-found": (
        "The script, module or test that the command names cannot be found by the target's "
        "interpreter, or pytest is not installed there. Nothing was run."
    ),
    "tool-missing": (
        "A program that unsnarl calls is not installed: binutils (nm, objdump, addr2line, readelf) "
        "list the sites of C and C++ programs, gdb debugs them."
    ),
    "wrong-debugger": "Python programs are replayed with `--pdb`, C and C++ programs with `--gdb`.",
}

WARNINGS: dict[str, str] = {
    "aliased-threads": (
        "More than 64 threads were alive at once and some shared an identity. Some edges between "
        "them are missing; no edge shown is wrong."
    ),
    "always-fails": (
        "No run passed. The failure was found, but with nothing to compare, a ranking cannot tell "
        "its cause from what always happens. If it also fails without unsnarl, it may not depend "
        "on the interleaving at all."
    ),
    "always-hangs": (
        "Every run reached the time limit, so there is nothing to compare. Raise `--timeout` if "
        "the target needs longer; the runs are slower than usual because one thread runs at a time."
    ),
    "budget-out": (
        "The time or the number of runs ran out before the wanted number of failing or passing "
        "runs was in hand. The result rests on fewer runs; raise `--time` or `--max-runs`, or "
        "go on with `--resume`."
    ),
    "clocks-damaged": (
        "The file in the user's cache that keeps the clocks of this boot cannot be read. The "
        "clocks are measured again, and the file is replaced."
    ),
    "clocks-not-kept": (
        "The clocks were measured but could not be kept in the user's cache, so the next command "
        "that needs them measures them again. Set XDG_CACHE_HOME to a folder that can be written."
    ),
    "counter-not-invariant": (
        "The processor's counters change their speed, stop, or are not trusted by the kernel, so "
        "the stamps of two cores cannot be compared. The kernel's clock (`clock_gettime`) is used "
        "instead: dearer to read, and with a range of its own that is measured all the same."
    ),
    "damaged-runs": ("Some run files could not be read and were skipped; the message names them."),
    "edges-dropped": (
        "Some runs made more communication edges than the table holds. Rankings may lack edges; "
        "narrow the target, or the modules instrumented."
    ),
    "hangs": "Some runs reached the time limit. They are labelled hang and kept apart.",
    "latent": (
        "The failure happened only with free switching, never in the runs that switch where the "
        "interpreter's lock allows it. It cannot be expected under this interpreter's lock, but "
        "will happen on a free-threaded one."
    ),
    "library-not-listed": (
        "A shared library that was built with `unsnarl cc` was loaded from outside of the project, "
        "or was built again since the hunt began: nothing in it was observed or controlled. Name "
        "its file with --include, or hunt again."
    ),
    "hooks-replaced": (
        "Python's functions (levels `func`, `funcloop`) and lines (`block`) are told by a profile "
        "or trace function, of which a thread has one. The program set its own (`sys.setprofile`, "
        "`sys.settrace`, those of `threading`; debuggers and coverage tools do so, too): from then "
        "on its functions or lines are not in the record. All else is. Record without that tool, "
        "or at another level."
    ),
    "log-dropped": (
        "A thread logged more than a gigabyte, or the disk had no more room: what it did from then "
        "on was not recorded. Record at a coarser level, or a shorter run."
    ),
    "no-failure": (
        "Nothing failed. For n passing runs, the share of failing schedules of this kind is below "
        "3/n with 95 % confidence; it is not a proof."
    ),
    "order-unsatisfiable": (
        "There is no order of the logged events in which every read finds what it found and every "
        "branch goes as recorded. From values: the log or the ranges of the clocks are wrong. From "
        "branches: something that is no integer decided, and was taken from a run of its own; "
        "record with `--level access --values`."
    ),
    "runs-lost": ("The fork server died and was restarted; the runs in progress were repeated."),
    "solver-time-out": (
        "The solver was stopped before it had an answer: nothing is known. A record with more "
        "stamps (`--level access`, after `unsnarl clocks`) is easier, and so is a shorter run."
    ),
    "threads-at-import": (
        "The target starts threads while it is imported. The runs are forked from a process that "
        "has imported it, so these threads are missing in every run, and a clean result is "
        "inconclusive. Start them from a function that the test calls."
    ),
    "uncontrolled-threads": (
        "Some threads were started in a way that unsnarl does not control (from C code, or before "
        "the probes). Their interleaving was left to chance, so a clean result is inconclusive."
    ),
}


class UnsnarlError(Exception):
    """An error for the user: one clear message, what to do next, and the exit code."""

    def __init__(self, slug: str, message: str, hint: str = "", exit_code: int = EXIT_TOOL) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


class UsageError(UnsnarlError):
    """The command line, a setting or the input is wrong (exit 2)."""

    def __init__(self, slug: str, message: str, hint: str = "") -> None:
        super().__init__(slug, message, hint, EXIT_USAGE)


class ToolError(UnsnarlError):
    """The tool could not do its work (exit 3)."""

    def __init__(self, slug: str, message: str, hint: str = "") -> None:
        super().__init__(slug, message, hint, EXIT_TOOL)


def tell(error: UnsnarlError, kind: str = "error") -> None:
    """Print an error: the message with its slug, what belongs to it, what to do next."""
    head, _, rest = error.message.partition("\n")
    print(f"unsnarl: {kind}: {head} [{error.slug}]", file=sys.stderr)
    if rest:
        print(rest, file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def warn(slug: str, message: str, hint: str = "") -> None:
    """Print what does not stop a command, in the form of an error."""
    tell(UnsnarlError(slug, message, hint), "warning")


def messages_page() -> str:
    """The text of docs/messages.md."""
    lines = [
        "# Messages",
        "",
        "Every error and warning ends with its slug in brackets. This page is made from",
        "`src/unsnarl/errors.py` by `python -m unsnarl.errors > docs/messages.md`.",
    ]
    for title, table in (("Errors", ERRORS), ("Warnings", WARNINGS)):
        lines += ["", f"## {title}"]
        for slug in sorted(table):
            lines += ["", f"### {slug}", "", table[slug]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(messages_page(), end="")
