"""The thesis's tables as experiments: configs that load, and numbers that are the paper's."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from unmeasured import as_run

from mtlv.comparison.published_numbers import read_expected
from mtlv.data import catalog
from mtlv.models.aliases import HUB
from mtlv.planning.check import check_suite
from mtlv.settings import Settings, Suite, load_suite
from mtlv.settings.members import identity

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"
COLUMNS = ("row", "metric", "value", "spread", "note")
SELECTORS = ("dataset", "architecture", "encoder", "grouping.features", "grouping.k")
PLAN_METRICS = {"f1_macro", "f1_micro", "subset_accuracy"}


@cache
def _suite(folder: str) -> Suite:
    return load_suite(EXPERIMENTS / folder / "config.yml")


@dataclass(frozen=True)
class Table:
    """What a folder has to hold: members and models to train, lines of numbers, and where it stands."""

    folder: str
    members: int
    units: int
    rows: int
    header: str
    folds: int

    @property
    def number(self) -> str:
        """As the caption has it; 4.9a and 4.9b are the two halves of 4.9."""
        return re.findall(r"[4CD]\.\d", self.folder)[0]

    @property
    def corpus(self) -> str:
        return "openi" if "openi" in self.folder else "ohsumed"

    def suite(self) -> Suite:
        return _suite(self.folder)

    def expected(self) -> list[dict[str, str]]:
        with (EXPERIMENTS / self.folder / "expected.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


MAIN, TEST, LABELS, ALL = "Architecture Model clustering", "Model A Model B", "class", "Model # clusters"
TABLES = {
    table.folder: table
    for table in (
        Table("thesis-table-4.3-openi", 12, 308, 36, MAIN, 4),
        Table("thesis-table-4.4-openi-significance", 6, 170, 6, TEST, 10),
        Table("thesis-table-4.5-openi-labels", 2, 60, 80, LABELS, 10),
        Table("thesis-table-4.6-ohsumed", 12, 270, 36, MAIN, 3),
        Table("thesis-table-4.7-ohsumed-significance", 6, 180, 6, TEST, 10),
        Table("thesis-table-4.8-ohsumed-labels", 2, 60, 96, LABELS, 10),
        Table("thesis-table-4.9a-openi-clock", 6, 284, 12, "(a) Open-I dataset", 4),
        Table("thesis-table-4.9b-ohsumed-clock", 6, 252, 12, "(b) OHSUMED dataset", 3),
        Table("thesis-table-C.1-openi-gmhl", 18, 72, 54, ALL, 4),
        Table("thesis-table-C.2-openi-gmtl", 18, 288, 54, ALL, 4),
        Table("thesis-table-D.1-ohsumed-gmhl", 18, 54, 54, ALL, 3),
        Table("thesis-table-D.2-ohsumed-gmtl", 18, 216, 54, ALL, 3),
    )
}
PUBLISHED = {
    "BERT": ("bert", "google-bert/bert-base-uncased"),
    "BioBERT": ("biobert", "dmis-lab/biobert-v1.1"),
    "BlueBERT": ("bluebert-clinical", "bionlp/bluebert_pubmed_mimic_uncased_L-12_H-768_A-12"),
}
WITHIN = {
    "thesis-table-4.5-openi-labels": "thesis-table-4.4-openi-significance",
    "thesis-table-4.8-ohsumed-labels": "thesis-table-4.7-ohsumed-significance",
    "thesis-table-4.9a-openi-clock": "thesis-table-4.3-openi",
    "thesis-table-4.9b-ohsumed-clock": "thesis-table-4.6-ohsumed",
}
"""Tables whose members are all members of another."""

each_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def _work(settings: Settings) -> str:
    """Equal for members of different tables that would do the same work."""
    return identity(settings.model_copy(update={"experiment": "any"}))


def test_every_published_table_has_its_folder():
    assert {path.name for path in EXPERIMENTS.glob("thesis-table-*")} == set(TABLES)
    index = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")
    for folder in EXPERIMENTS.iterdir():
        if folder.is_dir() and folder.name[0] not in "._":
            assert f"({folder.name}/README.md)" in index, f"{folder.name} is not in the index"


@each_table
def test_a_config_is_a_suite_that_check_accepts(table: Table):
    suite = table.suite()
    assert suite.experiment == table.folder
    assert not suite.notes  # no member asked for twice
    assert len(suite.members) == table.members
    assert check_suite(suite).units == table.units
    about = (EXPERIMENTS / table.folder / "config.yml").read_text(encoding="utf-8")
    assert about.startswith(f"# mtlv run experiments/{table.folder}/config.yml data.path=")
    assert f"Table {table.number}" in about
    assert f"Needs {table.units} models" in about


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
    used = {member.settings.encoder.name for table in TABLES.values() for member in table.suite().members}
    assert used == {alias for alias, _ in PUBLISHED.values()}
    assert all(HUB[alias] == hub for alias, hub in PUBLISHED.values())


@pytest.mark.parametrize("kind", ["gmhl", "gmtl"])
def test_an_appendix_holds_every_grouping(kind: str):
    wanted = set(
        itertools.product(
            (alias for alias, _ in PUBLISHED.values()), ("label_name", "label_description"), (3, 4, 5)
        )
    )
    for table in (t for t in TABLES.values() if t.folder.endswith(f"-{kind}")):
        members = [member.settings for member in table.suite().members]
        assert {member.architecture.name for member in members} == {kind}
        assert {(m.encoder.name, m.grouping.features, m.grouping.k) for m in members} == wanted


@pytest.mark.parametrize(("part", "whole"), WITHIN.items())
def test_tables_that_share_runs_share_their_work(part: str, whole: str):
    here, there = (
        {_work(member.settings) for member in TABLES[name].suite().members} for name in (part, whole)
    )
    assert here < there


@pytest.mark.parametrize(
    ("main", "details"),
    [
        ("thesis-table-4.3-openi", ("thesis-table-C.1-openi-gmhl", "thesis-table-C.2-openi-gmtl")),
        ("thesis-table-4.6-ohsumed", ("thesis-table-D.1-ohsumed-gmhl", "thesis-table-D.2-ohsumed-gmtl")),
    ],
)
def test_the_best_groupings_are_members_of_the_appendix(main: str, details: tuple[str, str]):
    there = {_work(member.settings) for name in details for member in TABLES[name].suite().members}
    grouped = [m.settings for m in TABLES[main].suite().members if m.settings.architecture.name[0] == "g"]
    assert len(grouped) == 6
    assert {_work(settings) for settings in grouped} <= there


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
    published = read_expected(EXPERIMENTS / table.folder / "expected.csv", runs)
    assert len(published) == table.rows
    assert all(number.measured is not None for number in published)
    # The MTL runs of a test stand in the rows of what they were held against.
    named = {number.measured for number in published}
    assert all(run.key in named for run in runs if table.header != TEST or run.architecture != "mtl")


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


@each_table
def test_the_swapped_column_says_so(table: Table):
    for row in table.expected():
        swapped = row["metric"] == "subset_accuracy" and row["architecture"] in ("gmhl", "gmtl")
        escaped = row["value"] == "0.3385"
        assert ("swapped column" in row["note"]) == (swapped and not escaped)


@each_table
def test_a_readme_says_how_to_run_and_compare_and_what_was_not_run(table: Table):
    text = (EXPERIMENTS / table.folder / "README.md").read_text(encoding="utf-8")
    place = f"experiments/{table.folder}"
    assert f"Table {table.number}" in text
    assert f"mtlv run {place}/config.yml data.path=" in text
    assert f"--expected {place}/expected.csv" in text
    assert "**Not run**" in text


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
    caption = paper.index(f"\nTable {table.number}:")
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


@pytest.mark.parametrize("folder", [folder for folder in TABLES if "clock" in folder])
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
