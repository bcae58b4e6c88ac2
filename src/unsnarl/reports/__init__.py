# SPDX-License-Identifier: Apache-2.0
"""One report model, built once and printed in several ways."""
