"""A trained plan, laid out as files and read back: the same model, whatever its architecture."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from listening import Watcher
from memory_tracker import MemoryTracker

from mtlv.errors import DataError, EncoderError, TrackingError
from mtlv.evaluation.calibration import known_pairs, temperature
from mtlv.events import ignore
from mtlv.plan import Task
from mtlv.plan.temperature import at_temperature, confidence
from mtlv.serving.frame import as_columns, column_types
from mtlv.serving.kinds import TaskPrediction
from mtlv.serving.model import Prediction, ServedPlan
from mtlv.settings import Suite, load_suite
from mtlv.suite.keep_models import NO_WEIGHTS, validation_score
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.tracking import TrackedModel
from mtlv.tracking.mlflow_model import place_files

LABELS = {
    "heart, enlarged": "large cardiac",
    "lung/肺炎": "hazy airspace",
    'rib "old" decided': "old fracture",
}
ARCHITECTURES = ("stl", "mtl", "gmtl", "gmhl")


@dataclass
class Trained:
    """A finished suite, what its tracker holds, and the texts by document id."""

    result: SuiteResult
    tracker: MemoryTracker
    texts: dict[str, str]

    def model(self, architecture: str, kind: str = "fold") -> TrackedModel:
        """The first model of a run of this kind."""
        runs = self.tracker.runs.values()
        run = next(
            r for r in runs if r.spec.kind == kind and r.tags["mtlv.architecture"] == architecture and r.model
        )
        assert run.model is not None
        return run.model

    def outcomes(self, architecture: str) -> tuple:
        members = self.result.members
        names = [m.resolved.member.settings.architecture.name for m in members]
        return members[names.index(architecture)].outcomes


def write_table(path: Path) -> dict[str, str]:
    """60 documents that name their labels; texts by id."""
    rng, texts = np.random.default_rng(0), {}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "report", *LABELS])
        for n in range(60):
            bears = rng.random(len(LABELS)) < 0.45
            words = " ".join(words for words, on in zip(LABELS.values(), bears, strict=True) if on)
            texts[str(n)] = f"report {n} {words} " + "and more " * int(rng.integers(0, 12))
            writer.writerow([n, texts[str(n)], *bears.astype(int)])
    return texts


def make_suite(folder: Path, *changes: str) -> Suite:
    config = folder / "config.yml"
    config.write_text("experiment: unit\n")
    return load_suite(
        config,
        [
            "data.name=table",
            f"data.path={folder / 't.csv'}",
            f"data.columns={{text: report, labels: {json.dumps(list(LABELS), ensure_ascii=False)}, id: id}}",
            f"data.descriptions={json.dumps(LABELS, ensure_ascii=False)}",
            "data.max_length=16",
            "encoder=tiny",
            "grouping.k=2",
            "evaluation.threshold=per_task",
            "training.epochs=1",
            "training.batch_size=8",
            "training.learning_rate=1e-3",
            "training.device=cpu",
            "training.precision=fp32",
            f"store.uri={folder / 'store'}",
            *changes,
        ],
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("served")
    texts = write_table(folder / "t.csv")
    tracker = MemoryTracker()
    suite = make_suite(folder, f"matrix.architecture=[{', '.join(ARCHITECTURES)}]", "data.folds=2")
    return Trained(run_suite(suite, ignore, tracker), tracker, texts)


@pytest.fixture
def place(tmp_path: Path) -> Callable[[TrackedModel], Path]:
    """Write a model's files; gives the folder that its code is given."""

    def write(model: TrackedModel) -> Path:
        place_files(model.files, model.texts, tmp_path / "model", (shutil.copyfile,))
        return tmp_path / "model" / model.content

    return write


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_it_gives_the_scores_of_the_test_part_bit_for_bit(
    trained: Trained, place: Callable, architecture: str
) -> None:
    plan = ServedPlan.load(place(trained.model(architecture)), device="cpu")
    found = trained.outcomes(architecture)[0]
    told = plan.predict([trained.texts[i] for i in found.test.ids])
    assert told.tasks == tuple(LABELS) == plan.tasks
    for task in LABELS:
        outputs = found.test.tasks[task].outputs.astype(float)
        assert np.array_equal(told[task].outputs, outputs)
        assert told[task].threshold == found.thresholds.values[task]
        assert np.array_equal(told[task].decided, outputs >= found.thresholds.values[task])


