"""The claims of all benchmarks as a Markdown table, from results/*.json: python benchmarks/summary.py"""

from __future__ import annotations

import json
import sys

from harness import RESULTS, Claim, bound, measured


def training(content):
    over = content["mtlv_over"]
    where = content["setting"]["corpus"]
    best = min(value for name, value in over.items() if name.startswith("Trainer"))
    text = f"MTL training, CPU, {where}, against"
    return [
        Claim(f"{text} the Trainer's defaults", 2.8, over["Trainer, defaults"]),
        Claim(f"{text} its best", 1.25, best),
        Claim(f"{text} the thesis's loop", 3.0, over["padded to the maximum, fp32"]),
    ]


def inference(content):
    over = next(value for name, value in content["mtlv_over"].items() if "defaults" in name)
    return [Claim("inference, CPU, against the Trainer's `predict` defaults", 3, over)]


def stl_suite(content):
    ratio = content["stl_over_tasks_times_mtl"]["median"]
    return [Claim("STL of T tasks against T times one MTL run, CPU", 1.05, ratio, at_least=False)]


def planning(content):
    worst = max(each["per_1000"] for each in content["suites"].values())
    return [Claim("a suite of 1,000 units plans", content["limit"], worst, "s", at_least=False)]


# Of benchmarks that write a form of their own, by the first word of their file.
OWN_FORM = {"training": training, "inference": inference, "stl_suite": stl_suite, "planning": planning}


def claims(name, content):
    """The claims of one result; none where it makes none."""
    if "claims" in content:
        return [
            Claim(**{key: x for key, x in each.items() if key != "verdict"}) for each in content["claims"]
        ]
    own = OWN_FORM.get(name.split("-")[0])
    return own(content) if own else []


def rows():
    """A line of the table for each claim, in the order of the files."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for claim in claims(path.stem, content):
            taken = content.get("taken", "").split(" ")[0] if claim.value is not None else ""
            cells = (claim.text, bound(claim), measured(claim), claim.verdict, taken, f"`{path.stem}`")
            found.append("| " + " | ".join(cells) + " |")
    return found


def main() -> int:
    print("| claim | limit | measured | verdict | on | benchmark |")
    print("| --- | --- | ---: | --- | --- | --- |")
    print("\n".join(rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
