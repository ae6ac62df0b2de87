"""STL of all tasks compared with one MTL run on a GPU, and the thesis's whole sweep; about 10 minutes.

    python benchmarks/random_encoder.py /tmp/bert-base-random --data FOLDER/indiana_reports.csv
    python benchmarks/gpu_suite.py --data FOLDER/indiana_reports.csv --encoder /tmp/bert-base-random
    python benchmarks/gpu_suite.py --data ... --encoder ... --sweep

Measures the seconds of suites from the end of planning, each in a separate process with its own store, and
the documents per second of all models together: MTL, STL in stacks (`execution.stack`), one by one and with a
process for each model, MTL and STL in stacks with the lower half of the encoder frozen, one model after
another by Hugging Face's Trainer with length grouping (without validation and test, which the others have),
and the groups' private layers as a stack and one by one. Two epochs: processes have to pay for their start.
With `--sweep`: only STL of all tasks in stacks, with 4 folds and 10 epochs. MLflow is not needed.
Without a GPU, nothing is measured except in a quick check.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness import QUICK, Claim, Result, alone, interleaved, parser_of, publish, sized
from stl_suite import config_of, ran
from throughput import USUAL, open_i, prepare
from training import GROUPED, trainer

from mtlv.models.encoder import load_encoder
from mtlv.training.optim import resolve_device

SWEEP, TASKS, TRAINED = 360, 19, 0.68  # limit: seconds of the sweep; number of tasks; share of the documents
TIMES = {"bert-base": 9, "minilm": 4}  # limits of STL in stacks / MTL, by a part of the encoder's name
MTL, STL, TRAINER = "mtl,1,1,whole", "stl,1,19,whole", "trainer"
WAYS = {
    MTL: "MTL",
    STL: "STL, in stacks",
    TRAINER: "STL, one after another by the Trainer",
    "mtl,1,1,half": "MTL, lower half frozen",
    "stl,1,19,half": "STL, lower half frozen, in stacks",
    "stl,1,1,whole": "STL, one by one",
    "stl,19,1,whole": "STL, a process for each model",
    "gmhl,1,1,whole": "GMHL with private layers, one by one",
    "gmhl,1,19,whole": "GMHL with private layers, as a stack",
}
CHECKED = (MTL, STL, TRAINER, "stl,1,19,half")  # ways in a quick check


def one(args: argparse.Namespace, way: str) -> dict:
    """Run one suite in this process; return seconds from the end of planning, units, tasks and notes."""
    if way == TRAINER:
        return by_trainer(args)
    architecture, processes, stack, trained = way.split(",")
    layers = load_encoder(args.encoder, texts=["a word"]).module.config.num_hidden_layers
    frozen = layers // 2 if trained == "half" else 0
    changes = [
        f"data.limit={args.documents}" if args.documents else "data.limit=null",
        f"data.max_length={args.max_length}",
        f"data.folds={args.folds}",
        f"encoder={{name: {args.encoder}, frozen_layers: {frozen}}}",
        f"architecture={{name: {architecture}, private_layers: {2 if architecture == 'gmhl' else 0}}}",
        f"training.epochs={args.epochs}",
        "tracking.models=none",
        "store.keep_weights=false",
        f"execution.processes={processes}",
        f"execution.stack={stack}",
    ]
    found = ran(config_of(args.data), changes)
    return {
        "wall": found.wall,
        "units": len(found.records),
        "documents": sum(record.documents for record in found.records),
        "tasks": len({name for record in found.records for name in record.test.tasks}),
        "stack": max(record.stack for record in found.records),
        "device": found.records[0].device,
        "notes": found.watch.notes,
    }


def by_trainer(args: argparse.Namespace) -> dict:
    """Train a model for each task with Hugging Face's Trainer; return seconds of training, models, tasks."""
    args.device, args.precision, args.batch_size = "auto", "auto", USUAL
    args.documents = args.documents or sys.maxsize
    work = prepare(args)
    index, seconds = work.index[: round(TRAINED * len(work.index))], 0.0
    for place, task in enumerate(work.corpus.tasks):
        corpus = replace(work.corpus, tasks=(task,), targets={task.name: work.corpus.targets[task.name]})
        targets = work.targets[:, [place]]
        seconds += sum(trainer(**GROUPED)(replace(work, corpus=corpus, targets=targets, index=index)))
    tasks = len(work.corpus.tasks)
    return {"wall": seconds, "units": tasks, "tasks": tasks, "documents": tasks * args.epochs * len(index)}


