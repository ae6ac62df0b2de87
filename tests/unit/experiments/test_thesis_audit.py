"""The audit's defects are really in effect, and without them its path is the package's own."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.data.columns import dense
from mtlv.errors import PlanError
from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.thresholds import fit_thresholds
from mtlv.events import ignore
from mtlv.plan import Scores, TaskScores
from mtlv.settings import Suite, load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.embed import embed_texts
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

AUDIT = Path(__file__).resolve().parents[3] / "experiments" / "thesis-audit"
sys.path.insert(0, str(AUDIT))

import audit_report  # noqa: E402
import audit_rows  # noqa: E402
import audit_training  # noqa: E402
import run  # noqa: E402
from audit_rows import Row, Scoring  # noqa: E402
from audit_training import Defects  # noqa: E402
from audit_work import Audit  # noqa: E402

WORDS = {
    "C01": "sepsis after infection",
    "C04": "tumour of the breast",
    "C06": "ulcer of the stomach",
    "C10": "stroke and dementia",
    "C14": "infarction of the heart",
}
NAMES = (
    *("Bacterial Infections and Mycoses", "Neoplasms", "Digestive System Diseases"),
    *("Nervous System Diseases", "Cardiovascular Diseases"),
)


@pytest.fixture(scope="module")
def ohsumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 documents of up to three of five classes, in the archive's own layout."""
    root, rng = tmp_path_factory.mktemp("ohsumed"), np.random.default_rng(0)
    for number in range(80):
        codes = rng.choice(list(WORDS), size=rng.integers(1, 4), replace=False)
        text = f"Case {number}: " + ", ".join(WORDS[code] for code in codes)
        for code in codes:
            place = root / ("test" if number % 4 == 0 else "training") / code / f"{number:07d}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return root


@pytest.fixture(scope="module")
def changes(ohsumed: Path) -> list[str]:
    return [
        f"data.path={ohsumed}",
        "data.limit=null",
        f"data.labels=[{', '.join(NAMES)}]",
        "encoder=tiny",
        "grouping.k=2",
        "grouping.k_max=4",
        "training.epochs=2",
        "training.device=cpu",
        "seed=[0, 1]",
    ]


@pytest.fixture(scope="module")
def suite(changes: list[str]) -> Suite:
    return load_suite(AUDIT / "config.yml", changes)