def test_heads_that_weigh_tokens_are_served_and_explained(tmp_path: Path, place: Callable) -> None:
    """With long texts in windows, whose tokens are all weighed; other models say what they need."""
    texts, tracker = write_table(tmp_path / "t.csv"), MemoryTracker()
    changes = "encoder.features=attention", "data.window_pooling=mean", "matrix.architecture=[mtl, gmhl]"
    result = run_suite(make_suite(tmp_path, *changes), ignore, tracker)
    trained = Trained(result, tracker, texts)
    for architecture in ("mtl", "gmhl"):
        plan = ServedPlan.load(place(trained.model(architecture)), device="cpu")
        test = trained.outcomes(architecture)[0].test
        told = plan.predict([texts[i] for i in test.ids], explain=True)
        for task in LABELS:
            assert np.array_equal(told[task].outputs, test.tasks[task].outputs.astype(float))
            assert set(told[task].attended) == set(range(len(test.ids)))
            for row, document in enumerate(test.ids):
                assert set(told[task].attended[row]) <= set(texts[document].split())
                assert 0 < sum(told[task].attended[row].values()) <= 1
        some = plan.predict(["", texts["0"]], tasks=[told.tasks[1]], explain=True).predictions
        assert [sorted(one.attended) for one in some] == [[1]]
        shutil.rmtree(place(trained.model(architecture)).parent)


def test_a_model_of_document_vectors_explains_nothing(trained: Trained, place: Callable) -> None:
    plan = ServedPlan.load(place(trained.model("mtl")), device="cpu")
    with pytest.raises(DataError, match=r"`explain`.*\(got `encoder.features: mean`\)"):
        plan.predict(["heart"], explain=True)


def test_texts_that_are_not_read_to_the_end_are_noted(trained: Trained, place: Callable) -> None:
    plan = ServedPlan.load(place(trained.model("stl")), device="cpu")
    length = next(iter(plan.description.tasks.values())).schema.max_length
    found = plan.predict(["heart", "heart " * 2 * length, "lung " * 2 * length])
    assert found.notes == (
        f"2 texts longer than the {length} tokens that the model reads: the rest was not read",
    )
    assert plan.predict(["heart"]).notes == ()


def test_one_network_per_model_of_the_plan_and_no_pickle(trained: Trained) -> None:
    networks = {
        name: [f for f in trained.model(name).files if f.endswith(".safetensors")] for name in ARCHITECTURES
    }
    assert {name: len(files) for name, files in networks.items()} == {
        "stl": 3,
        "mtl": 1,
        "gmtl": 2,
        "gmhl": 1,
    }
    for name in ARCHITECTURES:
        model = trained.model(name)
        suffixes = {Path(file).suffix for file in (*model.files, *model.texts)}
        assert suffixes == {".safetensors", ".json", ".py", ".txt"}
        code = model.texts[model.code]
        assert len(code.splitlines()) < 10
        assert "mtlv.serving.pyfunc" in code


def test_requirements_are_pinned_and_name_no_build(trained: Trained) -> None:
    pins = trained.model("mtl").texts["requirements.txt"].splitlines()
    assert {"mtlv", "mlflow", "torch", "transformers"} <= {pin.split("==")[0] for pin in pins}
    assert all("==" in pin and "+" not in pin for pin in pins)


def test_a_member_has_the_model_of_its_best_fold_on_validation(trained: Trained) -> None:
    for architecture in ARCHITECTURES:
        found = trained.outcomes(architecture)
        values = [validation_score(each, [Task(label) for label in LABELS]) for each in found]
        best = found[values.index(max(values))]
        model = trained.model(architecture, "suite member")
        keys = {Path(file).stem for file in model.files if file.endswith(".safetensors")}
        assert keys == {record.key for record in best.records}
        assert model.settings["fold"] == values.index(max(values))
        assert f"the best macro F1 on validation, {max(values):.3f}" in model.description


