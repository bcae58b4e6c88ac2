# SPDX-License-Identifier: Apache-2.0
"""Every error and warning, each with a slug; docs/messages.md is made from these tables.

A message says what happened, its hint what to do next, and the paragraph here what it means for the
result. Exit codes are part of the contract: 2 wrong usage or input, 3 the tool could not do its
work, 4 inconclusive.
"""

from __future__ import annotations

import sys

EXIT_OK = 0
EXIT_FAILURE_FOUND = 1
EXIT_USAGE = 2
EXIT_TOOL = 3
EXIT_INCONCLUSIVE = 4
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
# As docs/commands.md has them.
EXIT_CODES: dict[int, str] = {
    EXIT_OK: "nothing failed, or the command did its work",
    EXIT_FAILURE_FOUND: (
        "a failure was found (with `--baseline`: one that is not in it), replayed or reproduced"
    ),
    EXIT_USAGE: "wrong usage or input",
    EXIT_TOOL: "unsnarl could not do its work",
    EXIT_INCONCLUSIVE: "inconclusive",
    EXIT_INTERRUPTED: "Ctrl-C; what is known so far is shown",
    EXIT_TERMINATED: "SIGTERM; the same",
}

ERRORS: dict[str, str] = {
    "bad-argument": (
        "An option or argument has a value that the command cannot use. The message names it; "
        "`unsnarl COMMAND --help` lists what is allowed."
    ),
    "bad-anomaly": (
        "This is not what a watched program writes or sends: it is too large, damaged, from "
        "another version, or not from unsnarl at all. The message says what is wrong with it, and "
        "nothing of it was used."
    ),
    "bad-baseline": (
        "The file given to `--baseline` is missing, is not what `--update-baseline` (for `unsnarl "
        "watch`: `unsnarl baseline`) writes, or is from a newer version. Nothing was run; a "
        "program that is watched already goes on, and all of its communication counts as new. "
        "Write the file anew."
    ),
    "bad-kept": (
        "A file in `tests/interleavings` is not what `unsnarl keep` writes, or is from a newer "
        "version. Keep the finding once more, or remove the file."
    ),
    "bad-pattern": (
        "The regular expression given to `--fail-if` does not compile. It is searched for in the "
        "run's standard output and standard error, in Python's `re` syntax."
    ),
    "bad-setting": (
        "A setting in the environment (`UNSNARL_…`) or under `[tool.unsnarl]` in pyproject.toml "
        "is unknown or has the wrong type. The message gives the full key."
    ),
    "bad-tokens": (
        "A file of tokens for `unsnarl collect` cannot be read, can be read by others, or has no "
        "token. A folder has two such files, `send` and `read`, with a token on each line. Nothing "
        "was served."
    ),
    "build-missing": (
        "The native core, `unsnarl._core`, cannot be imported: the package was copied instead of "
        "installed, or was built for another Python. Reinstall it with the interpreter that the "
        "message names."
    ),
    "campaign-damaged": (
        "The campaign's database or `campaign.json` cannot be read, or was written by a newer "
        "version. The run files next to it are untouched."
    ),
    "clocks-drift": (
        "The clocks of two cores drift apart, so their stamps cannot be compared. Nothing was "
        "stored. This happens on machines with several sockets and separate clocks, and on "
        "virtual machines that were moved to another host."
    ),
    "clocks-not-bound": (
        "The kernel did not let the measuring threads run on cores that it had listed before: the "
        "cores were taken away meanwhile, or their numbers are above 1023. Nothing was stored. "
        "`unsnarl clocks --no-pin` measures wherever the threads run."
    ),
    "clocks-unseen": (
        "The test loops ran out of time before messages had passed both ways between all cores: "
        "the machine is too busy, or unpinned threads (`--no-pin`) never ran there. Nothing was "
        "stored. Try again with `--pin`, or when the machine is less busy."
    ),
    "no-codec": (
        "An access trace was compressed with zstd, and this installation has none: it comes with "
        "Python 3.14 and with the extra `traces`. Nothing was read."
    ),
    "no-trace": (
        "`unsnarl simulate-hw` was given a run without an access trace. Make one: "
        "`unsnarl hunt --accesses -- COMMAND`, or `unsnarl record --level access --all -- COMMAND`."
    ),
    "code-changed": (
        "The target's code or build differs from the one that the campaign's runs were made with, "
        "so nothing can be added to the campaign. `unsnarl replay` and `unsnarl verify` follow "
        "its schedules in the current code; a new hunt starts a new campaign."
    ),
    "collect-missing": (
        "`unsnarl collect` needs starlette, uvicorn and httptools, which are an extra: `pip "
        "install 'unsnarl[collect]'`. All other commands work without them."
    ),
    "collection-failed": (
        "pytest could not collect the tests, or was asked to run them in other processes. Its own "
        "output is shown. Nothing was run."
    ),
    "cluster-differs": (
        "A worker of the cluster has other code than the first one that began: another revision "
        "of the project, or another Python. Runs of different code cannot be compared. Give all "
        "workers the same project in the same folder."
    ),
    "cluster-failed": (
        "The scheduler given to `--cluster` cannot be reached, or no worker could make a run. The "
        "runs stored so far are complete: `unsnarl hunt --resume` goes on here, or there with "
        "`--cluster`."
    ),
    "cluster-missing": (
        "`--cluster` needs dask.distributed: `pip install 'unsnarl[cluster]'`. Everything else "
        "works without it."
    ),
    "cluster-unsupported": (
        "A function that is hunted in the process that calls it cannot be run on other machines. "
        "Hunt a command, or leave `--cluster` out."
    ),
    "command-missing": "`unsnarl hunt` needs the command to run, after `--`.",
    "command-not-found": (
        "The program or script named in the command does not exist or cannot be executed. Nothing "
        "was run."
    ),
    "command-not-python": (
        "The command is neither a Python script, module or pytest call, nor a program built with "
        "`unsnarl cc`. There is nothing to put probes into. Name the program itself rather than a "
        "shell script that starts it."
    ),
    "command-unsupported": (
        "This form of the Python command line (`-c`, standard input) cannot be hunted. Put the "
        "code into a file."
    ),
    "compiler-conflict": (
        "An option given to `unsnarl cc` or `unsnarl c++` conflicts with the probe: another "
        "sanitizer lays out memory in its own way, and there is no probe for 32-bit programs. "
        "Nothing was compiled."
    ),
    "damaged-run-file": (
        "A run file is truncated or is not a run file. It is named and skipped; the ranking uses "
        "the others."
    ),
    "disk-full": (
        "The disk is full, or the limit on file sizes was reached, while a run was being written. "
        "Everything stored before is complete. Free some space and continue with `unsnarl hunt "
        "--resume`."
    ),
    "fails-early": (
        "Every run failed before the target started a second thread, so the failure does not "
        "depend on the interleaving of threads. The traceback or output of the first run is "
        "shown. Make the command pass on its own first."
    ),
    "internal-error": "This is a bug in unsnarl. Please report the text shown, with the command.",
    "interrupted": (
        "Ctrl-C, or SIGTERM. What is known so far is shown as usual, with what was not done. "
        "All finished runs are stored; `unsnarl hunt --resume` continues from there. An "
        "interrupted `unsnarl reproduce` leaves its record unchanged and keeps a schedule that it "
        "had already found."
    ),
    "level-unavailable": (
        "This program cannot record that level. A C or C++ program records its functions if it "
        "was built with `unsnarl cc --functions` (or with UNSNARL_CC_FUNCTIONS=1 in the "
        "environment), its basic blocks with `--blocks` (UNSNARL_CC_BLOCKS=1), and its loops with "
        "`--loops` (UNSNARL_CC_LOOPS=1), which includes both. Branches are recorded for Python "
        "code only. Nothing was run."
    ),
    "no-passing-run": (
        "No run of the command passed, so there is no baseline: it would have to be made of "
        "passing runs. Nothing was written. `unsnarl hunt` finds out why they fail."
    ),
    "watch-native": (
        "`unsnarl watch` watches Python programs. Probes of a C or C++ program cannot be switched "
        "off and on while its threads run: nothing would keep them out meanwhile. Nothing was run."
    ),
    "hypothesis-missing": (
        "`unsnarl stress` needs Hypothesis, which makes arguments from type hints and is an extra: "
        "`pip install 'unsnarl[stress]'`. All other commands work without it."
    ),
    "mcp-missing": (
        "`unsnarl mcp` needs the official SDK of the Model Context Protocol, which is an extra: "
        "`pip install 'unsnarl[mcp]'`. All other commands work without it."
    ),
    "postgres-missing": (
        "A store of `unsnarl collect` on a PostgreSQL server needs psycopg, which is an extra: "
        "`pip install 'unsnarl[postgres]'`. A store in a file works without it."
    ),
    "store-unusable": (
        "The store of `unsnarl collect` cannot be opened: the file or the server is not there, "
        "does not let us write, or has tables of a newer version. The message says which. Nothing "
        "was stored, and senders keep what they have."
    ),
    "serve-missing": (
        "`unsnarl serve` needs starlette and uvicorn, which are an extra: `pip install "
        "'unsnarl[serve]'`. All other commands work without them."
    ),
    "no-campaign": (
        "There is no stored campaign of that name (or for that command) under `.unsnarl/`. Run "
        "`unsnarl hunt` first, or start from the directory where it was run."
    ),
    "no-debug-info": (
        "The program has the probe but no debug information, so no access could be named by its "
        "line. Compile it with `-g` and do not strip it. Nothing was run."
    ),
    "no-patch": (
        "The finding has no patch that survived its checks, or the files of the patch are gone "
        "from the campaign's folder. `unsnarl fix` without `--apply` looks for one and shows how "
        "near it came."
    ),
    "no-rebuild": (
        "A patch of a C or C++ program is tried by building the program once more with the patched "
        "source. That needs the commands with which it was built, which `unsnarl cc` keeps in the "
        "program, and the sources as they were. The message says what is missing: a program of "
        "clang or of another wrapper, a source that is gone or was edited since."
    ),
    "no-finding": (
        "The campaign has no finding with that number: nothing failed, or the list is shorter."
    ),
    "no-orders": (
        "A reproducer and a kept interleaving consist of the few orders that make the failure "
        "certain. For this finding no small set of them was found; `unsnarl minimise` says more."
    ),
    "not-confirmed": (
        "A reproducer, or a kept interleaving, is a proof: only confirmed findings have one."
    ),
    "no-run": (
        "The campaign has no run with that number, or the argument does not name a run. Reports "
        "name the runs they describe; `unsnarl replay` takes a number, a run file or "
        "CAMPAIGN/RUN."
    ),
    "no-schedule": (
        "The schedule of this run is not stored, so it cannot be replayed. Schedules are kept for "
        "failing runs whose run files are kept."
    ),
    "no-step": "The explanation has fewer steps than `--break` asks for. Nothing was run.",
    "no-run-files": (
        "The runs ended without leaving a run file, so nothing is known about their threads. A "
        "target that ends its own process (`os._exit`, `exec`) leaves none."
    ),
    "no-tests": "pytest found no test to run. Check the path and the selection (`-k`, `-m`, `::`).",
    "no-threads": (
        "No run started a second thread and none failed. A failure that needs an interleaving of "
        "threads cannot happen in such a program, and the hunt says nothing about it. Programs "
        "that use only processes or only asyncio are not covered."
    ),
    "not-mergeable": (
        "The folders given to `unsnarl merge` are not shards of one hunt: another command, another "
        "seed, other settings or another standard input. Or their sites cannot be counted by one "
        "list, because they ran different code. Nothing was merged."
    ),
    "not-writable": (
        "The campaign folder cannot be written. Run from a directory where you may write, or make "
        "`.unsnarl` writable."
    ),
    "nothing-instrumented": (
        "No module of the target was instrumented, so no access could be observed. The project "
        "root may be wrong (start from the project's directory), or the code is in an installed "
        "package: name it with `--include`."
    ),
    "nothing-to-rank": (
        "The campaign has no failing run, so there is nothing for a ranking to explain."
    ),
    "nothing-to-verify": (
        "The campaign stores no failing run, so there is no schedule to try on the edited code. "
        "Name a campaign in which something failed."
    ),
    "one-core": (
        "The process may use only one core (taskset, a container's cpuset), so there is no skew "
        "to measure and no parallel run to record."
    ),
    "platform-unsupported": "unsnarl runs on Linux, on x86-64 and aarch64.",
    "not-reproduced": (
        "`unsnarl reproduce` made its tries, and none failed as recorded, or no schedule that did "
        "so fails every time. The record is still there. More tries (`--tries`), a record at a "
        "finer level (`--level access`), or measured clocks (`unsnarl clocks`) help."
    ),
    "program-refused": (
        "A run could not be carried out as planned: the program was rebuilt during the hunt, was "
        "built with another version of unsnarl, may not use the memory that the probe needs, or "
        "has more threads at once than the gate can hold. Everything stored before is complete."
    ),
    "program-static": (
        "A statically linked program cannot be observed: the probe sits between a program and the "
        "shared libc. `unsnarl cc` refuses to link one, and `unsnarl hunt` to run one."
    ),
    "program-stripped": (
        "The program was built with the probe, but its symbols have been removed since. Nothing "
        "was run."
    ),
    "program-unsupported": (
        "The file is not a program that can run on this machine: it is built for another "
        "architecture or for 32 bits, it is a library or an object file, or it is truncated. "
        "Nothing was run."
    ),
    "program-without-probe": (
        "The program was not built with `unsnarl cc` or `unsnarl c++`, so none of its accesses "
        "can be seen. Nothing was run. In a project with a Makefile or a configure script: "
        '`CC="unsnarl cc" CXX="unsnarl c++"`; with CMake: `-DCMAKE_C_COMPILER=unsnarl-cc`.'
    ),
    "python-unsupported": (
        "The target's interpreter is neither CPython 3.11 to 3.15 nor a free-threaded 3.13. The "
        "probes are rewritten bytecode, which differs from version to version. `--force-python` "
        "tries a newer one."
    ),
    "gil-enabled": (
        "The target runs on a free-threaded build of Python, but a module that was not made for it "
        "has switched the interpreter's lock on again, or the environment has. Runs would say "
        "nothing about free threading, so none is made. A newer release of that module may declare "
        "`Py_MOD_GIL_NOT_USED`; `PYTHON_GIL=0` keeps the lock off at its own risk."
    ),
    "python-without-unsnarl": (
        "The command uses a different Python environment from the one unsnarl runs in, and "
        "unsnarl is not installed there. The probes must load in the target's own interpreter."
    ),
    "record-lacks-values": (
        "`unsnarl reproduce --with clap` solves the order of a run from what its accesses found, "
        "or from the branches of Python code. Record with `--values`, best with `--level access` "
        "or `--level funcloop`, or with `--branches`; or use `--with pres`, which needs neither."
    ),
    "record-passed": (
        "The recorded run did not fail, so there is nothing to reproduce. `unsnarl record "
        "--until-fail N` keeps the first run that fails."
    ),
    "replay-differs": (
        "The run was repeated with the stored schedule and did not fail as recorded, so there is "
        "nothing to stop at. `unsnarl replay` says where the program has changed."
    ),
    "solver-memory": (
        "The search for an order needed more than its share of memory, which is half of the "
        "machine's. This says nothing about whether there is an order. A shorter run, or clocks "
        "at a finer level (`--level`), leave less to search for."
    ),
    "solver-missing": (
        "The order problem was to be solved by z3, which is not installed in this environment: "
        "`pip install 'unsnarl[solve]'` brings it. Nothing was solved. unsnarl's own solver needs "
        "nothing and is much faster."
    ),
    "step-not-reached": (
        "This run fails with the same signature as the explained one, but in another way: it does "
        "not pass the requested step. Replay the run that the report names."
    ),
    "server-failed": (
        "The process that imports the target and forks the runs could not start, or died "
        "repeatedly. The end of its output is shown; all of it is in `server.log` in the "
        "campaign's folder."
    ),
    "stdin-refused": (
        "Every run reads standard input from its beginning, so it is copied first. This one has "
        "no end, or is too long. Give a file, or nothing (`< /dev/null`). Nothing was run."
    ),
    "stress-arguments": (
        "Nothing is known to call a class or its methods with: they have parameters without a "
        "default, of types of which no value can be written down. A setup file has what is "
        "missing: `make()`, which gives an object, and `calls`, which has examples."
    ),
    "stress-no-class": (
        "There is no such module, or no such class in it, or the class has nothing to call. It is "
        "named as MODULE:CLASS, as an import would find it from the current folder, or as "
        "FILE.py:CLASS."
    ),
    "stress-unrepeatable": (
        "All that the class gives differs when the same calls are made once more in the same "
        "serial order: random numbers, times, addresses. Then no serial order can be compared "
        "with, and nothing can be said (exit 4). An invariant can: `check(object)` in a setup "
        "file."
    ),
    "target-import-failed": (
        "The target could not be loaded: importing it raised an exception before any run began. "
        "Make the command work on its own first."
    ),
    "page-not-built": (
        "The script of the HTML report is not in this installation: it is bundled with npm, which "
        "was not there when unsnarl was built. All other outputs work. `make web` in a checkout "
        "bundles it."
    ),
    "function-without-source": (
        "`unsnarl.hunt(function)` rewrites the function from its source, which is not there: it "
        "was made by exec() or typed into an interpreter without history, or its file was edited "
        "after it was loaded. Nothing was run. Put it into a file, or load it anew."
    ),
    "target-not-found": (
        "The target's interpreter cannot find the script, module or test that the command names, "
        "or pytest is not installed there. Nothing was run."
    ),
    "tool-missing": (
        "A program that unsnarl calls is not installed: binutils (nm, objdump, addr2line, "
        "readelf) list the sites of C and C++ programs, gdb debugs them."
    ),
    "wrong-debugger": "Python programs are replayed with `--pdb`, C and C++ programs with `--gdb`.",
}

