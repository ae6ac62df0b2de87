"""MT-BERT, BLURB, its choices, STILT and pretraining: configs that load, and numbers that are the papers'."""

from __future__ import annotations

import csv
import re
import runpy
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from unmeasured import as_run

from mtlv.comparison.published_numbers import read_expected
from mtlv.data import catalog
from mtlv.evaluation.compared_runs import ComparedRun, Published
from mtlv.models.wordpiece import tokenizer_of
from mtlv.planning.check import check_suite
from mtlv.settings import Suite, load_suite

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"
MT_BERT, CLINICAL, BLURB, CHOICES, STILT, TEXTS = FOLDERS = (
    "mt-bert-biomedical",
    "mt-bert-clinical",
    "blurb",
    "blurb-choices",
    "stilt",
    "pretraining",
)
CORPORA = {  # of MT-BERT, in the paper's order
    MT_BERT: ["chemprot", "ddi2013", "bc5cdr_disease", "bc5cdr_chem"],
    CLINICAL: ["clinicalsts", "i2b2_2010", "mednli", "shareclefe"],
}


@dataclass(frozen=True)
class Config:
    """What a config has to hold; `units` counts what members share once."""

    folder: str
    file: str
    members: int
    units: int

    @property
    def place(self) -> str:
        return f"experiments/{self.folder}/{self.file}"

    @property
    def path(self) -> Path:
        return EXPERIMENTS / self.folder / self.file

    @property
    def small(self) -> bool:
        return self.file.endswith("-small.yml")


