# SPDX-License-Identifier: Apache-2.0
"""The use cases, for the command line, a plugin, a server: each takes typed arguments and returns
a value. None prints; who wants to follow a long one passes a callback. All raise UnsnarlError.
"""
