"""The claims of all benchmarks as a Markdown table, from results/*.json: python benchmarks/summary.py"""

from __future__ import annotations

import json
import sys

from harness import RESULTS, Claim, bound, measured

HEAD = ("| claim | limit | measured | verdict | on | benchmark |", "| --- | --- | ---: | --- | --- | --- |")


def rows(folder=RESULTS):
    """Return a table row for each claim, in the order of the files."""
    found = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for each in content["claims"]:
            claim = Claim(**{key: value for key, value in each.items() if key != "verdict"})
            taken = content["taken"][: len("2026-11-22")] if claim.value is not None else ""
            cells = (claim.text, bound(claim), measured(claim), claim.verdict, taken, f"`{path.stem}`")
            found.append("| " + " | ".join(cells) + " |")
    return found


def main() -> int:
    print("\n".join([*HEAD, *rows()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
