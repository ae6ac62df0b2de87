"""The thesis's tables as an experiment: a config that loads, and numbers that are the paper's."""

from __future__ import annotations

import csv
import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
import yaml
from unmeasured import as_run

from mtlv.comparison.published_numbers import read_expected
from mtlv.data import catalog
from mtlv.models.aliases import HUB
from mtlv.planning.check import check_suite
from mtlv.settings import Suite, load_suite

FOLDER = Path(__file__).resolve().parents[3] / "experiments" / "thesis-tables"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
COLUMNS = ("row", "metric", "value", "spread", "note")
SELECTORS = ("dataset", "architecture", "encoder", "grouping.features", "grouping.k")
PLAN_METRICS = {"f1_macro", "f1_micro", "subset_accuracy"}
PUBLISHED = {
    "BERT": ("bert", "google-bert/bert-base-uncased"),
    "BioBERT": ("biobert", "dmis-lab/biobert-v1.1"),
    "BlueBERT": ("bluebert-clinical", "bionlp/bluebert_pubmed_mimic_uncased_L-12_H-768_A-12"),
}


def _line(number: str) -> str:
    """Return the README's line of a table; 4.9a and 4.9b are the two halves of 4.9."""
    printed = re.sub(r"([ab])$", r" (\1)", number)
    return next(line for line in README.splitlines() if line.startswith(f"| {printed} |"))


@cache
def _changes(number: str) -> tuple[str, ...]:
    """Return the changes of the config for a table, as the README has them."""
    cell = _line(number).split(" | ")[2]
    other = re.match(r"those of (\S+), and", cell)
    changes = [change for code in re.findall(r"`([^`]+)`", cell) for change in shlex.split(code)]
    return (*(_changes(other[1]) if other else ()), *changes)


@dataclass(frozen=True)
class Table:
    """A published table: its number, lines of numbers, header, and folds."""

    number: str
    rows: int
    header: str
    folds: int

    @property
    def corpus(self) -> str:
        return "openi" if self.number in ("4.3", "4.4", "4.5", "4.9a", "C.1", "C.2") else "ohsumed"

    @property
    def path(self) -> Path:
        return FOLDER / f"expected-{self.number}.csv"

    def suite(self) -> Suite:
        return _suite(_changes(self.number))

    def expected(self) -> list[dict[str, str]]:
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


@cache
def _suite(changes: tuple[str, ...]) -> Suite:
    return load_suite(FOLDER / "config.yml", changes)


MAIN, TEST, LABELS, ALL = "Architecture Model clustering", "Model A Model B", "class", "Model # clusters"
TABLES = {
    table.number: table
    for table in (
        Table("4.3", 36, MAIN, 4),
        Table("4.4", 6, TEST, 10),
        Table("4.5", 80, LABELS, 10),
        Table("4.6", 36, MAIN, 3),
        Table("4.7", 6, TEST, 10),
        Table("4.8", 96, LABELS, 10),
        Table("4.9a", 12, "(a) Open-I dataset", 4),
        Table("4.9b", 12, "(b) OHSUMED dataset", 3),
        Table("C.1", 54, ALL, 4),
        Table("C.2", 54, ALL, 4),
        Table("D.1", 54, ALL, 3),
        Table("D.2", 54, ALL, 3),
    )
}
each_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def test_every_published_table_has_its_numbers():
    assert {path.name for path in FOLDER.glob("*.csv")} == {table.path.name for table in TABLES.values()}
    index = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for folder in FOLDER.parent.iterdir():
        if folder.is_dir() and folder.name[0] not in "._":
            assert f"({folder.name}/README.md)" in index, f"{folder.name} is not in the index"


@each_table
def test_the_readme_counts_members_and_models(table: Table):
    suite = table.suite()
    assert _line(table.number).endswith(f"| {len(suite.members)} | {check_suite(suite).units} |")


def test_the_whole_config_has_all_runs_of_four_tables():
    suite = _suite(())
    assert (len(suite.members), check_suite(suite).units) == (42, 600)
    runs = [as_run(index, member) for index, member in enumerate(suite.members)]
    for table in (TABLES[number] for number in ("4.3", "4.9a", "C.1", "C.2")):
        assert all(number.measured for number in read_expected(table.path, runs))


@each_table
def test_settings_are_the_thesis_s(table: Table):
    epochs, length = {"openi": (10, 128), "ohsumed": (12, 256)}[table.corpus]
    for settings in (member.settings for member in table.suite().members):
        assert (settings.data.name, settings.data.folds) == (table.corpus, table.folds)
        assert (settings.data.scheme, settings.data.max_length) == ("fixed_test", length)
        training, grouping = settings.training, settings.grouping
        assert (training.epochs, training.batch_size, training.learning_rate) == (epochs, 16, 2e-5)
        assert (training.schedule, training.weight_decay, training.clip_norm) == ("constant", 0.0, None)
        assert (training.warmup, training.select, training.head_loss) == (0.0, "last", "sum")
        assert (settings.architecture.head_layers, settings.encoder.features) == (1, "pooler")
        assert (grouping.method, grouping.algorithm, grouping.init) == ("kmedoids", "alternate", "heuristic")
        assert (grouping.scaling, grouping.special_tokens, grouping.restarts) == ("minmax", True, 1)
        assert settings.evaluation.threshold == "per_plan"  # chosen on validation; never on test labels


