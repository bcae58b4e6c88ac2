# SPDX-License-Identifier: Apache-2.0
from importer import Importer


def test_stop_ends_the_import():
    importer = Importer(["Ann ", "Bob "])
    importer.start()
    importer.stop()
    assert not importer.running
    assert importer.imported in ([], ["ann"], ["ann", "bob"])
