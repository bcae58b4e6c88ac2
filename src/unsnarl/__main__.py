# SPDX-License-Identifier: Apache-2.0
"""`python -m unsnarl` is the same as `unsnarl`."""

from unsnarl.cli.main import main

if __name__ == "__main__":
    main()
