# SPDX-License-Identifier: Apache-2.0
"""The state of a machine is shown on a page while a worker drives it."""

import threading

from statemachine import State, StateMachine


class TrafficLight(StateMachine):
    green = State(initial=True)
    yellow = State()
    red = State()

    cycle = green.to(yellow) | yellow.to(red) | red.to(green)


def test_configuration_is_read_while_the_machine_runs():
    light = TrafficLight()
    assert {state.id for state in light.configuration} == {"green"}

    ready = threading.Barrier(2)

    def drive():
        ready.wait(timeout=5)
        for _ in range(3):
            light.cycle()

    worker = threading.Thread(target=drive)
    worker.start()
    ready.wait(timeout=5)
    shown = [light.configuration for _ in range(4)]
    worker.join(timeout=10)

    assert None not in shown
    assert {state.id for state in light.configuration} == {"green"}
