# SPDX-License-Identifier: Apache-2.0
"""Two panels are drawn with the same sensors by clocks of their own, and then follow one of the sensors."""

import threading

import reactivex
from reactivex import operators as ops
from reactivex.subject import Subject


def panel(sensor, *sources):
    """What is drawn: the first values of all the sources, and then what the sensor has to say."""
    drawn = []

    def draw(values):
        drawn.append(values)
        return sensor

    reactivex.combine_latest(*sources).pipe(ops.take(1), ops.flat_map(draw)).subscribe(drawn.append)
    return drawn


def test_two_panels_are_drawn_at_the_same_time():
    temperature, humidity = Subject(), Subject()
    hall_clock, yard_clock = Subject(), Subject()
    hall = panel(humidity, temperature, humidity, hall_clock)
    yard = panel(temperature, humidity, temperature, yard_clock)
    temperature.on_next(21)
    humidity.on_next(48)

    clocks = [
        threading.Thread(target=hall_clock.on_next, args=("12:00",), daemon=True),
        threading.Thread(target=yard_clock.on_next, args=("12:01",), daemon=True),
    ]
    for clock in clocks:
        clock.start()
    for clock in clocks:
        clock.join(timeout=3)

    assert not any(clock.is_alive() for clock in clocks), "a clock stands still"
    assert (hall, yard) == ([(21, 48, "12:00")], [(48, 21, "12:01")])
