# SPDX-License-Identifier: Apache-2.0
"""Two jobs export documents without following their references; exit 1 if a reference is followed."""

import sys
from concurrent.futures import ThreadPoolExecutor

from bson import DBRef
from mongoengine import Document, IntField, ReferenceField, StringField
from mongoengine.context_managers import no_dereference


class User(Document):
    id = IntField(primary_key=True)
    name = StringField()


class Group(Document):
    id = IntField(primary_key=True)
    owner = ReferenceField(User, dbref=True)


def export(number):
    group = Group(id=number, owner=DBRef("user", 100 + number))
    with no_dereference(Group):
        return group.id, group.owner.id


def main():
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(export, number) for number in (1, 2)]
    errors = [job.exception(timeout=10) for job in jobs]
    if any(errors):
        print("a reference was followed:", [error for error in errors if error])
        return 1
    if [job.result() for job in jobs] != [(1, 101), (2, 102)]:
        print("exported", [job.result() for job in jobs])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
