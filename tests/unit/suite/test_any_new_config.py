"""Whatever stands in a table: the config that `mtlv init` writes is valid, or a refusal says why."""

from __future__ import annotations

import csv
import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from memory_tracker import MemoryTracker

from mtlv.data.tables.guess import guess
from mtlv.errors import DataError, MtlvError
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.settings import load_suite
from mtlv.suite.new_config import config_text
from mtlv.suite.run import SuiteResult, run_suite

Cells = Callable[[random.Random, int], object]

LABELS = ("heart", "lung", "bone", "heart, left", "a|b", "Größe", "yes", "1", "é 😀", "x: y", "#", "'q'", "")
NAMES = (
    "text", "Text", "a", "b", "label", "labels", "yes", "no", "null", "1", "2.0", "a, b", "a: b", 'q "x"',
    "it's", "# c", "- d", "{e}", "[f]", "größe", "結果", "😀", " padded ", "", "line\nbreak", "tab\there",
    "*x", "&y",
    "!z", "%p", "@q", "`r`", "id", "part", "split", "patient_id", "SUBJECT_ID", "source", "sentence1",
    "sentence2", "answer", "tags", "words", "group", "true", "~", "2e5", "\u2028", "x" * 130,
)  # fmt: skip
WORDS = "the heart lung is of normal size no edema seen in this view with pain".split()  # noqa: SIM905


def one_of(*values: object) -> Cells:
    return lambda r, n: r.choice(values)


def names(r: random.Random, most: int) -> list[str]:
    return r.sample(LABELS[:5], r.randint(0, most))


KINDS: dict[str, Cells] = {
    "flags": one_of("0", "1"),
    "unbalanced": lambda r, n: "1" if r.random() < 0.1 else "0",
    "floats": one_of("0.0", "1.0"),
    "uncertain": one_of("1.0", "0.0", "-1.0", ""),
    "signs": one_of("-1", "1"),
    "three": one_of("-1", "0", "1"),
    "words": one_of("ja", "nein", "Ja "),
    "ones": one_of("1", ""),
    "truth": one_of("True", "False", "", "NA"),
    "classes": one_of(*LABELS[:8]),
    "blanks": one_of("low", "high", "", ""),
    "grades": lambda r, n: str(r.randint(0, 4)),
    "years": lambda r, n: str(r.randint(1990, 2030)),
    "serial": lambda r, n: str(n),
    "scores": lambda r, n: f"{r.random() * 9:.2f}",
    "commas": lambda r, n: f"{r.randint(0, 5)},{r.randint(0, 9)}",
    "some scores": lambda r, n: r.choice(["", f"{r.random():.3f}"]),
    "semicolons": lambda r, n: ";".join(names(r, 3)),
    "bars": lambda r, n: " | ".join(names(r, 3)),
    "listed": lambda r, n: ", ".join(r.sample(("joy", "fear", "anger", "neutral"), r.randint(1, 3))),
    "numbers": lambda r, n: ",".join(map(str, sorted(r.sample(range(6), r.randint(1, 3))))),
    "json": lambda r, n: json.dumps(names(r, 3)),
    "python": lambda r, n: str(names(r, 3)),
    "positions": lambda r, n: str([r.randint(0, 1) for _ in range(4)]),
    "bits": lambda r, n: "".join(r.choice("01") for _ in range(3)),
    "codes": lambda r, n: f"P{r.randint(0, 30):03d}",
    "patients": lambda r, n: f"{n // 3}",
    "parts": lambda r, n: r.choice(["train"] * 6 + ["dev", "test", "test"]),
    "other parts": one_of("train", "test", "later"),
    "titles": lambda r, n: " ".join(r.choices(WORDS, k=4)),
    "trees": lambda r, n: f"(S (NP ({r.choice(WORDS)})) (VP (is {n})))",
    "dates": lambda r, n: f"2020-0{r.randint(1, 9)}-1{r.randint(0, 9)}",
    "same": one_of("7"),
    "mostly": lambda r, n: r.choice(["0", "1"]) if n % 25 else "maybe",
    "empty": one_of(""),
    "rare": lambda r, n: "1" if n < 4 else "0",
    "odd": lambda r, n: r.choice(["\u2028", "[", "nan", "é", "0", "1", "x y z", "(a)"]),
}
TEXTS: dict[str, Cells] = {
    "distinct": lambda r, n: f"report {n}: " + " ".join(r.choices(WORDS, k=8)),
    "repeated": lambda r, n: " ".join(WORDS[n % 7 :]),
    "few": lambda r, n: ["the heart is fine", "the lung is not fine"][n % 2],
    "gaps": lambda r, n: "" if r.random() < 0.2 else f"note {n} " + " ".join(r.choices(WORDS, k=5)),
    "Chinese": lambda r, n: "左肺に小さな結節を認める" + chr(0x4E00 + n),
    "long": lambda r, n: f"case {n} " + " ".join(r.choices(WORDS, k=300)),
}

