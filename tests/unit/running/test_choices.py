"""Settings of heads: each reaches the model, its targets and its scores, and makes other units."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.models.features import DocumentReader, MentionReader
from mtlv.plan.spans import Span
from mtlv.running import Observer, check_suite, run_suite
from mtlv.running.build import build_model, marked_entities
from mtlv.running.resolve import resolve_all
from mtlv.running.suite import SuiteResult
from mtlv.running.workbench import Workbench
from mtlv.settings import Suite, load_suite
from mtlv.settings.load import default_settings
from mtlv.tracking import MemoryTracker

TAGGING = tuple(product(("bio", "bioul", "io"), ("linear", "bilstm", "crf")))
RELATIONS = ("document", "cls", "mention", "start")
COUNTS = {"train": 8, "dev": 4, "test": 4}


def conll(folder: Path, rows: dict[str, list[str]] | None = None) -> str:
    """Two drugs of one word side by side in every sentence, and one of two words."""
    tags = ["B", "B", "O", "B", "I", "O"]
    for part, count in COUNTS.items():
        words = [f"aspirin heparin and folic acid {part}{n}".split() for n in range(count)]
        sentences = ["\n".join(map("\t".join, zip(row, tags, strict=True))) for row in words]
        (folder / f"{part}.tsv").write_text("\n\n".join(sentences) + "\n")
    return "conll"


def gad(folder: Path) -> str:
    number = 0
    for part, count in COUNTS.items():
        lines = ["index\tsentence\tlabel"] if part == "test" else []
        for _ in range(count):
            number += 1
            lines.append(f"{number}\tThe @GENE$ of {number} in @DISEASE$ here\t{number % 2}")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return "gad"


def suite_of(folder: Path, name: str, config: str, *changes: str) -> Suite:
    (folder / "c.yml").write_text(config)
    given = [f"data.name={name}", f"data.path={folder / 'data'}", "encoder=tiny", "training.epochs=1"]
    given += ["training.batch_size=4", "training.device=cpu", "data.max_length=16"]
    return load_suite(folder / "c.yml", [*given, f"store.uri={folder / 'store'}", *changes])


class Hearing(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteResult, list[str]]:
    folder = tmp_path_factory.mktemp("tagged")
    (folder / "data").mkdir()
    config = "matrix: {heads.tagging_scheme: [bio, bioul, io], heads.tagging_layer: [linear, bilstm, crf]}\n"
    observer = Hearing()
    return run_suite(
        suite_of(folder, conll(folder / "data"), config), observer, MemoryTracker()
    ), observer.notes


@pytest.fixture(scope="module")
def related(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    folder = tmp_path_factory.mktemp("related")
    (folder / "data").mkdir()
    features = ", ".join(RELATIONS)
    config = f"matrix: {{heads.relation_features: [{features}], data.mentions: [markers, original]}}\n"
    return run_suite(suite_of(folder, gad(folder / "data"), config), Observer(), MemoryTracker())


def keys(result: SuiteResult) -> list[str]:
    return [job.unit.key for member in result.members for job in member.resolved.jobs]


def test_every_scheme_trains_with_every_layer(tagged: tuple) -> None:
    result, _ = tagged
    assert result.failed == ()
    assert len(set(keys(result))) == len(TAGGING) == len(keys(result))


def test_true_spans_stay_whatever_the_scheme(tagged: tuple) -> None:
    for member in tagged[0].members:
        (found,) = member.outcomes
        (scores,) = found.test.tasks.values()
        true = (Span(0, 1, ""), Span(1, 2, ""), Span(3, 5, ""))
        assert [tuple(Span(s, e) for s, e, _ in spans) for spans in scores.targets] == [true] * COUNTS["test"]


def test_what_a_scheme_cannot_say_is_told_once(tagged: tuple) -> None:
    notes = [note for note in tagged[1] if "become one with" in note]
    assert len(notes) == 1
    assert "16 of 48 spans become one with the span before them in tags of `io`" in notes[0]


def test_every_feature_of_a_relation_trains(related: SuiteResult) -> None:
    assert related.failed == ()
    assert len(set(keys(related))) == 2 * len(RELATIONS) == len(keys(related))


@pytest.mark.parametrize(
    ("features", "reader", "width"),
    [("document", DocumentReader, 1), ("cls", DocumentReader, 1), ("mention", MentionReader, 2)],
)
def test_a_relation_reads_what_is_asked(features: str, reader: type, width: int, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    suite = suite_of(tmp_path, gad(tmp_path / "data"), "{}", f"heads.relation_features={features}")
    bench = Workbench()
    (job,) = resolve_all(bench, suite.members)[0].jobs
    material = bench.material(job.settings)
    marked = marked_entities(material.corpus)
    assert set(marked.values()) == {2}
    model = build_model(
        material.encoder.module,
        job.unit.model.heads,
        tasks=material.tasks,
        features="mean",
        choices=job.settings.heads,
        marked=marked,
        seed=0,
    )
    (found,) = model.readers.values()
    assert isinstance(found, reader)
    assert found.width(1) == width
    assert model.encoder is not material.encoder.module


def test_a_layer_without_its_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchcrf", None)
    suite = suite_of(tmp_path, "synthetic", "heads:\n  tagging_layer: crf\n", "data.path=null")
    with pytest.raises(ConfigError, match=r"c\.yml:2: `heads\.tagging_layer: crf` needs .* 'mtlv\[crf\]'"):
        check_suite(suite)


def test_the_defaults_are_bio_linear_and_the_documents_vector() -> None:
    heads = default_settings().heads
    assert heads.model_dump() == {
        "tagging_scheme": "bio",
        "tagging_layer": "linear",
        "relation_features": "document",
    }


# ---- Windows ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SuiteResult]:
    """One source and two, each whole and in windows of 3 words."""
    folder = tmp_path_factory.mktemp("windowed")
    for name, make in (("data", conll), ("gad", gad)):
        (folder / name).mkdir()
        make(folder / name)
    config = "matrix: {data.window: [null, 3], data.window_overlap: [2]}\n"
    sources = (
        f"data.sources=[{{name: conll, path: {folder / 'data'}}}, {{name: gad, path: {folder / 'gad'}}}]"
    )
    return {
        name: run_suite(suite_of(folder, "conll", config, *changes), Observer(), MemoryTracker())
        for name, changes in {"one": (), "two": (sources,)}.items()
    }


@pytest.mark.parametrize("sources", ["one", "two"])
def test_windows_change_what_is_read_and_no_document(sources: str, windowed: dict) -> None:
    result = windowed[sources]
    assert result.failed == ()
    assert len(set(keys(result))) == 2
    whole, cut = (member.outcomes[0] for member in result.members)
    assert cut.test.ids == whole.test.ids
    for name, task in whole.test.tasks.items():
        assert cut.test.tasks[name].targets.tolist() == task.targets.tolist()
        assert cut.test.tasks[name].mask.tolist() == task.mask.tolist()
        assert len(cut.test.tasks[name].outputs) == len(task.outputs)
    extra = COUNTS["train"] * 3  # six words in windows of three that share two: four windows
    assert cut.records[0].epochs[0].documents == whole.records[0].epochs[0].documents + extra
    jobs = [job for member in result.members for job in member.resolved.jobs]
    assert [job.documents for job in jobs] == [found.records[0].epochs[0].documents for found in (whole, cut)]


def test_a_window_of_all_words_changes_no_weight(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    config = "matrix: {data.window: [null, 6]}\n"
    result = run_suite(suite_of(tmp_path, conll(tmp_path / "data"), config), Observer(), MemoryTracker())
    whole, cut = (member.outcomes[0].records[0].epochs[0].loss for member in result.members)
    assert whole == cut


@pytest.mark.parametrize("text", ["{window: 30, window_overlap: 30}", "{window_overlap: 2}"])
def test_overlaps_that_mean_nothing_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.window_overlap"):
        suite_of(tmp_path, "conll", f"data: {text}\n")
