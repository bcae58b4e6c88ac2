# SPDX-License-Identifier: Apache-2.0
"""Trace a small picture: every renderer has its own rows, and a checksum validates the whole."""

import threading

WIDTH, HEIGHT = 6, 4
SPHERES = [(1, 1, 2, 90), (4, 2, 1, 60)]

checksum = 0
checksum_lock = threading.Lock()


def trace(x, y):
    """The brightness of a pixel: that of the nearest sphere, or of the sky."""
    for centre_x, centre_y, radius, brightness in SPHERES:
        distance = (x - centre_x) ** 2 + (y - centre_y) ** 2
        if distance <= radius**2:
            return brightness - distance
    return 5 * y


def brightness_of(row):
    return sum(row) % 997


class Renderer(threading.Thread):
    def __init__(self, first, step, picture):
        super().__init__(name=f"renderer-{first}")
        self.rows = range(first, HEIGHT, step)
        self.picture = picture

    def run(self):
        for y in self.rows:
            row = [trace(x, y) for x in range(WIDTH)]
            self.picture[y] = row
            self.validate(row)

    def validate(self, row):
        global checksum
        with checksum_lock:
            checksum += brightness_of(row)


def main():
    picture = {}
    renderers = [Renderer(first, 2, picture) for first in range(2)]
    for renderer in renderers:
        renderer.start()
    for renderer in renderers:
        renderer.join()
    expected = sum(brightness_of(row) for row in picture.values())
    assert checksum == expected, "the picture does not validate"


if __name__ == "__main__":
    main()
