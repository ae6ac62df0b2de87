"""The scripts of server/ are no package, because MLflow's image runs them as they are."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = str(Path(__file__).resolve().parents[3] / "server")
if SCRIPTS not in sys.path:
    sys.path.append(SCRIPTS)
