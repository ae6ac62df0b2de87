"""Measurements that need a GPU, the most important first; about 25 minutes, in one call or several.

    python benchmarks/gpu.py --out gpu-results --data FOLDER/indiana_reports.csv

Each step has its own time limit: `tests` (tests/gpu), `speed` (training of BERT-base with random weights,
batches of 16 and 128, compared with the Trainer, without CUDA graphs and with parts compiled by
`torch.compile`), `suite` (19 single-task models of BERT-base compared with one model of all tasks, in stacks,
by the Trainer, one by one and with a process for each, see `gpu_suite.py`), `stacks` (the same with `minilm`)
and `train` (Open-I with `minilm` in the remaining time, see `gpu_training.py`).
`inference` and `sweep` run only if --steps names them. If a step fails, this is reported and the next step
runs. MLflow is not needed.

Results are saved in --out every few seconds: summary.md, summary.json, log.txt, and work.tar.gz, from which
the same command resumes. Finished steps are not run again.

For a machine without a network that has PyTorch, Transformers, accelerate, scikit-learn and pytest:

    python benchmarks/gpu.py --pack gpu-pack --data FOLDER/indiana_reports.csv    # here
    python benchmarks/gpu.py --carried gpu-pack --out OUT --minutes 9             # there

The folder contains the corpus, the encoder in 16 bits (45 MB) and the missing packages for --python.
To resume on another machine, first copy the contents of OUT to gpu-pack/earlier.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from gpu_training import table
from harness import QUICK, ROOT, journal, number, parser_of, sized
from summary import HEAD, rows

HERE = Path(__file__).resolve().parent
USUAL = ("tests", "speed", "suite", "stacks", "train")
BERT = sized("./bert-base-random", "tiny")
CORPUS = "openi.csv"
KEPT = ("journal.jsonl", "rounds.jsonl", "results", "store/units")  # in the working folder, for the next call
PACKAGES = ("pydantic", "pydantic-core", "annotated-types", "typing-inspection", "iterative-stratification")
PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
LOOK = sized(5.0, 0.2)  # seconds between checks for new results of a step
GRACE = 10  # seconds between SIGTERM and SIGKILL
LEAST = sized(30, 0)  # minimum seconds left to start a step
DONE = "done"
DEVICE = """
import json, torch
names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
print(json.dumps({"GPUs": names, "torch": torch.__version__, "CUDA": torch.version.cuda}))
"""
Command = Sequence[str]


@dataclass(frozen=True)
class Step:
    """A step of the programme.

    Args:
        minutes: time limit.
        commands: arguments of `python`, run in the working folder one after another.
        patience: time limit of each process of a benchmark, in seconds; slower peers are left out.
    """

    minutes: float
    commands: tuple[Command, ...]
    patience: float = 120


def script(name: str, *arguments: str) -> Command:
    """Return the command of a benchmark."""
    return (f"{HERE / name}.py", *arguments)


def steps_of(work: Path, encoder: str) -> dict[str, Step]:
    """Return the steps in order. Paths that the journal records are relative to the working folder.

    Args:
        work: working folder, with a link to the corpus.
        encoder: name or folder of the encoder of the `train` step.
    """
    data = ("--data", f"./{CORPUS}") if (work / CORPUS).exists() else ()
    bert = (*data, "--encoder", BERT)
    there = BERT == "tiny" or (work / BERT / "tokenizer_config.json").exists()  # it is written last
    random = () if there else (script("random_encoder", BERT, *data),)
    size = sized(("--documents", "2560", "--repeats", "1"), ())
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", f"{ROOT}", f"{ROOT}/tests/gpu")
    training = [
        script("training", *bert, *size, "--batch-size", batch) for batch in sized(("16", "128"), ("16",))
    ]
    return {
        "tests": Step(2, (tests,)),
        "speed": Step(5, (*random, *training)),
        "suite": Step(7, (*random, script("gpu_suite", *bert)), 300),
        "stacks": Step(5, (script("gpu_suite", *data, "--encoder", encoder),), 200),
        "train": Step(60, (script("gpu_training", *data, "--encoder", encoder),)),
        "inference": Step(4, (*random, script("inference", *bert, *size))),
        "sweep": Step(10, (*random, script("gpu_suite", *bert, "--sweep")), 600),
    }


class Programme:
    """Runs steps and saves their results.

    Args:
        out: folder of results; resumes from those of an earlier call.
        work: empty working folder of the steps.
        seconds: time limit of all steps together.
    """

    def __init__(self, out: Path, work: Path, seconds: float) -> None:
        self.out, self.work, self.until = out, work, time.monotonic() + seconds
        self.saved: object = None
        out.mkdir(parents=True, exist_ok=True)
        if (out / "work.tar.gz").exists():
            with tarfile.open(out / "work.tar.gz") as archive:
                archive.extractall(work, filter="data")
        self.state: dict[str, Any] = {"steps": {}}
        if (out / "summary.json").exists():
            self.state = json.loads((out / "summary.json").read_text(encoding="utf-8"))

    def run(self, name: str, step: Step) -> None:
        """Run a step within its limit, unless it is done, and save how it ended."""
        steps, begun = self.state["steps"], time.monotonic()
        seconds = min(60 * step.minutes, self.until - begun)
        if steps.get(name, {}).get("state") == DONE:
            return
        if seconds < LEAST:
            steps.setdefault(name, {"state": "not begun: no time was left", "seconds": 0, "told": ""})
            self.save()
            return
        steps[name] = {"state": "begun", "seconds": 0, "told": ""}
        states = []
        with (self.out / "log.txt").open("ab") as log:
            for command in step.commands:
                code = self.ended(command, log, begun + seconds, step.patience)
                states.append({0: DONE, None: "ended by its limit"}.get(code, f"exit code {code}"))
                if code is None:
                    break
        state = next((state for state in states if state != DONE), DONE)
        told = (self.out / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(told) if line.strip()), "")
        steps[name] = {"state": state, "seconds": round(time.monotonic() - begun, 1), "told": last}
        self.save()
        print(f"{name}: {state} ({steps[name]['seconds']:.0f} s)", flush=True)

    def ended(self, command: Command, log: IO[bytes], until: float, patience: float) -> int | None:
        """Run a command; return its exit code, or None if its process group was ended at the time limit."""
        log.write(f"\n== python {' '.join(command)}\n".encode())
        log.flush()
        paths = (f"{self.work}/site", f"{ROOT}", os.environ.get("PYTHONPATH"))
        env = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONUNBUFFERED": "1",
            "HF_HUB_OFFLINE": "1",
            "MTLV_BENCH_JOURNAL": f"{self.work}/journal.jsonl",
            "MTLV_BENCH_PATIENCE": f"{patience}",
            "MTLV_BENCH_QUICK" if QUICK else "MTLV_BENCH_OUT": f"{self.work}/results",
        }
        process = subprocess.Popen(
            [sys.executable, *command], cwd=self.work, stdout=log, stderr=log, env=env, process_group=0
        )
        try:
            while (left := until - time.monotonic()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(LOOK, left))
                self.save()
            return None
        finally:
            end(process)
            self.save()

    def kept(self) -> list[Path]:
        """Return the files for the archive."""
        return sorted(path for name in KEPT for path in below(self.work / name))

    def save(self) -> None:
        """Write the results if they have changed. Each file is replaced atomically."""
        known = [(path, path.stat().st_size) for path in self.kept()], json.dumps(self.state["steps"])
        if known == self.saved:
            return
        self.saved = known
        results = self.work / "results"
        # Read before the archive is written, so that it contains the models of all rounds in the summary.
        self.state |= {
            "taken": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "calls": journal(self.work / "journal.jsonl"),
            "rounds": journal(self.work / "rounds.jsonl"),
            "results": [
                json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))
            ],
        }

        def pack(path: Path) -> None:
            with tarfile.open(path, "w:gz", compresslevel=1) as archive:
                for each in self.kept():
                    archive.add(each, each.relative_to(self.work))

        replace(self.out / "work.tar.gz", pack)
        text = "\n".join(summary(self.state, results)) + "\n"
        replace(
            self.out / "summary.json", lambda path: path.write_text(json.dumps(self.state, indent=1) + "\n")
        )
        replace(self.out / "summary.md", lambda path: path.write_text(text, encoding="utf-8"))


def below(place: Path) -> Iterator[Path]:
    """Yield a file, or the files of a folder except hidden ones, which are still being written."""
    if place.is_file():
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(folder) / name for name in names if not name.startswith("."))


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, then rename it."""
    beside = path.with_name(f".{path.name}")
    write(beside)
    os.replace(beside, path)


