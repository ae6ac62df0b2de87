"""Takes the profiles of benchmarks alone and puts them beside their kept figures.

    python benchmarks/profiles.py NAME ...

Where the time goes can be asked on a machine that does other work too, and a benchmark takes minutes on a
quiet one: the figures stay as they were taken, and the profile says when it was. For benchmarks that have a
`profile`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from datetime import UTC, datetime

from harness import RESULTS, write


def put(name: str, profile: str) -> None:
    """Put a profile into a kept result, with when it was taken."""
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    content["profile"] = profile.splitlines()
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content["profile taken"] = f"{when}, load of the last minute {os.getloadavg()[0]:.2f}"
    write(name, content)


def main() -> int:
    """Each by name."""
    for name in sys.argv[1:]:
        put(name, importlib.import_module(name).profile())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
