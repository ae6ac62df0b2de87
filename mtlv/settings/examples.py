"""Example configs, which the installed package carries; in a clone they are the folder `config`."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE / "examples", PACKAGE.parent / "config")
"""Where examples are: in an installed package (setup.py copies them), and in a clone."""


def find_config(path: Path) -> Path:
    """Return `path` if the file exists, otherwise the example of that name.

    Example:
        >>> find_config(Path("quickstart.yml")).read_text().splitlines()[0]
        '# mtlv run config/quickstart.yml'
    """
    if os.path.exists(path) or path.parent not in (Path(), Path("config")):
        return path
    files = [folder / path.name for folder in FOLDERS]
    return next((file for file in files if os.path.isfile(file)), path)  # False for names that are too long
