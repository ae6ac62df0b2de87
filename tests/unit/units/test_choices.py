"""Settings of heads: each reaches the model, its targets and its scores, and makes other units."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest
from listening import Watcher

from mtlv.errors import ConfigError
from mtlv.events import ignore
from mtlv.models.pooling import DocumentPooler, MentionPooler
from mtlv.plan.spans import Span
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve_all
from mtlv.settings import Suite, load_suite
from mtlv.settings.load import default_settings
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import UnitRecord
from mtlv.suite.run import _tell_notes
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job
from mtlv.units.model import build_model, marked_entities
from mtlv.units.train import _mixture, train_unit
from mtlv.units.validation import UnitCallbacks

Trained = list[tuple[Job, UnitRecord]]
TAGGING = tuple(product(("bio", "bioul", "io"), ("linear", "bilstm", "crf")))
RELATIONS = ("document", "cls", "mention", "start")
LEARNING = ("training.epochs=8", "training.learning_rate=5e-3", "encoder.dropout=0")
TINY = 32  # its width in these tests
COUNTS = {"train": 8, "dev": 4, "test": 4}


def conll(folder: Path) -> str:
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
            verb = ("spares", "causes")[number % 2]
            lines.append(f"{number}\tThe @GENE$ {verb} {number} in @DISEASE$ here\t{number % 2}")
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    return "gad"


def suite_of(folder: Path, name: str, config: str, *changes: str) -> Suite:
    (folder / "c.yml").write_text(config)
    given = [f"data.name={name}", f"data.path={folder / 'data'}", "encoder=tiny", "training.epochs=1"]
    given += ["training.batch_size=4", "training.device=cpu", "training.precision=fp32", "data.max_length=16"]
    return load_suite(folder / "c.yml", [*given, f"store.uri={folder / 'store'}", *changes])


def train(suite: Suite, folder: Path) -> Trained:
    """Every unit of a suite, without what a run writes of it."""
    cache = InputCache()
    callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
    jobs = [job for member in resolve_all(cache, suite.members) for job in member.jobs]
    return [
        (
            job,
            train_unit(job, cache.inputs(job.settings), callbacks, Checkpoints(folder / job.unit.key))[0],
        )
        for job in jobs
    ]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("tagged")
    (folder / "data").mkdir()
    config = "matrix: {heads.tagging_scheme: [bio, bioul, io], heads.tagging_layer: [linear, bilstm, crf]}\n"
    return train(suite_of(folder, conll(folder / "data"), config, *LEARNING), folder)


@pytest.fixture(scope="module")
def related(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("related")
    (folder / "data").mkdir()
    features = ", ".join(RELATIONS)
    config = f"matrix: {{heads.relation_features: [{features}], data.mentions: [markers, original]}}\n"
    return train(suite_of(folder, gad(folder / "data"), config, *LEARNING), folder)


def test_every_scheme_trains_with_every_layer(tagged: Trained) -> None:
    """Its loss falls, and its head has a column for each tag and the weights of its layer."""
    assert len({record.key for _, record in tagged}) == len(TAGGING) == len(tagged)
    encoders = set()
    for job, record in tagged:
        first, last = record.epochs[0], record.epochs[-1]
        assert last.loss < first.loss, job.settings.heads
        tags = {"bio": 3, "bioul": 5, "io": 2}[job.settings.heads.tagging_scheme]
        recurrent = 2 * 4 * (TINY // 2) * (TINY + TINY // 2 + 2)  # directions, gates, weights and two biases
        layer = {"linear": 0, "bilstm": recurrent, "crf": tags * tags + 2 * tags}
        own = (TINY + 1) * tags + layer[job.settings.heads.tagging_layer]
        encoders.add(record.parameters - own)
    assert len(encoders) == 1


def test_true_spans_stay_whatever_the_scheme(tagged: Trained) -> None:
    for _, record in tagged:
        (scores,) = record.test.tasks.values()
        true = (Span(0, 1, ""), Span(1, 2, ""), Span(3, 5, ""))
        assert [tuple(Span(s, e) for s, e, _ in spans) for spans in scores.targets] == [true] * COUNTS["test"]


def test_what_a_scheme_cannot_say_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    config = "matrix: {heads.tagging_scheme: [bio, bioul, io], heads.tagging_layer: [linear, bilstm]}\n"
    observer, cache = Watcher(), InputCache()
    resolved = resolve_all(cache, suite_of(tmp_path, conll(tmp_path / "data"), config).members)
    _tell_notes(resolved, cache, observer, set())
    notes = [note for note in observer.notes if "merge with the previous" in note]
    assert len(notes) == 1
    assert "16 of 48 spans merge with the previous span in tags of `io`" in notes[0]


def test_every_feature_of_a_relation_trains(related: Trained) -> None:
    """Its loss falls, and is another one than that of any other feature of the same texts."""
    assert len({record.key for _, record in related}) == 2 * len(RELATIONS) == len(related)
    losses: dict[str, set[float]] = {}
    for job, record in related:
        first, last = record.epochs[0], record.epochs[-1]
        assert last.loss < first.loss, (job.settings.heads, job.settings.data.mentions)
        losses.setdefault(job.settings.data.mentions, set()).add(first.loss)
    assert [len(each) for each in losses.values()] == [len(RELATIONS)] * 2


@pytest.mark.parametrize(
    ("features", "reader", "width"),
    [("document", DocumentPooler, 1), ("cls", DocumentPooler, 1), ("mention", MentionPooler, 2)],
)
def test_a_relation_reads_what_is_asked(features: str, reader: type, width: int, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    suite = suite_of(tmp_path, gad(tmp_path / "data"), "{}", f"heads.relation_features={features}")
    cache = InputCache()
    (job,) = resolve_all(cache, suite.members)[0].jobs
    inputs = cache.inputs(job.settings)
    marked = marked_entities(inputs.corpus)
    assert set(marked.values()) == {2}
    model = build_model(
        inputs.encoder.module,
        job.unit.model.heads,
        tasks=inputs.tasks,
        features="mean",
        choices=job.settings.heads,
        marked=marked,
        seed=0,
    )
    (found,) = model.readers.values()
    assert isinstance(found, reader)
    assert found.width(1) == width
    assert model.encoder is not inputs.encoder.module


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
def windowed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    """One source and two, each whole and in windows of 3 words."""
    folder = tmp_path_factory.mktemp("windowed")
    for name, make in (("data", conll), ("gad", gad)):
        (folder / name).mkdir()
        make(folder / name)
    config = "matrix: {data.window: [null, 3], data.window_overlap: [2]}\n"
    sources = (
        f"data.sources=[{{name: conll, path: {folder / 'data'}}}, {{name: gad, path: {folder / 'gad'}}}]"
    )
    without = ("data.name=synthetic", "data.path=null", sources)
    return {
        name: train(suite_of(folder, "conll", config, *changes), folder)
        for name, changes in {"one": (), "two": without}.items()
    }


@pytest.mark.parametrize("sources", ["one", "two"])
def test_windows_change_what_is_read_and_no_document(sources: str, windowed: dict) -> None:
    (whole_job, whole), (cut_job, cut) = windowed[sources]
    assert whole.key != cut.key
    assert cut.test.ids == whole.test.ids
    for name, task in whole.test.tasks.items():
        assert cut.test.tasks[name].targets.tolist() == task.targets.tolist()
        assert cut.test.tasks[name].mask.tolist() == task.mask.tolist()
        assert len(cut.test.tasks[name].outputs) == len(task.outputs)
    extra = COUNTS["train"] * 3  # six words in windows of three that share two: four windows
    assert cut.epochs[0].documents == whole.epochs[0].documents + extra
    assert (whole_job.documents, cut_job.documents) == (whole.epochs[0].documents, cut.epochs[0].documents)


def test_a_window_of_all_words_changes_no_weight(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    config = "matrix: {data.window: [null, 6]}\n"
    (_, whole), (_, cut) = train(suite_of(tmp_path, conll(tmp_path / "data"), config), tmp_path)
    assert whole.epochs[0].loss == cut.epochs[0].loss


@pytest.mark.parametrize("text", ["{window: 30, window_overlap: 30}", "{window_overlap: 2}"])
def test_overlaps_that_mean_nothing_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.window_overlap"):
        suite_of(tmp_path, "conll", f"data: {text}\n")


# ---- Of one source, of one task ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    for name, make in (("conll", conll), ("gad", gad)):
        (folder / name).mkdir()
        make(folder / name)
    return folder


def two(folder: Path, of_gad: str = "", *changes: str, config: str = "") -> Suite:
    sources = f"[{{name: conll, path: conll}}, {{name: gad, path: gad{of_gad}}}]"
    (folder / "c.yml").write_text(f"data: {{max_length: 16, sources: {sources}}}\n{config}")
    given = [
        "encoder=tiny",
        "training.epochs=1",
        "training.batch_size=4",
        "training.device=cpu",
        "training.precision=fp32",
    ]
    return load_suite(folder / "c.yml", [*given, f"store.uri={folder / 'store'}", *changes])


def test_a_source_has_its_own_length_and_batch_size(two_sources: Path) -> None:
    cache = InputCache()
    sizes, keys = [], set()
    for of_gad in ("", ", max_length: 5", ", batch_size: 2"):
        (job,) = resolve_all(cache, two(two_sources, of_gad).members)[0].jobs
        inputs = cache.inputs(job.settings)
        lengths = inputs.tokens.lengths
        keys.add(job.unit.key)
        sizes.append((lengths[:16].max(), lengths[16:].max(), _mixture(job, inputs).sizes))
    plain, short, small = sizes
    assert short == (plain[0], 5, (4, 4))
    assert small == (*plain[:2], (4, 2))
    assert len(keys) == 3


def test_weights_are_of_tasks_or_of_all_tasks_of_a_data_set(two_sources: Path) -> None:
    given = "null, {gad: 0.5}, {GAD: 0.5}, {gad: 2.0, GAD: 0.5}, {conll: 0.5}"
    config = f"matrix: {{training.task_weights: [{given}]}}\n"
    trained = train(two(two_sources, config=config), two_sources)
    losses = [record.epochs[0].heads for _, record in trained]
    assert len({record.key for _, record in trained}) == 5
    plain, by_source, by_task, both, other = losses
    assert by_source == by_task == both
    (head,) = [name for name in plain if "GAD" in name]
    assert by_task[head] == pytest.approx(plain[head] / 2, rel=0.2)
    assert other[head] == pytest.approx(plain[head], rel=0.2)


def test_weights_of_no_task_are_refused(two_sources: Path) -> None:
    suite = two(two_sources, "", "training.task_weights={Gad: 1.0}")
    with pytest.raises(ConfigError, match=r"`training\.task_weights` names no task: `Gad`; allowed: .*GAD"):
        check_suite(suite)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("data.path=gad", r"`data\.path`: set, but `data\.sources` names the data sets"),
        ("data.name=gad", r"`data\.name`: set, but"),
        ("data.limit=5", r"`data\.limit`: set, but"),
        ("data.labels=[GAD]", r"`data\.labels`: set, but"),
        ("data.sources=[{name: gad, max_length: 3}, {name: conll}]", r"`data\.sources.*4 to 8192"),
        ("data.sources=[{name: gad, batch_size: 0}, {name: conll}]", r"`data\.sources.*got 0"),
        ("training.task_weights={GAD: 0}", r"`training\.task_weights.*above 0"),
    ],
)
def test_what_would_not_be_read_or_means_nothing_is_refused(
    change: str, said: str, two_sources: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        two(two_sources, "", change)
