# SPDX-License-Identifier: Apache-2.0
"""`unsnarl serve`: the campaigns of a project as pages, for a browser on the same machine."""