def test_encoders_are_the_published_ones():
    config = yaml.safe_load((FOLDER / "config.yml").read_text(encoding="utf-8"))
    assert config["matrix"]["encoder"] == [alias for alias, _ in PUBLISHED.values()]
    assert all(HUB[alias] == hub for alias, hub in PUBLISHED.values())


@each_table
def test_expected_numbers_are_fractions_counts_or_seconds(table: Table):
    rows = table.expected()
    assert len(rows) == table.rows
    assert tuple(rows[0]) == (*COLUMNS, *SELECTORS)
    of_task = {"f1", "support", "support_share"}
    tasks = {task.name for task in catalog.card(table.corpus).tasks()}
    for row in rows:
        figure, _, of = row["metric"].partition("/")
        value = Decimal(row["value"])
        if figure in ("support", "time"):
            assert value > 0
            assert value == value.to_integral()
        else:
            assert 0 <= value <= 1
        assert not row["spread"] or 0 < Decimal(row["spread"]) < Decimal("0.1")
        if figure in of_task:
            assert of in tasks or row["row"] == "count all"
        elif figure == "time":
            assert of in ("all_folds_seconds", "train_seconds")
        else:
            assert figure in PLAN_METRICS or (figure == "p_wilcoxon" and of in PLAN_METRICS)
    keys = ("metric", *SELECTORS)
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)


@each_table
def test_a_row_names_exactly_one_member(table: Table):
    runs = [as_run(i, member) for i, member in enumerate(table.suite().members)]
    published = read_expected(table.path, runs)
    assert len(published) == table.rows
    assert all(number.measured is not None for number in published)


@each_table
def test_a_row_s_words_and_its_selectors_agree(table: Table):
    for row in table.expected():
        words = row["row"].replace("-", " ").split()
        architecture = {"GMTL": "gmtl", "GMHL": "gmhl", "MTL": "mtl", "STL": "stl"}.get(words[0], "mtl")
        assert row["architecture"] == architecture
        if len(words) > 1 and words[1] in PUBLISHED:
            assert row["encoder"] == PUBLISHED[words[1]][0]
        features = re.search(r"\bLabel ?(Desc)?\b", row["row"])
        if features:
            assert row["grouping.features"] == ("label_description" if features[1] else "label_name")
            assert row["grouping.k"] in words
        swapped = row["metric"] == "subset_accuracy" and row["architecture"] in ("gmhl", "gmtl")
        escaped = row["value"] == "0.3385"
        assert ("swapped column" in row["note"]) == (swapped and not escaped)


# ---- Against the paper's text ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper(real_data: Path) -> str:
    """The thesis as text, where it stands beside the corpora."""
    path = real_data.parent / "papers" / "mtlv-thesis.txt"
    if not path.is_file():
        pytest.skip("the thesis's text is not here")
    return path.read_text(encoding="utf-8")


def _lines(paper: str, table: Table) -> list[str]:
    """The lines of a table: from its header to its caption, or to its second half."""
    caption = paper.index(f"\nTable {table.number[:3]}:")
    lines = paper[paper.rindex(table.header, 0, caption) : caption].splitlines()[1:]
    return list(itertools.takewhile(lambda line: not line.startswith("(b)"), map(str.strip, lines)))


def _printed(line: str) -> Iterator[tuple[Decimal, Decimal | None]]:
    """(value, spread) of a line in reading order, as `expected.csv` has them."""
    for value, spread in re.findall(r"(\d+\.\d+)±+ ?(\d+\.\d+)", line):
        yield Decimal(value) / 100, Decimal(spread) / 100
    for count, percent in re.findall(r" (\d+)\((\d+(?:\.\d+)?)\)$", line):
        yield Decimal(count), None
        yield Decimal(percent) / 100, None
    for values in re.findall(r"BERT (0\.\d+) (0\.\d+)$", line):
        yield from ((Decimal(value), None) for value in values)
    for value, unit in re.findall(r" (\d+\.\d) (h|min)$", line):
        yield Decimal(value) * {"h": 3600, "min": 60}[unit], None


def _of_the_paper(table: Table) -> list[dict[str, str]]:
    """All rows but those that were worked out from others."""
    return [row for row in table.expected() if not row["note"].startswith("not printed")]


@each_table
def test_every_number_of_the_paper_is_there_in_its_order(table: Table, paper: str):
    printed = [pair for line in _lines(paper, table) for pair in _printed(line)]
    rows = _of_the_paper(table)
    spreads = [Decimal(row["spread"]) if row["spread"] else None for row in rows]
    assert printed == list(zip((Decimal(row["value"]) for row in rows), spreads, strict=True))


@pytest.mark.parametrize("folder", [folder for folder in TABLES if "4.9" in folder])
def test_a_time_per_fold_is_the_printed_one_divided(folder: str):
    rows = TABLES[folder].expected()
    for whole, fold in zip(rows[:6], rows[6:], strict=True):
        assert fold["row"] == f"{whole['row']} / {TABLES[folder].folds}"
        assert Decimal(fold["value"]) * TABLES[folder].folds == Decimal(whole["value"])
        assert [whole[key] for key in SELECTORS] == [fold[key] for key in SELECTORS]


@each_table
def test_a_row_s_words_are_the_paper_s(table: Table, paper: str):
    """The words before a line's numbers end the name of each row made of it."""
    rows = iter(_of_the_paper(table))
    for line in _lines(paper, table):
        words = re.split(r"( -)? \d+\.\d", line)[0].replace(" MTL-", " against MTL-")
        for _ in _printed(line):
            assert next(rows)["row"].endswith(words)
    assert not list(rows)
