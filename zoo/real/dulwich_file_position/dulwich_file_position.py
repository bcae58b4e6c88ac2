# SPDX-License-Identifier: Apache-2.0
"""A git server reads two objects of one pack for two clients."""

import os
import sys
import tempfile
import threading

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Blob
from dulwich.pack import Pack, write_pack


def main():
    blobs = [Blob.from_string(text * 50) for text in (b"red ", b"green ")]
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "pack-colours")
        write_pack(name, [(blob, None) for blob in blobs], DEFAULT_OBJECT_FORMAT, deltify=False)
        with Pack(name, object_format=DEFAULT_OBJECT_FORMAT) as pack:
            assert len(pack.data) == len(pack.index) == len(blobs)

            def serve(blob):
                try:
                    answers[blob.id] = pack.get_raw(blob.id)[1] == blob.as_raw_string()
                except Exception as exc:
                    answers[blob.id] = exc

            clients = [threading.Thread(target=serve, args=(blob,)) for blob in blobs]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
    wrong = [answer for answer in answers.values() if answer is not True]
    if wrong:
        print("a client got", wrong)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
