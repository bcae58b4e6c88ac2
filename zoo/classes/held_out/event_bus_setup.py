# SPDX-License-Identifier: Apache-2.0
"""What to call an EventBus with."""


def double(message):
    return 2 * message


def triple(message):
    return 3 * message


calls = {"subscribe": [double, triple], "unsubscribe": [double, triple], "publish": [1]}
