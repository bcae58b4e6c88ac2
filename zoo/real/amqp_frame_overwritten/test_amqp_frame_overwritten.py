# SPDX-License-Identifier: Apache-2.0
"""Two threads publish over one connection, each on a channel of its own."""

import struct
import threading

import pytest
from amqp.method_framing import frame_writer

METHOD = 1
PUBLISH = (60, 40)


class Connection:
    frame_max = 4096
    bytes_sent = 0


class Wire:
    """What the broker gets."""

    def __init__(self):
        self.frames = []

    def write(self, data):
        self.frames.append(bytes(data))


def parts(frame):
    """The channel and the arguments of a frame."""
    kind, channel, size = struct.unpack_from(">BHI", frame)
    assert kind == METHOD
    return channel, frame[11 : 7 + size]


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def write_frame(wire):
    return frame_writer(Connection(), wire)


def test_frames_of_two_channels_stay_whole(write_frame, wire):
    messages = {1: b"order 1001", 2: b"invoice 7"}
    ready = threading.Barrier(len(messages))

    def publish(channel, message):
        ready.wait(timeout=5)
        write_frame(METHOD, channel, PUBLISH, message, None)

    publishers = [threading.Thread(target=publish, args=message) for message in messages.items()]
    for publisher in publishers:
        publisher.start()
    for publisher in publishers:
        publisher.join(timeout=5)

    assert dict(parts(frame) for frame in wire.frames) == messages
