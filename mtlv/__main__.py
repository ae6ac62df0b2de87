"""`python -m mtlv`, the same as the command `mtlv`."""

from __future__ import annotations

import sys

from mtlv.cli import main

sys.exit(main())