tables = st.fixed_dictionaries(
    {
        "rows": st.integers(1, 200),
        "seed": st.integers(0, 10_000),
        "text": st.sampled_from(sorted(TEXTS)),
        "names": st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True),
        "kinds": st.lists(st.sampled_from(sorted(KINDS)), min_size=5, max_size=5),
        "lines": st.booleans(),
    }
)


def write(folder: Path, table: dict) -> Path:
    """Write a table of these kinds of columns: CSV, or JSON Lines."""
    cells = [TEXTS[table["text"]], *(KINDS[kind] for kind in table["kinds"])]
    draws = random.Random(table["seed"])
    rows = [
        {name: cell(draws, n) for name, cell in zip(table["names"], cells, strict=False)}
        for n in range(table["rows"])
    ]
    path = folder / ("a table: 1.jsonl" if table["lines"] else "a table: 1.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        if table["lines"]:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, table["names"])
            writer.writeheader()
            writer.writerows(rows)
    return path


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(tables)
def test_what_is_written_is_valid(table: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), table)
        try:
            found = guess(path)
        except MtlvError as error:
            event(str(error).split("`")[-1][:20])
            return
        event("written")
        config = Path(folder) / "c.yml"
        config.write_text(config_text(found, path.name, 4000.0), encoding="utf-8")
        suite = load_suite(config, ["encoder=tiny", "encoder.frozen_layers=0"])
        assert check_suite(suite).units
        tasks = [task for one in found.learned for task in one.tasks]
        assert len(set(tasks)) == len(tasks) == len(found.labels)


def dealt(draws: random.Random) -> list[dict]:
    """Return tables that have every kind of cell and nearly every name once."""
    kinds, names = draws.sample(sorted(KINDS), len(KINDS)), draws.sample(NAMES, len(NAMES))
    return [
        {
            "rows": draws.randint(60, 120),
            "seed": n,
            "text": sorted(TEXTS)[n % len(TEXTS)],
            "names": names[6 * n : 6 * n + 6],
            "kinds": kinds[5 * n : 5 * n + 5],
            "lines": n % 2,
        }
        for n in range(len(KINDS) // 5)
    ]


def train(folder: Path, table: dict, most: int) -> SuiteResult | None:
    """Train the first members of the config of a table for an epoch; None if the table is refused."""
    path = write(folder, table)
    try:
        text = config_text(guess(path), path.name, 4000.0)
    except DataError:
        return None
    config = folder / "c.yml"
    config.write_text(text, encoding="utf-8")
    changes = (
        "encoder=tiny", "encoder.frozen_layers=0", "data.max_length=16", "training.epochs=1",
        "training.batch_size=32", "training.precision=fp32", f"store.uri={folder / 'store'}",
    )  # fmt: skip
    suite = load_suite(config, changes)
    return run_suite(replace(suite, members=suite.members[:most]), ignore, MemoryTracker())


@pytest.mark.parametrize(
    ("seed", "most"), [(0, 1), *(pytest.param(n, 9, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_what_is_written_trains_an_epoch(seed: int, most: int, tmp_path: Path) -> None:
    results = []
    for n, table in enumerate(dealt(random.Random(seed))):
        (tmp_path / f"{n}").mkdir()
        results.append(train(tmp_path / f"{n}", table, most))
    trained = [result for result in results if result is not None]
    assert len(trained) > len(results) / 2
    for result in trained:
        assert not result.failed
        for member in result.members:
            tasks = {task.name for task in member.resolved.tasks}
            assert [{*outcome.metrics.tasks} for outcome in member.outcomes] == [tasks]