def end(process: subprocess.Popen) -> None:
    """End a process and its process group."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


def summary(state: dict[str, Any], results: Path) -> list[str]:
    """Return the summary in Markdown."""
    out = ["# What a GPU told", "", f"{state['taken']}; {state.get('device', '')}", ""]
    out += ["| step | state | seconds | last line of its log |", "| --- | --- | ---: | --- |"]
    for name, step in state["steps"].items():
        told = step["told"].replace("|", "\\|")
        out.append(f"| `{name}` | {step['state']} | {step['seconds']:.0f} | {told} |")
    out += ["", "## Claims", "", *HEAD, *rows(results)]
    for content in state["results"]:
        for row, peers in content["medians"].items():
            out += [
                "",
                f"## `{content['name']}`: {content['title']}",
                "",
                f"| {row} | {content['unit']} |",
                "| --- | ---: |",
            ]
            out += [f"| {peer} | {number(value)} |" for peer, value in peers.items()]
    out += ["", "## Real training", "", *table(state["rounds"])]
    if any(step["state"] != DONE for step in state["steps"].values()):
        out += ["", "## Processes of the benchmarks so far", "", "| call | seconds |", "| --- | ---: |"]
        timed = [(" ".join(line["call"]), seconds_of(line["value"])) for line in state["calls"]]
        out += [f"| {call} | {number(value)} |" for call, value in timed if value is not None]
    return out


def seconds_of(value: Any) -> float | None:
    """Return the seconds in the output of a benchmark's process, of all epochs; None if it has none."""
    found = value.get("seconds", value.get("wall")) if isinstance(value, dict) else None
    return sum(found) if isinstance(found, list) else found


