# SPDX-License-Identifier: Apache-2.0
"""One schema object of a web service, two requests at the same time: one good, one bad."""

import collections
import collections.abc
import sys
from concurrent.futures import ThreadPoolExecutor

for _name in ("Mapping", "MutableSet", "Iterable"):  # this release was written before Python 3.10 removed these names
    setattr(collections, _name, getattr(collections.abc, _name))

from marshmallow import Schema, fields  # noqa: E402


class Order(Schema):
    customer = fields.String(required=True)
    pieces = fields.Integer(required=True)
    remark = fields.String()


def main():
    schema = Order()
    good = {"customer": "ann", "pieces": 3, "remark": "soon"}
    bad = {"customer": "bob", "pieces": "many"}

    with ThreadPoolExecutor(2) as pool:
        good_load = pool.submit(schema.load, good)
        bad_load = pool.submit(schema.load, bad)

    if good_load.result().errors:
        print("good order refused:", good_load.result().errors)
        return 1
    if set(bad_load.result().errors) != {"pieces"}:
        print("bad order accepted:", bad_load.result())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
