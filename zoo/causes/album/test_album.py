# SPDX-License-Identifier: Apache-2.0
import threading

from album import Album


def test_nothing_is_lost():
    album = Album()
    names = ["beach", "dunes", "hotel", "train"]

    def camera(mine):
        for name in mine:
            album.add(name)

    cameras = [threading.Thread(target=camera, args=(names[at::2],)) for at in range(2)]
    for one in cameras:
        one.start()
    for one in cameras:
        one.join()
    assert (album.names(), album.used) == (names, 20), "the album is not complete"
