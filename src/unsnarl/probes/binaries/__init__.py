# SPDX-License-Identifier: Apache-2.0
"""What binutils say of programs and libraries built with `unsnarl cc`.

Both probes need it, and both inside the target's process: standard library only.
"""