CONFIGS = {
    config.place: config
    for config in (
        Config(MT_BERT, "config.yml", 5, 57),
        Config(MT_BERT, "config-pairs.yml", 10, 30),
        Config(MT_BERT, "config-small.yml", 3, 18),
        Config(CLINICAL, "config.yml", 6, 72),
        Config(CLINICAL, "config-pairs.yml", 10, 30),
        Config(CLINICAL, "config-eight.yml", 5, 129),
        Config(BLURB, "config.yml", 9, 585),
        Config(BLURB, "config-search.yml", 36, 180),
        Config(BLURB, "config-small.yml", 2, 24),
        Config(BLURB, "config-search-small.yml", 6, 18),
        Config(CHOICES, "relations.yml", 7, 70),
        Config(CHOICES, "tagging.yml", 4, 60),
        Config(CHOICES, "relations-small.yml", 7, 21),
        Config(CHOICES, "collapse-small.yml", 2, 6),
        Config(CHOICES, "tagging-small.yml", 4, 12),
        Config(STILT, "config.yml", 121, 363),
        Config(STILT, "config-small.yml", 8, 30),
        Config(TEXTS, "config.yml", 5, 70),
        Config(TEXTS, "config-pmc.yml", 2, 28),
        Config(TEXTS, "config-small.yml", 9, 65),
        Config(TEXTS, "config-vocabulary-small.yml", 8, 42),
    )
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
each_folder = pytest.mark.parametrize("folder", FOLDERS)


@cache
def _suite(place: str, *overrides: str) -> Suite:
    path = CONFIGS[place].path
    texts = re.search(r"path: (pubmed.*\.jsonl)\n.*text: (\w+)", path.read_text(encoding="utf-8"))
    if texts is not None:  # the texts are the user's
        folder = Path(tempfile.mkdtemp())
        rows = (f'{{"{texts[2]}": "Heart {number} is clear."}}\n' for number in range(40))
        (folder / texts[1]).write_text("".join(rows), encoding="utf-8")
        path = Path(shutil.copy(path, folder))
    return load_suite(path, overrides)


def _rows(folder: str) -> list[dict[str, str]]:
    with (EXPERIMENTS / folder / "expected.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _laid_beside(folder: str, *suites: Suite) -> tuple[list[ComparedRun], tuple[Published, ...]]:
    """The members of suites as if they had been read back from a store, and the numbers beside them."""
    members = [member for suite in suites for member in suite.members]
    runs = [as_run(index, member) for index, member in enumerate(members)]
    return runs, read_expected(EXPERIMENTS / folder / "expected.csv", runs)


# ---- Configs -----------------------------------------------------------------------------------------------


@each_folder
def test_every_config_is_in_this_list_and_the_folder_in_the_index(folder: str):
    found = {path.name for path in (EXPERIMENTS / folder).glob("*.yml")}
    assert found == {config.file for config in CONFIGS.values() if config.folder == folder}
    assert f"({folder}/README.md)" in (EXPERIMENTS / "README.md").read_text(encoding="utf-8")


@each_config
def test_a_config_is_a_suite_that_check_accepts(config: Config):
    suite = _suite(config.place)
    assert not suite.notes  # no member asked for twice
    assert len(suite.members) == config.members
    assert check_suite(suite).units == config.units
    assert suite.experiment.startswith(config.folder)
    about = config.path.read_text(encoding="utf-8")
    assert about.startswith(f"# mtlv run {config.place}\n")
    assert ("Needs " in about.partition("\n\n")[0]) != config.small
    sources = [each for member in suite.members for each in member.settings.data.each_source]
    assert all(each.path is None for each in sources if each.name != "table")


@each_config
def test_a_small_config_says_that_it_takes_subsets_and_another_encoder(config: Config):
    encoders = {member.settings.encoder.name for member in _suite(config.place).members}
    assert (encoders == {"minilm"}) == config.small
    if not config.small:
        limits = {
            one.limit for member in _suite(config.place).members for one in member.settings.data.each_source
        }
        assert limits == {None}


@pytest.mark.parametrize("folder", CORPORA)
def test_refinement_and_tuning_are_the_paper_s(folder: str):
    alone, refined, tuned, *others = (m.settings for m in _suite(f"experiments/{folder}/config.yml").members)
    assert [source.name for source in alone.data.each_source] == CORPORA[folder]
    for settings in (alone, refined):
        training = settings.training
        assert (training.epochs, training.batch_size, training.learning_rate) == (100, 32, 5e-5)
        assert (training.warmup, training.weight_decay, training.clip_norm) == (0.1, 0.01, 1.0)
        assert (settings.data.max_length, settings.data.window) == (128, 30)
    assert (alone.architecture.name, refined.architecture.name) == ("stl", "mtl")
    for settings in (tuned, *others):
        first, last = settings.each_stage
        assert (first.architecture.name, last.architecture.name) == ("mtl", "stl")
        assert (first.training, first.data) == (refined.training, refined.data)  # so it is trained once
        assert (last.training.epochs, last.training.learning_rate) == (10, 1e-5)


def test_a_model_of_blurb_is_of_one_corpus():
    for settings in (member.settings for member in _suite(f"experiments/{BLURB}/config.yml").members):
        corpora = [each.name for each in settings.data.each_source]
        tasks = [[task.name for task in catalog.card(name).tasks()] for name in corpora]
        assert [list(group) for group in settings.grouping.groups or ()] == tasks
        assert len(corpora) == 13


def test_choices_are_those_of_the_tables():
    small, whole = (
        [
            (m.name, m.settings.heads, m.settings.data.mentions)
            for m in _suite(f"experiments/{CHOICES}/{file}").members
        ]
        for file in ("relations-small.yml", "relations.yml")
    )
    assert small == whole
    assert len({(heads.relation_features, mentions) for _, heads, mentions in whole}) == 7
    collapse = _suite(f"experiments/{CHOICES}/collapse-small.yml").members
    of_it = {m.name: m.settings for m in _suite(f"experiments/{CHOICES}/relations-small.yml").members}
    for member in collapse:  # the same units
        assert (
            member.settings.model_copy(update={"experiment": of_it[member.name].experiment})
            == of_it[member.name]
        )
    tagging = [
        [m.settings.heads for m in _suite(f"experiments/{CHOICES}/{file}").members]
        for file in ("tagging-small.yml", "tagging.yml")
    ]
    assert tagging[0] == tagging[1]


# ---- Numbers -----------------------------------------------------------------------------------------------


@each_folder
def test_expected_numbers_are_fractions_of_figures_that_exist(folder: str):
    main = {task.name: task.main_metric for name in catalog.names() for task in catalog.card(name).tasks()}
    for row in _rows(folder):
        assert 0 < Decimal(row["value"]) < 1
        figure, _, task = row["metric"].partition("/")
        assert main.get(task) == figure or row["metric"] in ("score", "blurb_score", "average_f1_micro/hoc")
    assert len({row["row"] for row in _rows(folder)}) == len(_rows(folder))


def test_each_number_of_blurb_is_of_one_encoder():
    runs, published = _laid_beside(BLURB, _suite(f"experiments/{BLURB}/config.yml"))
    assert {number.measured for number in published} == {run.key for run in runs}
    assert len(published) == 9 * 14


def test_each_cell_of_stilt_is_of_one_member():
    place = f"experiments/{STILT}/config.yml"
    runs, published = _laid_beside(STILT, _suite(place), _suite(place, "encoder=bert"))
    assert sorted(number.measured or "" for number in published) == sorted(run.key for run in runs)
    tasks = {task.name: task.source for name in catalog.names() for task in catalog.card(name).tasks()}
    of = {run.key: run for run in runs}
    for number in published:
        own = of[number.measured or ""]
        assert own.params["tasks"] == f'["{tasks[number.metric.partition("/")[2]]}"]'
        assert ("alone" in number.row) == ("alone" in own.name)


def test_each_number_of_pretraining_is_of_one_vocabulary_and_one_way_to_hide_words():
    suites = [_suite(f"experiments/{TEXTS}/{file}") for file in ("config.yml", "config-pmc.yml")]
    runs, published = _laid_beside(TEXTS, *suites)
    name = {run.key: run.name for run in runs}
    told = {number.row.partition(":")[0]: name[number.measured or ""] for number in published}
    assert told == {
        "Table 7 Wiki + Books, pieces": "BERT's vocabulary, pieces",
        "Table 7 Wiki + Books, words": "BERT's vocabulary, whole words",
        "Table 7 PubMed, pieces": "PubMed's vocabulary, pieces",
        "Table 7 PubMed, words": "PubMed's vocabulary, whole words",
        "Table 8 PubMed + PMC": "PubMed and PMC",
        "Table 8 PubMed + PMC, longer": "PubMed and PMC, longer",
        "Table 9 adversarial": "PubMed's vocabulary, whole words, adversarial",
    }
    assert len(published) == 7 * 14
    epochs = [member.settings.each_stage[0].training.epochs for member in suites[1].members]
    assert epochs[1] / epochs[0] == pytest.approx(100 / 62.5, abs=0.1)


def test_terms_of_one_piece_and_the_pieces_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    names = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "diabetes", "l", "##ym", "##ph", "##oma"]
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer_of(vocabulary, lowercase=True, max_length=512).save_pretrained(tmp_path)
    main = runpy.run_path(str(EXPERIMENTS / TEXTS / "terms.py"))["main"]
    main([f"mine={tmp_path}"])
    rows = capsys.readouterr().out.splitlines()
    assert rows[:3] == ["| term | category | mine |", "| --- | --- | --- |", "| diabetes | disease | yes |"]
    assert "| lymphoma | disease | l ##ym ##ph ##oma |" in rows
    assert len(rows) == 2 + 17
    with pytest.raises(SystemExit, match="usage"):
        main([str(tmp_path)])


def test_the_cost_of_pretraining_by_hand():
    base = runpy.run_path(str(EXPERIMENTS / TEXTS / "cost.py"))["BASE"]
    weights = 12 * (4 * 768 * 768 + 2 * 768 * 3072)
    each = 6 * weights + 12 * 12 * 768 * 240 + 0.15 * 6 * (768 * 768 + 768 * 30_000)
    assert base.operations == pytest.approx(each * 240 * 62_500 * 8_192)
    assert base.hours(989e12, 1) == pytest.approx(base.operations / (0.4 * 989e12) / 3600)
    assert base.hours(989e12, 1) / base.hours(989e12, 8) == pytest.approx(7.2)
    (member, *_) = _suite(f"experiments/{TEXTS}/config.yml").members
    texts = member.settings.each_stage[0].training
    assert texts.batch_size * texts.accumulation == 8_192
    assert 14e6 * 0.94 * texts.epochs == pytest.approx(62_500 * 8_192, rel=0.01)
    said = (EXPERIMENTS / TEXTS / "README.md").read_text(encoding="utf-8")
    assert all(f"{base.hours(peak, n):.0f} h" in said for peak in (989e12, 312e12) for n in (1, 8))


def test_a_target_is_tuned_alike_whatever_was_learned_before():
    members = [member.settings for member in _suite(f"experiments/{TEXTS}/config-small.yml").members]
    lasts = [settings.each_stage[-1] for settings in members]
    assert len({last.training.model_dump_json() for last in lasts}) == 1
    assert [last.tasks for last in lasts].count(("gad",)) == 3
    own = {"chemprot": "ChemProt texts", "gad": "GAD texts", "bc5cdr_disease": "BC5CDR texts"}
    for settings in (each for each in members if each.stages):
        ((first,), (target,)) = (stage.tasks for stage in settings.stages)
        assert first in ("OHSUMED texts", own[target])


def test_numbers_of_mt_bert_are_of_their_members():
    runs, published = _laid_beside(MT_BERT, _suite(f"experiments/{MT_BERT}/config.yml"))
    name = {run.key: run.name for run in runs}
    told = {
        n.row.rsplit(" ", 1)[0]: n.measured and name[n.measured] for n in published if n.metric == "score"
    }
    assert told == {
        "Table 3 BlueBERT biomedical": "single-task",
        "Table 3 MT-BlueBERT-Refinement biomedical": "refinement",
        "Table 3 MT-BlueBERT-Fine-Tune biomedical": "fine-tuning",
        "Table 5 MT-BioBERT-Fine-Tune": "fine-tuning of BioBERT",
        "Table 5 MT-BlueBERT-Fine-Tune biomedical": "fine-tuning",
        "Table 5 MT-BlueBERT-Fine-Tune clinical": "fine-tuning of clinical BlueBERT",
    }


def test_numbers_of_clinical_mt_bert_are_of_their_members():
    suites = [_suite(f"experiments/{CLINICAL}/{file}") for file in ("config.yml", "config-eight.yml")]
    runs, published = _laid_beside(CLINICAL, *suites)
    names = {run.key: run.name for run in runs}
    members = {n.row.removesuffix(" Avg"): names[n.measured or ""] for n in published if n.metric == "score"}
    assert members == {
        "Table 2 BlueBERT clinical": "single-task",
        "Table 2 MT-BlueBERT-Refinement clinical": "refinement",
        "Table 2 MT-BlueBERT-Fine-Tune clinical": "fine-tuning",
        "Table 4 MT-ClinicalBERT-Fine-Tune": "fine-tuning of ClinicalBERT",
        "Table 4 MT-BioBERT-Fine-Tune": "fine-tuning of BioBERT",
        "Table 4 MT-BlueBERT-Fine-Tune biomedical": "fine-tuning of biomedical BlueBERT",
        "Table 4 MT-BlueBERT-Fine-Tune clinical": "fine-tuning",
        "Table 6 BlueBERT biomedical": "biomedical BlueBERT",
        "Table 6 BlueBERT clinical": "clinical BlueBERT",
        "Table 6 MT-BioBERT Fine-Tune": "fine-tuning of BioBERT",
        "Table 6 MT-BlueBERT Fine-Tune biomedical": "fine-tuning of biomedical BlueBERT",
        "Table 6 MT-BlueBERT Fine-Tune clinical": "fine-tuning of clinical BlueBERT",
    }


@pytest.mark.parametrize(
    ("folder", "table", "corpora"),
    [
        (MT_BERT, "Table 3", 4),
        (MT_BERT, "Table 5", 4),
        (CLINICAL, "Table 2", 4),
        (CLINICAL, "Table 4", 4),
        (CLINICAL, "Table 6", 8),
    ],
)
def test_means_of_mt_bert_follow_from_their_cells(folder: str, table: str, corpora: int):
    cells: dict[str, list[Decimal]] = {}
    means: dict[str, Decimal] = {}
    for row in (row for row in _rows(folder) if row["row"].startswith(table)):
        who, value = (
            ", ".join(row[key] for key in ("encoder", "architecture", "stages")),
            Decimal(row["value"]),
        )
        if row["metric"] == "score":
            means[who] = value
        else:
            cells.setdefault(who, []).append(value)
    assert cells.keys() == means.keys()
    for who, values in cells.items():
        assert len(values) == corpora
        assert abs(sum(values) / corpora - means[who]) <= Decimal("0.0005")


def test_numbers_of_choices_are_of_their_members():
    suites = [_suite(f"experiments/{CHOICES}/{file}") for file in ("relations.yml", "tagging.yml")]
    for suite, rest in zip(suites, ("tagging", "relations"), strict=True):
        runs, published = _laid_beside(CHOICES, suite)
        here = {number.measured for number in published if number.measured is not None}
        assert here == {run.key for run in runs}, rest
    relations = {n.row for n in _laid_beside(CHOICES, suites[0])[1] if n.measured is not None}
    tagging = {n.row for n in _laid_beside(CHOICES, suites[1])[1] if n.measured is not None}
    left_out = {row["row"] for row in _rows(CHOICES)} - relations - tagging
    assert not relations & tagging
    assert left_out == {f"Table 10 Bi-LSTM {corpus}" for corpus in ("ChemProt", "DDI", "GAD")}


@each_folder
def test_a_readme_says_how_to_run_and_compare_and_what_was_not_run(folder: str):
    text = (EXPERIMENTS / folder / "README.md").read_text(encoding="utf-8")
    for config in (config for config in CONFIGS.values() if config.folder == folder):
        assert (f"mtlv run {config.place}" in text) or f"`{config.file}`" in text
    assert f"--expected experiments/{folder}/expected.csv" in text
    assert "**Not run**" in text


# ---- Against the papers' texts -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def papers(real_data: Path) -> Path:
    folder = real_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip("the papers' texts are not here")
    return folder


def _lines(text: str, number: int) -> Iterator[list[str]]:
    """The cells of a table whose caption stands below it."""
    caption = re.search(rf"\n+Table {number}[:.] ", text)
    assert caption is not None
    lines = text[text.rindex("\n\n", 0, caption.start()) : caption.start()].strip().split("\n")
    return (re.sub(r"</?\w+>|\*", "", line).split("\t") for line in lines)


def _numbers(lines: Iterable[Sequence[str]]) -> list[Decimal]:
    return [Decimal(cell) for line in lines for cell in line if re.fullmatch(r"\s*\d+\.\d+\s*", cell)]


def _written(folder: str, begins: str = "") -> list[Decimal]:
    return [Decimal(row["value"]) for row in _rows(folder) if row["row"].startswith(begins)]


@pytest.mark.parametrize(
    ("folder", "number"), [(MT_BERT, 3), (MT_BERT, 5), (CLINICAL, 2), (CLINICAL, 4), (CLINICAL, 6)]
)
def test_every_number_of_mt_bert_is_there_in_its_order(papers: Path, folder: str, number: int):
    text = (papers / "mt-bert.txt").read_text(encoding="utf-8")
    assert _numbers(_lines(text, number)) == _written(folder, f"Table {number} ")


def test_every_number_of_blurb_is_there_in_its_order(papers: Path):
    text = (papers / "pubmedbert-blurb.txt").read_text(encoding="utf-8")
    assert _numbers(_lines(text, 6)) == [100 * value for value in _written(BLURB)]
    assert _numbers(_lines(text, 7)) == [100 * value for value in _written(TEXTS, "Table 7 ")]
    for number, new in ((8, 2), (9, 1)):  # the first column is of Table 6
        printed, columns = _numbers(_lines(text, number)), new + 1
        added = [value for place, value in enumerate(printed) if place % columns]
        assert added == [100 * value for value in _written(TEXTS, f"Table {number} ")]
    for number in (10, 11, 12):
        printed = _numbers(_lines(text, number))
        assert printed == [100 * value for value in _written(CHOICES, f"Table {number} ")]


@pytest.mark.parametrize(("number", "encoder"), [(3, "PubMedBERT"), (2, "BERT")])
def test_every_number_of_stilt_is_there_in_its_order(papers: Path, number: int, encoder: str):
    text = (papers / "stilt-biomedical.txt").read_text(encoding="utf-8")
    lines = text[text.index(f"**Table {number} ") :].split("\n")[4:15]
    printed = _numbers([line.split("\t") for line in lines])
    assert len(printed) == 121
    assert printed == [100 * value for value in _written(STILT, f"{encoder} ")]
