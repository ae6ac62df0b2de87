"""Seconds of each run of a comparison: python seconds.py mtlv-compare/NAME/comparison.json [WALL]

Prints sums over folds and seeds in Markdown. Models of a stack share its seconds equally, so the sums add up.
WALL are the seconds of the command that made the comparison, which says most if it trained all models.
"""

import json
import sys

GOAL = 600  # seconds, of one H100


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    print("| run | training, s | with validation and test, s |\n| --- | ---: | ---: |")
    rows = []
    for run in runs:
        metrics = [child["metrics"] for child in run["children"]]
        rows.append([sum(one[f"time/{name}_seconds"] for one in metrics) for name in ("train", "total")])
        print(f"| `{run['name']}` | {rows[-1][0]:,.1f} | {rows[-1][1]:,.1f} |")
    training, total = map(sum, zip(*rows, strict=True))
    print(f"| all | {training:,.1f} | {total:,.1f} |")
    wall = f"; the command took {float(sys.argv[2]):,.0f} s" if len(sys.argv) > 2 else ""
    print(f"\nThe goal for one H100 is {GOAL} s{wall}.")


if __name__ == "__main__":
    main()
