# SPDX-License-Identifier: Apache-2.0
"""For coding agents: the tools of `unsnarl mcp`, and SKILL.md, which `unsnarl skill` prints."""
