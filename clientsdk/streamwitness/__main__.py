"""`python -m streamwitness` is the `streamwitness` command."""

from __future__ import annotations

import sys

from streamwitness.cli import main

if __name__ == "__main__":
    sys.exit(main())
