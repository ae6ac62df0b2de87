"""The mean of a run's folds and seeds, served as one model."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from memory_tracker import MemoryTracker

import mtlv
from mtlv.comparison.compare import ComparisonOptions, compare_store
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.comparison.sections.overview import build
from mtlv.errors import ConfigError, DataError, TrackingError
from mtlv.evaluation.mixed import evaluate_all
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.reporting.member_result import MemberResult
from mtlv.serving.model import ServedPlan
from mtlv.settings import Suite, load_suite
from mtlv.suite.run import run_suite

WORDS = {"heart": "large cardiac", "lung": "hazy", "grade": "worse"}


def write_table(folder: Path) -> Path:
    """80 documents with two labels and a number."""
    rng, path = np.random.default_rng(0), folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "report", *WORDS])
        for n in range(80):
            bears = rng.random(len(WORDS)) < 0.5
            words = " ".join(word for word, on in zip(WORDS.values(), bears, strict=True) if on)
            writer.writerow([n, f"report {n} {words}", *bears.astype(int)])
    return path


LABELS = ("heart", "lung")
COLUMNS = "text: report, labels: [heart, lung], id: id"


def make_suite(folder: Path, *changes: str, path: Path | None = None, columns: str = COLUMNS) -> Suite:
    config = folder / "config.yml"
    config.write_text("experiment: unit\n")
    path = path or (folder / "t.csv" if (folder / "t.csv").exists() else write_table(folder))
    return load_suite(
        config,
        [
            "data.name=table",
            f"data.path={path}",
            f"data.columns={{{columns}}}",
            "data.max_length=16",
            "encoder=tiny",
            "architecture=mtl",
            "training.epochs=2",
            "training.batch_size=8",
            "training.learning_rate=1e-3",
            "training.device=cpu",
            "training.precision=fp32",
            f"store.uri={folder / 'store'}",
            f"tracking.uri=sqlite:///{folder / 'mlflow.db'}",
            "tracking.models=ensemble",
            *changes,
        ],
    )


def run(suite: Suite, tracker: MemoryTracker) -> MemberResult:
    return run_suite(suite, ignore, tracker).members[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ensemble")


@pytest.fixture(scope="module")
def seeds(home: Path) -> tuple[MemberResult, MemoryTracker]:
    """Models of three seeds."""
    tracker = MemoryTracker()
    return run(make_suite(home, "seed=[0, 1, 2]"), tracker), tracker


def saved(result: MemberResult, folder: Path) -> ServedPlan:
    return ServedPlan.load(mtlv.Result(result).save(folder) / "served", device="cpu")


def texts_of(home: Path) -> dict[str, str]:
    with (home / "t.csv").open(encoding="utf-8") as file:
        return {row["id"]: row["report"] for row in csv.DictReader(file)}


def test_it_gives_the_mean_of_the_probabilities(home: Path, tmp_path: Path, seeds: tuple) -> None:
    result, texts = seeds[0], texts_of(home)
    plan, test = saved(result, tmp_path / "model"), result.outcomes[0].test
    assert len(plan.networks) == 3
    prediction = plan.predict([texts[id_] for id_ in test.ids])
    for task in LABELS:
        singles = [outcome.test.tasks[task].outputs for outcome in result.outcomes]
        assert not np.allclose(singles[0], singles[1])
        np.testing.assert_allclose(prediction[task].outputs, sum(singles) / 3, rtol=1e-6)


def test_its_test_score_is_that_of_the_mean_at_thresholds_of_validation(seeds: tuple) -> None:
    result, tracker = seeds
    tasks = result.resolved.tasks
    means = {}
    for part in ("validation", "test"):
        parts = [getattr(outcome, part) for outcome in result.outcomes]
        outputs = {name: sum(one.tasks[name].outputs.astype(float) for one in parts) / 3 for name in LABELS}
        means[part] = parts[0].with_outputs(outputs)
    grid = [n / 20 for n in range(1, 20)]
    f1 = {at: evaluate_all(means["validation"], tasks, dict.fromkeys(LABELS, at)).plan.main for at in grid}
    best = min(grid, key=lambda value: (-round(f1[value], 9), abs(value - 0.5), value))
    wanted = evaluate_all(means["test"], tasks, dict.fromkeys(LABELS, best)).plan
    (member,) = (run for run in tracker.runs.values() if run.spec.kind == "suite member")
    assert member.last("test.ensemble/f1_macro") == pytest.approx(wanted.main)
    assert member.last("test.ensemble/average_precision_macro") == pytest.approx(
        wanted.as_dict()["average_precision_macro"]
    )
    single = fmean(outcome.metrics.plan.main for outcome in result.outcomes)
    assert (
        f"macro F1 of {wanted.main:.3f} on test; one has {single:.3f} on average" in member.model.description
    )
    assert (
        member.last("test.ensemble/gain_low")
        <= wanted.main - single
        <= member.last("test.ensemble/gain_high")
    )
    served = json.loads(member.model.texts["served/served.json"])
    assert served["thresholds"] == {"heart": best, "lung": best}
    assert {run.model is None for run in tracker.runs.values() if run.spec.kind == "fold"} == {True}


def test_folds_are_averaged_but_not_tested(home: Path, tmp_path: Path) -> None:
    """Every document was learned by the model of another fold."""
    tracker = MemoryTracker()
    result = run(make_suite(home, "data.folds=2", "data.scheme=rotate_test", "architecture=stl"), tracker)
    plan, text = saved(result, tmp_path / "model"), "report 1 hazy"
    outputs = plan.predict([text])["lung"].outputs
    assert len(plan.networks) == 4
    plan.networks, parts = (), plan.networks
    singles = []
    for part in (parts[:2], parts[2:]):
        plan.networks = part
        singles.append(plan.predict([text])["lung"].outputs)
    np.testing.assert_allclose(outputs, sum(singles) / 2, rtol=1e-6)
    fitted = [outcome.thresholds.values["lung"] for outcome in result.outcomes]
    assert plan.description.thresholds["lung"] == pytest.approx(fmean(fitted))
    assert not plan.description.temperatures
    assert not any(plan.description.limits.values())
    (member,) = (run for run in tracker.runs.values() if run.spec.kind == "suite member")
    assert "is not tested" in member.model.description
    assert not member.model.metrics


def test_folds_with_one_test_part_are_tested(home: Path) -> None:
    """At means of the thresholds, as each has validation documents that the other learned."""
    result = run(make_suite(home, "data.folds=2"), MemoryTracker())
    first, second = result.outcomes
    assert first.test.ids == second.test.ids
    assert first.validation.ids != second.validation.ids
    means = {
        name: (first.test.tasks[name].outputs.astype(float) + second.test.tasks[name].outputs) / 2
        for name in LABELS
    }
    at = {name: (first.thresholds.values[name] + second.thresholds.values[name]) / 2 for name in LABELS}
    wanted = evaluate_all(first.test.with_outputs(means), result.resolved.tasks, at).plan.main
    assert result.ensemble.figures["f1_macro"] == pytest.approx(wanted)


def test_numbers_are_averaged(home: Path, tmp_path: Path) -> None:
    columns = "text: report, kind: regression, target: grade, id: id"
    result = run(make_suite(home, "seed=[0, 1]", columns=columns), MemoryTracker())
    test = result.outcomes[0].test
    texts = texts_of(home)
    prediction = saved(result, tmp_path / "model").predict([texts[id_] for id_ in test.ids])
    singles = [outcome.test.tasks["grade"].outputs for outcome in result.outcomes]
    np.testing.assert_allclose(prediction["grade"].values, sum(singles) / 2, rtol=1e-5)


def test_a_finished_run_changes_its_model(home: Path, seeds: tuple) -> None:
    """In MLflow, with the page that states the score."""
    uri = f"sqlite:///{home / 'mlflow.db'}"
    for models in ("best", "ensemble", "ensemble"):
        (result,) = run_suite(make_suite(home, "seed=[0, 1, 2]", f"tracking.models={models}"), ignore).members
        model = mtlv.load_model(result.resolved.uid, uri=uri)
        assert ("mean of 3 folds and seeds" in model._model.description.origin) == (models == "ensemble")
    texts = list(texts_of(home).values())[:5]
    np.testing.assert_array_equal(model.predict_proba(texts), mtlv.Result(seeds[0]).predict_proba(texts))
    query = RunQuery(experiment="unit")
    compared = compare_store(uri, ComparisonOptions(query, out=home / "page", log=False))
    overview = build(compared.comparison)
    assert f"“MTL”: {seeds[0].ensemble.text}" in [getattr(block, "text", "") for block in overview.blocks]


def test_what_has_no_mean_is_refused(home: Path, tmp_path: Path, seeds: tuple) -> None:
    with pytest.raises(DataError, match=r"`explain`: .* `tracking.models: all`"):
        saved(seeds[0], tmp_path / "model").predict(["a"], explain=True)
    rows = [{"words": ["a", "b"], "tags": ["B-x", "O"]}, {"words": ["c"], "tags": ["O"]}]
    path = tmp_path / "tags.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows * 20), encoding="utf-8")
    suite = make_suite(home, "seed=[0, 1]", path=path, columns="words: words, tags: tags, kind: tagging")
    with pytest.raises(ConfigError, match=r"`tracking.models`.* tags have no .* allowed: all, best or none"):
        check_suite(suite)


def test_a_model_of_other_tasks_than_the_first_is_named(tmp_path: Path, seeds: tuple) -> None:
    folder = mtlv.Result(seeds[0]).save(tmp_path / "model") / "served"
    path = folder / "2" / "served.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"binary"', '"regression"'), encoding="utf-8")
    with pytest.raises(TrackingError, match=r"2/served.json cannot be read .*other tasks"):
        ServedPlan.load(folder, device="cpu")