def claims(result: Result, on_gpu: bool) -> list[Claim]:
    """Return the claims; limits apply to 19 tasks with BERT-base on a GPU."""
    setting, (row, *_) = result.setting, result.values
    limits = [limit for part, limit in TIMES.items() if part in str(setting["encoder"])]
    usual = on_gpu and setting["tasks"] == TASKS and bool(limits)
    if setting["sweep"]:
        seconds = median(result.values[row][WAYS[STL]])
        text = f"STL of {setting['tasks']} tasks, {setting['folds']} folds, {setting['epochs']} epochs"
        usual = usual and (setting["folds"], setting["epochs"]) == (4, 10) and setting["documents"] is None
        return [Claim(text, SWEEP if usual else None, seconds, "s", at_least=False)]
    text = f"STL of {setting['tasks']} tasks, wall time over MTL's"
    return [
        Claim(
            f"{text}: {WAYS[way]}",
            limits[0] if usual and way == STL else None,
            result.ratio(row, WAYS[way], WAYS[MTL]),
            at_least=False,
        )
        for way in WAYS
        if "STL" in WAYS[way] and WAYS[way] in result.values[row]
    ]


def main() -> int:
    """Measure every way and publish the result."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, default=open_i(), help="Open-I's CSV; default: $MTLV_OPENI")
    parser.add_argument("--encoder", default=sized("minilm", "tiny"), help="name or folder of the encoder")
    parser.add_argument("--documents", type=int, default=sized(None, 60), help="default: all")
    parser.add_argument("--max-length", type=int, default=sized(128, 16))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--only", help="ARCHITECTURE,PROCESSES,STACK,whole|half: run one, print JSON")
    args = parser.parse_args()
    args.folds, args.epochs = (4, 10) if args.sweep else (1, sized(2, 1))
    if args.only:
        print(json.dumps(one(args, args.only)))
        return 0
    on_gpu = resolve_device("auto").type == "cuda"
    if not on_gpu and not QUICK:
        print("there is no GPU here: nothing is measured")
        return 0
    os.environ["HF_HUB_OFFLINE"] = "1"
    ways = [STL] if args.sweep else sized(list(WAYS), CHECKED)
    runs: dict[str, list[dict]] = {way: [] for way in ways}

    def peer(way: str) -> float:
        runs[way].append(alone([*sys.argv, "--only", way]))
        return runs[way][-1]["wall"]

    seconds = interleaved({way: lambda way=way: peer(way) for way in ways}, args.repeats)
    found = runs[ways[0]][0]
    setting = {k: v for k, v in vars(args).items() if k not in ("data", "only")}
    setting |= {
        "corpus": "openi" if args.data else "synthetic",
        "tasks": found["tasks"],
        "device": found["device"],
    }
    title = f"Suites of {found['tasks']} tasks, {args.encoder}, {found['device']}"
    ways = [way for way in ways if way in seconds]
    values = {
        "seconds from the end of planning": {WAYS[way]: seconds[way] for way in ways},
        "documents of all models per second": {
            WAYS[way]: [run["documents"] / run["wall"] for run in runs[way]] for way in ways
        },
    }
    name = "gpu_sweep" if args.sweep else "gpu_suite" + ("" if "bert-base" in args.encoder else "_small")
    result = Result(name, title, "value", values, setting=setting, details={"runs": runs})
    result.claims = claims(result, on_gpu)
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
