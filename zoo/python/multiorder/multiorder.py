# SPDX-License-Identifier: Apache-2.0
"""Log the readings of a sensor: one thread samples it into a register, another writes them down."""

import threading

RAW = [412, 430]


def calibrate(raw):
    """From the sensor's counts to tenths of a degree."""
    return (raw - 273) * 10 // 2


class Register:
    """Holds the latest reading."""

    def __init__(self):
        self.fresh = threading.Semaphore(0)
        self.value = None
        self.samples = 0


def sample(register, raw_values):
    for raw in raw_values:
        reading = calibrate(raw)
        register.value = reading
        register.samples += 1
        register.fresh.release()


def log(register, count, journal):
    for _ in range(count):
        register.fresh.acquire()
        reading = register.value
        journal.append(reading)


def main():
    register = Register()
    journal = []
    sampler = threading.Thread(target=sample, args=(register, RAW), name="sampler")
    logger = threading.Thread(target=log, args=(register, len(RAW), journal), name="logger")
    logger.start()
    sampler.start()
    sampler.join()
    logger.join()
    assert journal == [calibrate(raw) for raw in RAW], "the journal is not what was measured"
    print(register.samples, "samples logged")


if __name__ == "__main__":
    main()
