# SPDX-License-Identifier: Apache-2.0
"""Thumbnails are made by a pool of threads; only the last three of them are kept."""

import sys
from concurrent.futures import ThreadPoolExecutor

from boltons.cacheutils import LRI, cached

THUMBNAILS = LRI(max_size=3)


@cached(THUMBNAILS)
def thumbnail(photo):
    return f"{photo}, small"


def main():
    photos = ["beach", "dog", "house", "lake", "moon", "train"]
    for photo in photos[:2]:
        thumbnail(photo)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(thumbnail, photos[2:]))
    assert made == [f"{photo}, small" for photo in photos[2:]]
    if len(THUMBNAILS) > THUMBNAILS.max_size:
        print("kept:", sorted(THUMBNAILS.values()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
