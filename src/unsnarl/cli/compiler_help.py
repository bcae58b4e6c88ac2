# SPDX-License-Identifier: Apache-2.0
"""The help of `unsnarl cc` and `unsnarl c++`: one text for both."""

from __future__ import annotations

OPTIONS = """
The program runs as always; under `unsnarl hunt -- ./program` its threads are controlled. All
arguments go to the compiler, except these, which `unsnarl record` needs:

\b
  --functions  log function calls  (--level func)
  --blocks     log basic blocks    (--level block)
  --loops      log loop iterations (--level loop, funcloop); implies both

\b
Environment:
  {variable:<22}the compiler, such as clang or "ccache gcc"; [{compiler}]
  UNSNARL_CC_FUNCTIONS  1 for --functions
  UNSNARL_CC_BLOCKS     1 for --blocks
  UNSNARL_CC_LOOPS      1 for --loops
"""


def compiler_help(summary: str, variable: str, compiler: str, examples: str) -> str:
    """The whole help; the examples are lines of their own."""
    options = OPTIONS.format(variable=variable, compiler=compiler)
    ask = f"For the compiler's own options, ask the compiler itself: {compiler} --help."
    lines = "".join(f"  {line}\n" for line in examples.splitlines())
    return f"{summary}\n{options}\n\b\nExamples:\n{lines}\n{ask}"