WARNINGS: dict[str, str] = {
    "anomaly-gone": (
        "No line of the program is one of the anomaly given to `--from-anomaly`: it was edited, or "
        "this is another program. The hunt was made without it."
    ),
    "anomaly-proved": (
        "The lines of the anomaly given to `--from-anomaly` are in a confirmed finding: forcing "
        "their order makes the program fail, forbidding it does not."
    ),
    "anomaly-unproved": (
        "No confirmed finding has the lines of the anomaly given to `--from-anomaly`. It may be "
        "harmless, or need an input that this command does not have; a longer hunt may decide."
    ),
    "baseline-failing": (
        "Some runs failed while a baseline was collected. What they did is not in it. If that is "
        "the failure you watch for, all is well; else hunt it first: `unsnarl hunt`."
    ),
    "one-shard": (
        "The hunt was given `--shard`: the answer is that of one part of the runs, and no "
        "experiment was made. `unsnarl merge` puts the shards together and makes them."
    ),
    "free-runs": (
        "The hunt was given `--plan free` or `--plan noise`: threads ran in real parallel, and "
        "their runs were ranked first. What is shown was then found and proved under the gate, by "
        "a hunt that the ranking led. Or nothing failed freely: that says nothing of other orders."
    ),
    "not-under-the-gate": (
        "Something failed while threads ran freely, and is ranked. But no run under the gate "
        "failed in the same way in the time there was, so nothing was tested. Give more `--time`, "
        "or record one: `unsnarl record --until-fail`, then `unsnarl reproduce`."
    ),
    "shards-missing": (
        "Not all shards of the hunt were merged. What was found holds; the rate of failures, and "
        "that something was not found, is said of the runs that are there. Merge the others into "
        "the same campaign when they are done."
    ),
    "shards-differ": (
        "The shards did not run the same code: another revision, another Python or other modules. "
        "Points of the same file, function, line and column count as one, others do not. Failing "
        "runs of the code that is not here cannot be replayed here."
    ),
    "shards-elsewhere": (
        "The shards were merged and ranked, but the target does not run here as it ran there: "
        "its code is another, or it cannot be started. No experiment was made."
    ),
    "baseline-gone": (
        "The baseline has a finding of which nothing occurred in this hunt. If it is repaired, "
        "`--update-baseline` removes it from the file; if the hunt was short, it may come back. It "
        "does not change the exit code."
    ),
    "baseline-quiet": (
        "These failures are in the file given to `--baseline`: they are counted, not shown, and do "
        "not change the exit code. Without `--baseline` the hunt explains them."
    ),
    "store-lost": (
        "The store of `unsnarl collect` does not answer any more. Batches are refused until it "
        "does, and the connection is made anew for the next one. What was acknowledged is stored; "
        "senders keep and repeat the rest."
    ),
    "stress-left-out": (
        "`unsnarl stress` calls no method with a parameter of which it has no value: neither its "
        "type hint nor an example says what to give. Name examples in a setup file (`calls`)."
    ),
    "stress-not-compared": (
        "The same calls in the same serial order gave something else when they were repeated: a "
        "random number, a time, an address. What these methods or attributes give says nothing "
        "about threads, so it was not compared; everything else was."
    ),
    "stress-narrow-patch": (
        "A patch is found and checked on the one failing program: it repairs what those calls do "
        "to each other. Other methods of the class may need the same lock. Apply the patch, and "
        "let `unsnarl stress` look for calls that still fail."
    ),
    "stress-not-met": (
        "A program of calls gave what no serial order gives, and was written into a file, but no "
        "run of the hunt of that file failed: there is nothing to explain. Hunt the file for "
        "longer, or with another seed."
    ),
    "campaigns-removed": (
        "When a hunt begins, campaigns older than `keep-days` (30) are removed from `.unsnarl/`, "
        "then the oldest until the rest takes at most `keep-mb` (2000). The newest stays, and so "
        "does one that another command uses. 0 keeps all; `unsnarl config` shows both settings."
    ),
    "cut-off": (
        "The time of the command (`--time`), or Ctrl-C, ended some parts of the work before they "
        "were done. The answer has everything that was found until then; the message names what is "
        "missing, and so does `unfinished` in the JSON report. With more `--time`, or with "
        "`unsnarl confirm` and `unsnarl minimise` afterwards, the rest is made."
    ),
    "part-failed": (
        "A part of the work failed because of a bug in unsnarl. The answer has everything else, "
        "and the exit code is what it would have been. The file that the message names has what a "
        "bug report should have: please attach it."
    ),
    "not-patched": (
        "No patch of a C or C++ program was tried because the program cannot be built once more: "
        "it does not say how it was built, or a source is gone or was edited since. See no-rebuild."
    ),
    "untestable": (
        "A finding is about code that no other run can be asked for, so no experiment was made "
        "about it: too much code was loaded after the program had begun."
    ),
    "aliased-threads": (
        "More than 64 threads were alive at once and some shared an identity. Some edges between "
        "them are missing; no edge shown is wrong."
    ),
    "always-fails": (
        "No run passed, and as a rule some of them let every thread run until it waited or ended. "
        "So the failure is not a matter of scheduling. With no passing run to compare, a ranking "
        "could not distinguish a cause from what always happens; none is made, and no experiment."
    ),
    "always-hangs": (
        "Every run reached the time limit, so there is nothing to compare. Raise `--timeout` if "
        "the target needs longer; runs are slower than usual because one thread runs at a time."
    ),
    "budget-out": (
        "The time or the number of runs was used up before there were enough failing or passing "
        "runs. The result rests on fewer runs; raise `--time` or `--max-runs`, or continue with "
        "`--resume`."
    ),
    "clocks-damaged": (
        "The file in the user's cache that stores this boot's clocks cannot be read. The clocks "
        "are measured again, and the file is replaced."
    ),
    "clocks-not-kept": (
        "The clocks were measured but could not be stored in the user's cache, so the next "
        "command that needs them measures them again. Set XDG_CACHE_HOME to a folder that can be "
        "written."
    ),
    "counter-not-invariant": (
        "The processor's counters change their speed, stop, or are not trusted by the kernel, so "
        "the stamps of two cores cannot be compared. The kernel's clock (`clock_gettime`) is used "
        "instead: it is slower to read, and its own range is measured as well."
    ),
    "cells-evicted": (
        "Some runs touched more memory than the table of cells holds (655,000 attributes, elements "
        "or words of 4 bytes). What was known of the oldest was forgotten, so rankings may lack an "
        "order; narrow the target, or the modules instrumented."
    ),
    "damaged-runs": "Some run files could not be read and were skipped; the message names them.",
    "edges-dropped": (
        "Some runs made more communication edges than the table holds. Rankings may lack edges; "
        "narrow the target, or the modules instrumented."
    ),
    "patterns-dropped": (
        "Some runs made more access patterns than the table holds. Rankings may lack patterns; "
        "narrow the target, or the modules instrumented."
    ),
    "hangs": (
        "Some runs reached the time limit. They are labelled hang and not compared with the "
        "others. Under the gate, the second half of the limit belongs to a fair scheduler: no "
        "strategy kept them from ending."
    ),
    "python-forced": (
        "`--force-python` was given: the target runs in a version or build of Python that the "
        "probes were never tried in. What was found was found, but silence says little."
    ),
    "latent": (
        "The failure happened only with free switching, never in the runs that switch where the "
        "interpreter's lock allows it. It is not expected under this interpreter's lock, but will "
        "happen on a free-threaded one."
    ),
    "accesses-not-seen": (
        "C code or a library was given objects of the program and may have read or changed them "
        "where no probe stands; or, where a function is hunted, the file of another one that it "
        "needs was edited after it was loaded. An interleaving around such an access may be "
        "missing from the evidence. docs/accesses.md says what is seen and how."
    ),
    "library-not-listed": (
        "A shared library built with `unsnarl cc` was loaded from outside the project, or was "
        "rebuilt after the hunt began: nothing in it was observed or controlled. Name its file "
        "with --include, or hunt again."
    ),
    "hooks-replaced": (
        "Python's functions (levels `func`, `funcloop`) and lines (`block`) are recorded by a "
        "profile or trace function, and a thread has only one. The program set its own "
        "(`sys.setprofile`, `sys.settrace`, or those of `threading`; debuggers and coverage tools "
        "do so, too): from then on its functions or lines are not in the record. Everything else "
        "is. Record without that tool, or at another level."
    ),
    "log-dropped": (
        "A thread logged more than a gigabyte, or the disk was full: what it did from then on was "
        "not recorded. Record at a coarser level, or a shorter run."
    ),
    "trace-dropped": (
        "A run made more than a gigabyte of accesses (33 million), or the disk was full. Its trace "
        "has the first of them, in their order, and ends there: so does what is made of it. Trace "
        "a shorter run."
    ),
    "no-failure": (
        "Nothing failed. For n passing runs, the share of failing schedules of this kind is below "
        "3/n with 95 % confidence; this is not a proof."
    ),
    "order-unsatisfiable": (
        "There is no order of the logged events in which every read finds what it found and every "
        "branch goes as recorded. From values: the log or the clock ranges are wrong. From "
        "branches: a non-integer value decided, and was taken from a separate run; record with "
        "`--level access --values`."
    ),
    "runs-lost": "The fork server died and was restarted; the runs in progress were repeated.",
    "solver-time-out": (
        "The solver was stopped before it had an answer: nothing is known. A record with more "
        "stamps (`--level access`, after `unsnarl clocks`) is easier, and so is a shorter run."
    ),
    "threads-at-import": (
        "The target starts threads while it is imported. Runs are forked from a process that has "
        "imported it, so these threads are missing in every run, and a clean result is "
        "inconclusive. Start them from a function that the test calls."
    ),
    "uncontrolled-threads": (
        "Some threads were started in a way that unsnarl does not control (from C code, or before "
        "the probes). Their interleaving was left to chance, so a clean result is inconclusive."
    ),
    "watch-stopped": (
        "The program is not watched, or no longer: the spool cannot be written, the interpreter "
        "has no lock that keeps threads out while probes come and go, or there is a bug in "
        "unsnarl. The program itself is not affected. The message says why."
    ),
    "watch-unsent": (
        "The endpoint did not accept batches of anomalies. They stay in the spool and are sent "
        "later, up to a limit: then the oldest give way."
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


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


class UsageError(UnsnarlError):
    """The command line, a setting or the input is wrong (exit 2)."""

    def __init__(self, slug: str, message: str, hint: str = "") -> None:
        super().__init__(slug, message, hint, EXIT_USAGE)


class ToolError(UnsnarlError):
    """The tool could not do its work (exit 3)."""

    def __init__(self, slug: str, message: str, hint: str = "") -> None:
        super().__init__(slug, message, hint, EXIT_TOOL)


def print_error(error: UnsnarlError, kind: str = "error") -> None:
    """Print the message with its slug, its further lines, and what to do next."""
    head, _, rest = error.message.partition("\n")
    print(f"unsnarl: {kind}: {head} [{error.slug}]", file=sys.stderr)
    if rest:
        print(rest, file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def warn(slug: str, message: str, hint: str = "") -> None:
    """Print a message that does not stop the command, in the form of an error."""
    print_error(UnsnarlError(slug, message, hint), "warning")


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
