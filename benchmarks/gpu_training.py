"""Training on a GPU: all runs of a config, fold by fold and seed by seed.

    python benchmarks/gpu_training.py --data FOLDER/indiana_reports.csv [--config FILE] [KEY=VALUE ...]

Trains experiments/openi-minilm/config-gpu.yml in rounds: all runs on one fold with one seed, then the next
fold, then the next seed. Another config has yes/no labels of Open-I, and needs --lines of its own. Each run
of a round is written to --lines as soon as it is tested, and each model to ./store as soon as it is trained;
a second call resumes from there. MLflow is not needed. `gpu.py` stops the training at its time limit, and
makes a table of the lines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from harness import ROOT, journal, number, parser_of, sized

from mtlv.events import EpochEnded, NoteGiven, UnitFailed, WarningGiven

CONFIG = ROOT / "experiments" / "openi-minilm" / "config-gpu.yml"
SHOWN = ("f1_macro", "f1_micro", "average_precision_macro", "subset_accuracy", "hamming_score")
BEGUN = time.perf_counter()
QUICK = ("data.limit=60", "data.max_length=16", "data.folds=2", "seed=0", "training.epochs=1")
Line = dict[str, Any]


def tell(event: Any) -> None:
    """Print an event if it is useful in a log, with the seconds since the start of this process."""
    match event:
        case NoteGiven() | WarningGiven():
            text = event.text
        case EpochEnded() if event.epoch == event.epochs:
            text = f"{event.name}: {event.documents_per_second:.0f} documents/s in its last epoch"
        case UnitFailed():
            text = f"{event.name}: failed"
        case _:
            return
    print(f"{time.perf_counter() - BEGUN:.1f} s: {text}", flush=True)


def train(args: argparse.Namespace) -> int:
    """Train what has no line yet, round by round; return 1 if a model could not be trained."""
    from mtlv.errors import TrainingError
    from mtlv.execution.choose import executor_of
    from mtlv.planning.resolve import resolve_all
    from mtlv.settings import load_suite
    from mtlv.store.local import Store
    from mtlv.units.input_cache import InputCache

    changes = [f"encoder={args.encoder}", "store.uri=./store", "store.keep_weights=false", *sized((), QUICK)]
    changes += [f"data.path={args.data}"] if args.data else ["data.name=synthetic"]
    suite = load_suite(args.config, [*changes, *args.changes])
    store = Store(suite.members[0].settings.store.folder)
    cache = InputCache(store)
    names = [member.name for member in suite.members]
    known = {(line["round"], line.get("run")) for line in journal(args.lines)}
    rounds = [
        (f"fold {child.fold.index}, seed {child.seed}", member, child)
        for member in resolve_all(cache, suite.members)
        for child in member.children
    ]
    rounds.sort(key=lambda each: (each[2].seed, each[2].fold.index))  # members keep their order
    rounds = [each for each in rounds if (each[0], each[1].name) not in known]
    if not rounds:
        return 0
    failed = 0
    with executor_of(cache, store, tell, [child.jobs for _, _, child in rounds]) as executor:
        for _, _, child in rounds:
            executor.expect(child.jobs)
        for name, member, child in rounds:
            try:
                records = [executor.run(job) for job in child.jobs]
            except TrainingError as error:
                executor.give_up(child.jobs)
                failed = 1
                print(f"{name}, {member.name}: {error}", flush=True)
                continue
            line = {"round": name, "runs": names, **tested(member, child, records)}
            with args.lines.open("a", encoding="utf-8") as file:  # the last line may be incomplete
                file.write(f"\n{json.dumps(line)}\n")
    return failed


def tested(member: Any, child: Any, records: Sequence[Any]) -> Line:
    """Return metrics and costs of one run on one fold with one seed, as plain values."""
    from mtlv.reporting.plan_result import evaluate_plan

    settings = member.member.settings
    found = evaluate_plan(records, tasks=member.tasks, settings=settings.evaluation, known={})
    return {
        "run": member.name,
        "models": len(records),
        "groups": [list(group) for group in child.groups.groups] if child.groups else None,
        "metrics": found.metrics.plan.as_dict(),
        "tasks": {name: task.as_dict() for name, task in found.metrics.tasks.items()},
        "costs": found.costs,
        "device": records[0].device,
    }


def table(lines: Sequence[Line]) -> list[str]:
    """Return the complete rounds in Markdown: means, and differences to the first run of the config."""
    lines = [line for line in lines if "runs" in line]  # earlier versions had others
    names = lines[0]["runs"] if lines else []
    rounds: dict[str, dict[str, Line]] = {}
    for line in lines:
        rounds.setdefault(line["round"], {})[line["run"]] = line
    whole = [each for each in rounds.values() if len(each) == len(names)]
    if not whole:
        return [f"No round is whole; {len(lines)} results of runs are in summary.json."]
    first = names[0]
    head = ["run", "models", *SHOWN, f"{SHOWN[0]} - that of `{first}`, by round", "seconds of training"]
    count = f"{len(whole)} whole round{'s' * (len(whole) > 1)}"
    out = [f"Means of {count} (fold with seed); the standard deviation is over rounds.", ""]
    out += [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name in names:
        own = [each[name] for each in whole]
        gains = [each[name]["metrics"][SHOWN[0]] - each[first]["metrics"][SHOWN[0]] for each in whole]
        cells = [f"`{name}`", number(fmean(line["models"] for line in own))]
        cells += [spread([line["metrics"][metric] for line in own]) for metric in SHOWN]
        cells += [spread(gains), number(fmean(line["costs"]["time/train_seconds"] for line in own))]
        out.append(f"| {' | '.join(cells)} |")
    return out


def spread(values: Sequence[float]) -> str:
    """Return the mean, and the standard deviation (ddof 1) if there are several values."""
    return f"{fmean(values):.4f}" + (f" ({stdev(values):.4f})" if len(values) > 1 else "")


def main() -> int:
    """Train all rounds."""
    parser = parser_of(__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--data", type=Path, help="Open-I's CSV; default: generated reports")
    parser.add_argument("--encoder", default=sized("minilm", "tiny"), help="name or folder")
    parser.add_argument("--lines", type=Path, default=Path("rounds.jsonl"))
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="changes to the config")
    return train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
