"""Follow the tutorial as a reader does: `python docs/follow.py`

Python blocks that begin with a file name are saved, and `sh` blocks are run in order. Each line of an
`output` block must be printed by the previous command, and each YAML block must be in a config that was
written. Numbers in the output may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("start.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+(?:\.(?:py|csv|yml|db|html)|/))`")


def follow(folder: Path, until: str = "") -> list[str]:
    """Follow the page in an empty folder, up to the first command that starts with `until`.

    Returns:
        The commands that were run.

    Raises:
        AssertionError: a command failed, or something that the page shows is missing.
    """
    text = PAGE.read_text(encoding="utf-8")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran: list[str] = []
    printed = ""
    for kind, block in BLOCK.findall(text):
        name = re.match(r"# ([\w.]+)\n", block)
        if name and kind == "python":
            (folder / name[1]).write_text(block, encoding="utf-8")
        elif kind == "yaml":
            written = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.yml"))
            assert block in written, f"no config has:\n{block}but:\n{written}"
        elif kind == "output":
            seen = set(map(_masked, printed.splitlines()))
            lost = [line for line in block.splitlines() if _masked(line) not in seen]
            assert not lost, f"`{ran[-1]}` did not print {lost}, but:\n{printed}"
        elif kind == "sh":
            for command in block.splitlines():
                if until and command.startswith(until):
                    return ran
                done = subprocess.run(
                    command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
                )
                assert done.returncode == 0, f"`{command}` ended with {done.returncode}:\n{done.stderr}"
                printed, ran = done.stdout, [*ran, command]
    missing = [name for name in FILE.findall(text) if not (folder / name).exists()]
    assert not missing, f"the page names files that are not there: {missing}"
    return ran


def _masked(line: str) -> str:
    """Return a line with its numbers replaced by `#`."""
    return re.sub(r"\d+", "#", line).strip()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        ran = follow(Path(empty))
    sys.stdout.write(f"Followed {PAGE.name}: {len(ran)} commands\n")
