"""`importlib` mode imports no sibling by itself: so that `from unmeasured import as_run` works here."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)