def pack(folder: Path, data: Path, python: str) -> None:
    """Write a folder for a machine without a network."""
    from mtlv.models.encoder import load_encoder

    encoder = load_encoder("minilm")
    encoder.module.half().save_pretrained(folder / "minilm")
    encoder.tokenizer.save_pretrained(folder / "minilm")
    shutil.copyfile(data, folder / CORPUS)
    wanted = [f"{name}=={version(name)}" for name in PACKAGES]
    platforms = [f"--platform={name}" for name in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*pip, f"--python-version={python}", "-d", f"{folder}/wheels", *wanted], check=True)
    size = sum(path.stat().st_size for path in below(folder))
    print(f"{folder}: {size / 2**20:.1f} MiB; there: python benchmarks/gpu.py --carried {folder} --out OUT")


def unpack(carried: Path, out: Path, work: Path) -> None:
    """Install the packages of the folder, and copy the results of another machine to resume from."""
    if wheels := sorted((carried / "wheels").glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target"]
        subprocess.run([*pip, f"{work}/site", *map(str, wheels)], check=True)
    if (carried / "earlier").is_dir() and not (out / "summary.json").exists():
        shutil.copytree(carried / "earlier", out, dirs_exist_ok=True)


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu-results"), help="folder of the results")
    parser.add_argument("--data", type=Path, default=os.environ.get("MTLV_OPENI"), help="Open-I's CSV")
    parser.add_argument("--steps", default=",".join(USUAL), help="comma-separated names")
    parser.add_argument("--minutes", type=float, default=25, help="time limit of all steps together")
    parser.add_argument("--carried", type=Path, help="folder written by --pack")
    parser.add_argument("--pack", type=Path, help="write this folder and run nothing")
    parser.add_argument("--python", default="3.12", help="Python version of the packed packages")
    args = parser.parse_args()
    if args.carried:
        args.data = args.carried / CORPUS
    if unknown := set(args.steps.split(",")) - set(steps_of(Path(), "")):
        parser.error(
            f"--steps: there is no {', '.join(sorted(unknown))}; there are {', '.join(steps_of(Path(), ''))}"
        )
    if not QUICK and not (args.data and args.data.is_file()):
        parser.error(f"--data: {args.data} is no file; give Open-I's indiana_reports.csv")
    return args


def main() -> int:
    """Run the steps; return 1 if one of them failed."""
    args = arguments()
    if args.pack:
        pack(args.pack, args.data, args.python)
        return 0
    device = json.loads(subprocess.check_output([sys.executable, "-c", DEVICE]))
    if not device["GPUs"] and not QUICK:
        print("there is no GPU here: nothing is measured")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the step, saves results
    with tempfile.TemporaryDirectory(prefix="mtlv-gpu-") as folder:
        work, seconds = Path(folder), 60 * args.minutes
        if args.carried:
            unpack(args.carried, args.out, work)
        programme = Programme(args.out.absolute(), work, seconds)
        programme.state["device"] = ", ".join(f"{key} {value}" for key, value in device.items())
        if args.data:
            (work / CORPUS).symlink_to(args.data.absolute())
        encoder = sized(f"{(args.carried / 'minilm').absolute()}" if args.carried else "minilm", "tiny")
        for name in args.steps.split(","):
            programme.run(name, steps_of(work, encoder)[name])
        states = [programme.state["steps"][name]["state"] for name in args.steps.split(",")]
    print((args.out / "summary.md").read_text(encoding="utf-8"))
    return int(any(state.startswith("exit code") for state in states))


if __name__ == "__main__":
    sys.exit(main())
