# SPDX-License-Identifier: Apache-2.0
"""`unsnarl watch` puts this folder first on the path: Python imports it before the program starts.

The program itself is run by the interpreter as ever: its `__main__`, arguments and tracebacks are
its own. A sitecustomize that it has elsewhere is loaded as well.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys


def _load_the_other() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    paths = [one for one in sys.path if os.path.abspath(one or ".") != here]  # noqa: PTH100
    sys.path[:] = paths
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _watch() -> None:
    settings = json.loads(os.environ.get("UNSNARL_WATCH", "{}"))
    if settings:
        import unsnarl.watch  # noqa: PLC0415

        unsnarl.watch.start(**settings)


try:
    _watch()
except Exception as _error:
    _why = f"the program is not watched: {_error}"
    print(f"unsnarl: warning: {_why} [watch-stopped]", file=sys.stderr)
_load_the_other()
