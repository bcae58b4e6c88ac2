# SPDX-License-Identifier: Apache-2.0
import threading
import time

from autosave import Autosave


def test_nothing_is_saved_after_close():
    saved = []
    autosave = Autosave(saved.append, delay=0.05)
    editors = [
        threading.Thread(target=autosave.changed, args=(f"draft of {name}",)) for name in ("ann", "bob")
    ]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join(timeout=5)
    autosave.close()
    before = list(saved)
    time.sleep(0.2)
    assert saved == before