@pytest.fixture(scope="module", params=[False, True], ids=["encoder", "fixed vectors"])
def audit(request, suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return Audit(suite, tmp_path_factory.mktemp("units"), fixed_vectors=request.param)


@pytest.fixture
def job_of(audit: Audit) -> Callable:
    def find(row: str) -> tuple:
        work = next(work for work in audit.works if work.row.id == row and work.seed == 0)
        job = work.child.jobs[0]
        return job, audit.inputs

    return find


@pytest.mark.parametrize("row", ["mtl", "gmhl", "gmtl-names"])
def test_without_defects_the_scores_are_the_packages_own(job_of: Callable, row: str, tmp_path: Path) -> None:
    job, inputs = job_of(row)
    callbacks = UnitCallbacks(ignore, lambda *_: None, lambda _: 0)
    record, _ = train_unit(job, inputs, callbacks, Checkpoints(tmp_path / "checkpoints"))
    ours = audit_training.train_with(job, inputs, Defects())
    for own, theirs in ((ours.validation, record.validation), (ours.test, record.test)):
        assert own.ids == theirs.ids
        for name in job.unit.model.tasks:
            np.testing.assert_array_equal(own.tasks[name].outputs, theirs.tasks[name].outputs)
            np.testing.assert_array_equal(own.tasks[name].targets, theirs.tasks[name].targets)


def test_frozen_heads_stay_and_trained_heads_move(job_of: Callable) -> None:
    job, inputs = job_of("gmhl")
    frozen = audit_training.train_with(job, inputs, Defects(frozen_heads=True))
    honest = audit_training.train_with(job, inputs, Defects())
    assert frozen.head_shift == 0
    assert frozen.encoder_shift > 0
    assert honest.head_shift > 0


def test_hidden_heads_have_the_first_weights_of_a_plain_linear_layer(job_of: Callable) -> None:
    job, inputs = job_of("gmhl")
    model = audit_training._build(job, inputs)
    before = audit_training._weights(model)[0]
    audit_training.hide_heads(model, seed=0)
    after = audit_training._weights(model)[0]
    bound = 1 / np.sqrt(inputs.encoder.width)  # nn.Linear draws uniformly within it
    assert not np.array_equal(before, after)
    assert np.abs(after).max() <= bound
    assert np.abs(after).max() > 0.9 * bound
    assert not any(parameter.requires_grad for parameter in model.heads.parameters())


def test_orders(job_of: Callable) -> None:
    job, inputs = job_of("mtl")
    targets = dense({name: inputs.corpus.targets[name] for name in job.unit.model.tasks})
    documents = audit_training.PartDocuments(inputs.tokens, targets, job.fold.train)

    def epochs(order: str) -> list[list[list[int]]]:
        make = lambda epoch: audit_training.batches(documents, inputs, job, order=order, epoch=epoch)  # noqa: E731
        return [[batch.index.tolist() for batch in make(epoch)] for epoch in (0, 1)]

    shuffled, once, folders = (epochs(order) for order in audit_training.ORDERS)
    for found in (*shuffled, *once, *folders):
        assert sorted(row for batch in found for row in batch) == job.fold.train.tolist()
    assert shuffled[0] != shuffled[1]
    assert once[0] == once[1] == shuffled[0]
    assert folders[0] == folders[1]
    first = inputs.corpus.matrix()[[row for batch in folders[0] for row in batch]].argmax(axis=1)
    assert (np.diff(first) >= 0).all()


def _scores(split: str, outputs: list[float], targets: list[int]) -> Scores:
    task = TaskScores(np.array(outputs), np.array(targets), np.ones(len(targets), bool))
    return Scores(("unit",), split, tuple(map(str, range(len(targets)))), {"a": task})


def test_a_threshold_from_test_labels_fits_the_test_part_and_the_package_refuses_it(suite: Suite) -> None:
    validation = _scores("validation", [0.1, 0.2, 0.62, 0.64], [0, 0, 1, 1])
    test = _scores("test", [0.1, 0.72, 0.74, 0.8], [0, 0, 0, 1])
    settings = suite.members[0].settings
    honest, wrong, six = (
        audit_rows.figures(validation, test, names=("a",), scoring=scoring, settings=settings)
        for scoring in (Scoring(), Scoring("test"), Scoring("test", thesis_grid=True))
    )
    assert honest["f1_macro"] == pytest.approx(0.5)
    assert wrong["threshold"] == 0.75
    assert wrong["f1_macro"] == 1
    assert six["threshold"] == 0.8
    with pytest.raises(PlanError, match="fitted on validation scores only"):
        fit_thresholds(test, ["a"], scope="per_plan", fixed=0.5, grid=(0.5,))


def test_honest_figures_are_the_packages_and_swapped_columns_are_swapped(suite: Suite) -> None:
    rng = np.random.default_rng(3)
    names, settings = ("a", "b", "c"), suite.members[0].settings

    def scores(split: str) -> Scores:
        tasks = {n: _scores(split, rng.random(40).tolist(), rng.integers(0, 2, 40).tolist()) for n in names}
        return replace(tasks["a"], tasks={name: one.tasks["a"] for name, one in tasks.items()})

    validation, test = scores("validation"), scores("test")
    honest, swapped = (
        audit_rows.figures(validation, test, names=names, scoring=scoring, settings=settings)
        for scoring in (Scoring(), Scoring(swapped=True))
    )
    plan = evaluate(test, names, dict.fromkeys(names, honest["threshold"])).plan.as_dict()
    assert {metric: plan[metric] for metric in audit_rows.METRICS} == {
        metric: honest[metric] for metric in audit_rows.METRICS
    }
    assert honest["hamming_score"] > honest["subset_accuracy"]
    assert swapped["subset_accuracy"] == honest["hamming_score"]
    assert swapped["hamming_score"] == honest["subset_accuracy"]
    assert swapped["f1_macro"] == honest["f1_macro"]


def test_code_groups_embed_the_codes(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def spy(encoder: object, texts: list[str], **_: object) -> np.ndarray:
        seen.extend(texts)
        return np.arange(len(texts), dtype=np.float32)[:, None] ** 3

    monkeypatch.setattr(audit_rows, "embed_texts", spy)
    settings = next(m.settings for m in audit.suite.members if m.name == "gmtl names")
    groups = audit_rows.code_groups(settings, audit.cache)
    assert seen == list(WORDS)
    assert sorted(name for members in groups for name in members) == sorted(NAMES)
    assert len(groups) == 2


def test_each_seed_draws_its_own_random_groups_of_the_same_sizes(audit: Audit) -> None:
    works = [work for work in audit.works if work.row.id in ("gmtl-names", "gmtl-random")]
    sizes = {work.row.id: set() for work in works}
    for work in works:
        assert work.child.groups is not None
        sizes[work.row.id].add(tuple(sorted(work.child.groups.grouping.sizes)))
    assert sizes["gmtl-names"] == sizes["gmtl-random"]
    seeds = {job.settings.grouping.seed for w in works if w.row.id == "gmtl-random" for job in w.child.jobs}
    assert seeds == {0, 1}


def test_every_twin_is_a_row_before_its_own() -> None:
    seen: set[str] = set()
    for row in audit_rows.rows():
        assert row.id not in seen
        assert row.twin is None or row.twin in seen
        seen.add(row.id)


def _line(own: list[float], twin: list[float]) -> audit_report.Line:
    found = {
        name: {s: dict.fromkeys((*audit_rows.METRICS, "threshold"), v) for s, v in enumerate(values)}
        for name, values in (("x", own), ("y", twin))
    }
    return audit_report.measured([Row("x", "X", "mtl", "y")], found)[0]


@pytest.mark.parametrize(
    ("own", "twin", "verdict", "cell"),
    [
        ([0.5, 0.6, 0.7], [0.5, 0.6, 0.7], "none", "0"),
        # Every seed by about the same: shown, though the twin's own spread is ten times the difference.
        ([0.509, 0.610, 0.711], [0.5, 0.6, 0.7], "higher", "**+1.0** (+0.8 to +1.2)"),
        ([0.491, 0.590, 0.689], [0.5, 0.6, 0.7], "lower", "**-1.0** (-1.2 to -0.8)"),
        # Larger than either spread and still unsure: p = 0.10.
        ([0.53, 0.578, 0.531], [0.5, 0.5, 0.5], "not shown", "+4.6 (-2.2 to +11.4)"),
        ([0.2, 0.3], [0.5, 0.6], "too few seeds", "-30.0 (2 seeds)"),
        ([0.2], [0.5, 0.6, 0.7], "too few seeds", "-30.0 (one seed)"),
    ],
)
def test_a_difference_is_judged_by_its_own_interval(
    own: list[float], twin: list[float], verdict: str, cell: str
) -> None:
    line = _line(own, twin)
    assert audit_report.verdict(line, "f1_macro") == verdict
    assert audit_report._gap(line, "f1_macro") == cell


def test_the_interval_and_p_by_hand() -> None:
    line = _line([0.53, 0.58, 0.54], [0.5, 0.5, 0.5])
    # Differences of mean 0.05 and standard error 0.015275; t(2) at 97.5% is 4.302653, at 3.2733 p is 0.0820.
    assert audit_report.interval(line, "f1_macro") == pytest.approx((-0.015724, 0.115724), abs=1e-6)
    p, p_holm = audit_report.p_values([line])["x", "f1_macro"]
    assert (p, p_holm) == pytest.approx((0.0820, 4 * 0.0820), rel=1e-3), "four metrics were judged"


def test_the_kept_tables_are_made_of_the_kept_seeds(tmp_path: Path) -> None:
    kept = AUDIT / "results"
    (tmp_path / "seeds.csv").write_bytes((kept / "seeds.csv").read_bytes())
    run.main(["--tables", "--out", str(tmp_path)])
    for name in ("audit.csv", "audit.md"):
        assert (tmp_path / name).read_text() == (kept / name).read_text(), "run.py --tables makes them anew"
    assert (tmp_path / "audit.md").read_text() in (AUDIT / "README.md").read_text()
    with (tmp_path / "audit.csv").open() as file:
        said = {(line["row"], line["metric"]): line["verdict"] for line in csv.DictReader(file)}
    assert {said["mtl-test", "f1_macro"], said["gmtl-names-test", "f1_macro"]} == {"higher"}
    unsure = [("mtl-all", 2), ("chance", 2), ("control", 2), ("gmtl-names-test", 3)]
    assert {said[row, audit_rows.METRICS[which]] for row, which in unsure} == {"not shown"}


def test_tables_without_seeds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["--tables", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "there is no seeds.csv in" in capsys.readouterr().err


def test_the_command_trains_reports_and_goes_on(changes: list[str], tmp_path: Path, capsys) -> None:
    places = ["--units", str(tmp_path / "units"), "--out", str(tmp_path / "out")]
    arguments = [*changes, "seed=0", "training.epochs=1", "--fixed-vectors", *places]
    run.main([*arguments, "--minutes", "0"])
    assert "time is up" in capsys.readouterr().out
    run.main(arguments)
    first = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert set(first) == {
        "audit.csv",
        "audit.md",
        "audit.png",
        "seeds.csv",
        "about.json",
    }
    capsys.readouterr()
    run.main(arguments)
    assert capsys.readouterr().out.splitlines() == [f"wrote {tmp_path / 'out'}"]
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == first
    with (tmp_path / "out" / "seeds.csv").open() as file:
        found = {(line["row"], line["seed"]): line for line in csv.DictReader(file)}
    assert {row for row, _ in found} == {row.id for row in audit_rows.rows()}
    assert found["gmtl-swapped", "0"]["subset_accuracy"] == found["gmtl-names", "0"]["hamming_score"]
    assert found["mtl-test", "0"]["f1_macro"] >= found["mtl", "0"]["f1_macro"]
    moved = json.loads(first["about.json"])["weights_moved_by"]
    assert {name: values["heads"] == 0 for name, values in moved.items() if "frozen" in name}
    assert moved["gmhl-all"]["heads"] == 0 < moved["gmhl"]["heads"]


def test_fixed_vectors_are_the_encoders_and_only_two_layers_learn(suite: Suite, tmp_path: Path) -> None:
    real, fixed = (Audit(suite, tmp_path, fixed_vectors=on).inputs for on in (False, True))
    module = fixed.encoder.module
    vectors = embed_texts(
        real.encoder,
        real.corpus.texts,
        special_tokens=True,
        max_length=suite.members[0].settings.data.max_length,
    )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(module.table, vectors / lengths * np.sqrt(vectors.shape[1]), rtol=1e-5)
    width = real.encoder.width
    assert sum(p.numel() for p in module.parameters()) == 2 * (width * width + width)
    assert real.encoder.digest != fixed.encoder.digest
    again = Audit(suite, tmp_path, fixed_vectors=True).inputs  # read back, not computed again
    np.testing.assert_array_equal(again.encoder.module.table, module.table)