def test_a_model_shows_the_test_figures_that_its_run_has(trained: Trained) -> None:
    for kind in ("fold", "suite member"):
        model = trained.model("gmtl", kind)
        if kind == "fold":
            assert model.metrics_run in trained.tracker.runs
        assert model.metrics_run is not None
        assert model.metrics
        assert set(model.metrics) <= set(trained.tracker.runs[model.metrics_run].points)


@pytest.mark.parametrize(
    ("models", "kinds"), [("all", {"fold", "suite member"}), ("best", {"suite member"}), ("none", set())]
)
def test_which_runs_get_a_model_is_a_setting(tmp_path: Path, models: str, kinds: set[str]) -> None:
    write_table(tmp_path / "t.csv")
    tracker = MemoryTracker()
    run_suite(make_suite(tmp_path, f"tracking.models={models}"), ignore, tracker)
    assert {run.spec.kind for run in tracker.runs.values() if run.model} == kinds


def test_without_weights_there_is_no_model_and_it_is_said_once(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv")
    tracker, listener = MemoryTracker(), Watcher()
    both = "matrix.architecture=[mtl, gmhl]"
    run_suite(make_suite(tmp_path, both, "store.keep_weights=false"), listener, tracker)
    assert not any(run.model for run in tracker.runs.values())
    assert listener.notes.count(NO_WEIGHTS) == 1

    again = Watcher()
    run_suite(make_suite(tmp_path, "architecture=mtl"), again, tracker)
    assert not any(run.model for run in tracker.runs.values())
    (note,) = [text for text in again.notes if "its model is not logged" in text]
    folder = Path(note.rsplit("delete ", 1)[1])
    assert folder.is_dir()
    shutil.rmtree(folder)
    run_suite(make_suite(tmp_path, "architecture=mtl"), ignore, tracker)
    assert sum(run.model is not None for run in tracker.runs.values()) == 2


# ---- What can be wrong with a folder or an input ---------------------------------------------------------


def _lost_network(folder: Path) -> None:
    next((folder / "networks").iterdir()).unlink()


def _cut_network(folder: Path) -> None:
    path = next((folder / "networks").iterdir())
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def _flipped_network(folder: Path) -> None:
    path = next((folder / "networks").iterdir())
    content = path.read_bytes()
    path.unlink()  # the store has the same file
    path.write_bytes(content[:-7] + bytes([content[-7] ^ 4]) + content[-6:])


def _other_tokenizer(folder: Path) -> None:
    path = folder / "encoder" / "tokenizer.json"
    path.write_text(path.read_text().replace('"lowercase": true', '"lowercase": false'))


def _other_plan(folder: Path) -> None:
    path = folder / "plan.json"
    content = json.loads(path.read_text())
    content[0]["heads"][0]["tasks"].pop()
    path.write_text(json.dumps(content))


def _of(name: str, **changes: object) -> Callable[[Path], None]:
    """Changes keys of a JSON file."""

    def harm(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return harm


def _in_tasks(**changes: object) -> Callable[[Path], None]:
    """Changes keys of every task."""

    def harm(folder: Path) -> None:
        path = folder / "served.json"
        content = json.loads(path.read_text())
        content["tasks"] = {name: task | changes for name, task in content["tasks"].items()}
        path.write_text(json.dumps(content))

    return harm


def _in(name: str, codec: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / name
        path.write_bytes(f"{path.read_text()}é".encode(codec, "replace"))

    return harm


def _layers(folder: Path) -> None:
    path = folder / "plan.json"
    content = json.loads(path.read_text())
    content[0]["heads"][0]["layers"] = 10**9
    path.write_text(json.dumps(content))


def _larger(name: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate(10**9)  # takes no room on the disk

    return harm


READ = ("plan.json", "encoder/config.json", "encoder/tokenizer.json", "encoder/other.bin", "networks/*")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _instead(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    """Puts a pipe or device in place of a file."""

    def harm(folder: Path) -> None:
        path = next(folder.glob(name), folder / name)
        path.unlink(missing_ok=True)
        make(path)

    return harm


def _long_network(folder: Path) -> None:
    path = next((folder / "networks").iterdir())
    path.unlink()
    path.touch()
    os.truncate(path, 10**12)  # takes no space


def _lying_network(folder: Path) -> None:
    path = next((folder / "networks").iterdir())
    content = path.read_bytes()
    path.write_bytes((2**60).to_bytes(8, "little") + content[8:])


def _huge_tensor(folder: Path) -> None:
    path = next((folder / "networks").iterdir())
    head = json.dumps({"w": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"\0" * 16)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        *(
            (_in(name, codec), rf"{name}.* cannot be read .*(get|download) .* again")
            for name in ("served.json", "plan.json", "encoder/config.json")
            for codec in ("latin-1", "utf-16")
        ),
        (_in("encoder/tokenizer.json", "utf-16"), r"the encoder in .* cannot be read .*get the model again"),
        (_in("encoder/tokenizer_config.json", "latin-1"), r"the encoder in .* cannot be read"),
        (
            _larger("served.json"),
            r"served.json cannot be read .got 1,000,000,000 bytes, more than 20,000,000",
        ),
        *((_instead(name, kind), "not a regular file") for name in READ for kind in (_pipe, _zeros)),
        (_larger("plan.json"), r"plan.json cannot be read .got 1,000,000,000 bytes"),
        (_larger("encoder/tokenizer.json"), r"tokenizer.json` is too large .got 1,000,000,000 bytes"),
        (_long_network, r"networks/.*safetensors cannot be read .got 1,000,000,000,000 bytes, more than"),
        (_lying_network, r"networks/.*safetensors cannot be read"),
        (_huge_tensor, r"networks/.*safetensors cannot be read"),
        (_layers, r"plan.json cannot be read .got a head without 1 to 100 layers"),
        (_in_tasks(max_length=10**12), r"`max_length` 1000000000000, the encoder reads 512"),
        (_of("encoder/config.json", hidden_size=10**9), r"too large .got [\d,]+ parameters.; allowed: up to"),
        (_of("encoder/config.json", num_hidden_layers=10**9), r"`num_hidden_layers` .* is too large"),
    ],
)
def test_harmed_files_are_refused_by_what_they_say(
    trained: Trained, place: Callable, harm: Callable, said: str
) -> None:
    folder = place(trained.model("mtl"))
    harm(folder)
    with pytest.raises((TrackingError, EncoderError), match=said):
        ServedPlan.load(folder, device="cpu")


@pytest.mark.parametrize(
    "changes",
    [
        {"tasks": ["heart"]},
        {"tasks": {"heart": 1}},
        {"tasks": {"heart": {"kind": "binary"}}},
        {"tasks": {"heart": {"kind": "binary", "max_length": "16"}}},
        {"thresholds": {"heart": "0.5"}},
        {"thresholds": {"heart": float("nan")}},
        {"networks": {"m": "../../other.safetensors"}},
        {"networks": {"m": "/other.safetensors"}},
        {"features": "own"},
        {"heads": {"tagging_layer": "own"}},
        {"heads": {"tagging_scheme": "bio", "tagging_layer": "linear", "relation_features": ["cls"]}},
        {"heads": None},
        {"precision": None},
        {"sha256": {}},
        {"columns": ["report"]},
        {"columns": {"label": ["report"]}},
        {"columns": {"text": "report"}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_description_of_other_values_is_named(trained: Trained, place: Callable, changes: dict) -> None:
    named(place(trained.model("mtl")), _of("served.json", **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"max_length": "16"},
        {"max_length": 0},
        {"max_length": True},
        {"kind": "tagging"},
        {"kind": "tagging", "classes": ["a"]},
        {"kind": "multiclass"},
        {"kind": "multiclass", "classes": ["a", "a"]},
        {"kind": "multiclass", "classes": [1]},
        {"kind": "own"},
        {"kind": ["binary"]},
        {"negative": ["a"]},
        {"reads": ["texts"]},
        {"reads": "words"},
        {"reads": ["words", "mentions"]},
        {"shown": "own"},
        {"shown": "dummy", "roles": [""], "mentions": 2},
        {"mentions": 10**9},
        {"window": 0},
        {"window": 5, "window_overlap": 5},
        {"own": 1},
    ],
    ids=str,
)
def test_a_task_of_other_values_is_named(trained: Trained, place: Callable, changes: dict) -> None:
    named(place(trained.model("mtl")), _in_tasks(**changes))


def named(folder: Path, harm: Callable[[Path], None]) -> None:
    harm(folder)
    with pytest.raises(TrackingError, match=r"(served|plan).json cannot be read .*get the model again"):
        ServedPlan.load(folder, device="cpu")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        *(
            (
                _of("served.json", format=other),
                rf"a format that this version of mtlv does not support \(got {other}\); allowed: 4 or 5;",
            )
            for other in (3, 6, 4.0)
        ),
        (_lost_network, r"networks/.*safetensors cannot be read .*get the model again from its run"),
        (_cut_network, r"networks/.*safetensors cannot be read"),
        (
            _flipped_network,
            r"networks/.*safetensors cannot be read .got its checksum does not match.*; get the model again",
        ),
        (_other_tokenizer, r"splits texts differently here than in training; install the version"),
        (_other_plan, r"plan.json cannot be read .*the plan leaves tasks out"),
        (lambda folder: (folder / "served.json").write_text("{"), r"served.json cannot be read"),
        (lambda folder: (folder / "served.json").unlink(), r"served.json cannot be read .*No such file"),
        (lambda folder: (folder / "plan.json").write_text("[{}]"), r"plan.json cannot be read .*no plan"),
    ],
)
def test_a_broken_folder_is_named(trained: Trained, place: Callable, harm: Callable, said: str) -> None:
    folder = place(trained.model("mtl"))
    harm(folder)
    with pytest.raises(TrackingError, match=said):
        ServedPlan.load(folder, device="cpu")


@pytest.mark.parametrize("name", ["weights", "served.json", "plan.json", "encoder/tokenizer.json"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["fifo", "zero"])
def test_only_regular_files_are_opened(
    trained: Trained, place: Callable, name: str, make: Callable[[Path], object]
) -> None:
    folder = place(trained.model("mtl"))
    path = next((folder / "networks").iterdir()) if name == "weights" else folder / name
    path.unlink()
    make(path)
    with pytest.raises((TrackingError, EncoderError), match=r"regular file|no file"):
        ServedPlan.load(folder, device="cpu")


def test_weights_that_are_too_large_are_not_read(trained: Trained, place: Callable) -> None:
    folder = place(trained.model("mtl"))
    path = next((folder / "networks").iterdir())
    with path.open("ab") as file:
        file.truncate(10**11)  # a sparse file
    with pytest.raises(TrackingError, match="100,000,000,000 bytes, more than"):
        ServedPlan.load(folder, device="cpu")


def test_what_is_no_text_is_named(trained: Trained, place: Callable) -> None:
    plan = ServedPlan.load(place(trained.model("mtl")), device="cpu")
    for wrong in (3, "\ud800", ["a"]):
        with pytest.raises(DataError, match=r"the input is not text at row 0; also at row 1"):
            plan.predict([wrong, wrong])  # type: ignore[list-item]
    for wrong, note in (
        (3, "not text at row 1 (got 3)"),
        (None, "no text at row 1"),
        (" ", "no text at row 1"),
    ):
        found = plan.predict(["fine", wrong, "also fine"])  # type: ignore[list-item]
        assert note in found.notes[0]
        for told in found.predictions:
            assert np.isnan(told.values).tolist() == [False, True, False]
    assert [len(told.outputs) for told in plan.predict([]).predictions] == [0, 0, 0]
    assert [len(told.outputs) for told in plan.predict(["", "x" * 10_000]).predictions] == [2, 2, 2]


def test_calibrated_probabilities_are_at_the_temperature_of_validation(
    trained: Trained, place: Callable
) -> None:
    folder = place(trained.model("gmtl"))
    plan, texts = ServedPlan.load(folder), list(trained.texts.values())[:8]
    validation = trained.outcomes("gmtl")[0].validation
    fitted = temperature(*known_pairs(validation, list(LABELS)))
    assert plan.description.temperatures == dict.fromkeys(LABELS, fitted)
    plain, found = plan.predict(texts), plan.predict(texts, calibrated=True)
    for one, other in zip(plain.predictions, found.predictions, strict=True):
        np.testing.assert_allclose(other.values, at_temperature(one.values, fitted))
        assert not np.allclose(other.values, one.values)
        np.testing.assert_array_equal(other.decided, one.decided)
    content = json.loads((folder / "served.json").read_text(encoding="utf-8"))
    last = list(LABELS)[-1]
    for wrong in ([], {last: 0}, {last: "1"}, {last: True}, {last: float("nan")}):
        content["temperatures"] = wrong
        (folder / "served.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(TrackingError, match=r"served.json cannot be read \(got `temperatures"):
            ServedPlan.load(folder)


def test_decisions_below_the_limit_of_validation_are_not_made(trained: Trained, place: Callable) -> None:
    folder = place(trained.model("gmtl"))
    path = folder / "served.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    plan, texts = ServedPlan.load(folder), list(trained.texts.values())[:8]
    outcome = trained.outcomes("gmtl")[0]
    assert plan.description.limits == outcome.limits([Task(name) for name in LABELS])
    with pytest.raises(DataError, match=r"`abstain` 0.001: no limit of the model .* allowed: 0.\d+ or more"):
        plan.predict(texts, abstain=0.001)
    for wrong in (0.0, 1.0, 5, float("nan")):
        with pytest.raises(DataError, match=r"`abstain`.* a share above 0 and below 1"):
            plan.predict(texts, abstain=wrong)
    first, second, last = LABELS
    middle = float(np.median(confidence(plan.predict(texts)[first].outputs, content["thresholds"][first])))
    content["limits"] = {first: [[0.2, 0.0], [0.05, middle]], second: [[0.2, 0.5]], last: [[0.04, 0.0]]}
    path.write_text(json.dumps(content), encoding="utf-8")
    prediction = ServedPlan.load(folder).predict(texts, abstain=0.05)
    assert 0 < prediction[first].unsure.sum() < len(texts)
    assert prediction[second].unsure.all()
    assert not prediction[last].unsure.any()
    assert any(second in note for note in prediction.notes)
    assert [value is None for value in as_columns(prediction, "decisions")[first]] == [
        *prediction[first].unsure
    ]
    for wrong in ({first: [[0.2]]}, {first: [[0.2, 1.5]]}, {first: [["0.2", 0.5]]}, [0.2]):
        path.write_text(json.dumps(content | {"limits": wrong}), encoding="utf-8")
        with pytest.raises(TrackingError, match=r"served.json cannot be read \(got `limits"):
            ServedPlan.load(folder)


# ---- Columns ---------------------------------------------------------------------------------------------


def test_no_name_of_a_task_can_be_the_column_of_another() -> None:
    tasks = ("A", "A decided", "A probability", "A probability decided")
    assert len(column_types([Task(name) for name in tasks])) == 2 * len(tasks)


def test_columns() -> None:
    found = Prediction(
        (
            TaskPrediction(Task("a, b"), np.array([0.2, 0.5]), 0.5),
            TaskPrediction(Task("c"), np.array([0.9, 0.1]), 0.3),
        )
    )
    both = as_columns(found, "both")
    assert list(both) == list(column_types([told.task for told in found.predictions]))
    assert both["a, b probability"].tolist() == [0.2, 0.5]
    assert both["a, b decided"].tolist() == [False, True]  # at the threshold is decided
    assert {k: v.tolist() for k, v in as_columns(found, "decisions").items()} == {
        "a, b": [False, True],
        "c": [True, False],
    }
    assert as_columns(found, "probabilities")["c"].tolist() == [0.9, 0.1]
    with pytest.raises(DataError, match=r"`columns` \(got x\); allowed: both, probabilities, decisions"):
        as_columns(found, "x")


def test_bf16_is_computed_only_where_the_device_does(
    trained: Trained, place: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    folder = place(trained.model("mtl"))
    path = folder / "served.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"precision": "bf16"}))
    plan, texts = ServedPlan.load(folder, device="cpu"), list(trained.texts.values())[:4]
    monkeypatch.setattr("mtlv.training.optim._bf16_is_faster", lambda: True)
    told = []
    for native in (False, True):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda native=native: native)
        told.append([each.outputs for each in plan.predict(texts).predictions])
    assert not np.array_equal(*told)
    np.testing.assert_allclose(*told, atol=0.05)
