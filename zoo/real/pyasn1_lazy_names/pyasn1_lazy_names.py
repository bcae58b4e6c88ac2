# SPDX-License-Identifier: Apache-2.0
"""Two clients send a record each to a server that has just started; exit 1 if a record cannot be read."""

import sys
import threading

from pyasn1.codec.der.decoder import decode
from pyasn1.type import char, namedtype, univ

RECORDS = [b"\x30\x0a\x02\x01\x05\x0c\x05Alice", b"\x30\x08\x02\x01\x07\x0c\x03Bob"]


class Record(univ.Sequence):
    componentType = namedtype.NamedTypes(
        namedtype.NamedType("number", univ.Integer()),
        namedtype.NamedType("name", char.UTF8String()),
    )


def main():
    names, errors = {}, []

    def serve(substrate):
        record, rest = decode(substrate, asn1Spec=Record())
        try:
            names[int(record["number"])] = str(record["name"])
        except Exception as error:
            errors.append(error)

    clients = [threading.Thread(target=serve, args=(substrate,)) for substrate in RECORDS]
    for client in clients:
        client.start()
    for client in clients:
        client.join(timeout=10)
    if errors or names != {5: "Alice", 7: "Bob"}:
        print("read %r, errors %r" % (names, errors))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
