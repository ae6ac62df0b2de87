"""One model of five corpora and four kinds of task: kept, read back, and asked as a user asks it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from memory_tracker import MemoryTracker

from mtlv import cli
from mtlv.data import catalog
from mtlv.data.source import Corpus
from mtlv.data.targets import spans_column
from mtlv.errors import DataError
from mtlv.events import ignore
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.reporting.plan_result import PlanResult
from mtlv.serving.answers import PredictionTable, write_answers
from mtlv.serving.frame import as_columns
from mtlv.serving.inputs import made_up_row
from mtlv.serving.kinds import TaskPrediction, describe_spans
from mtlv.serving.model import Prediction, ServedPlan
from mtlv.serving.texts import InputTexts
from mtlv.settings import load_suite
from mtlv.suite.run import run_suite
from mtlv.tracking import RunSpec, TrackedModel
from mtlv.tracking.mlflow_model import place_files
from mtlv.tracking.mlflow_tracker import MlflowTracker

NAMES = {"notes": "gad", "pairs": "hoc", "sts": "biosses", "ner": "bc2gm", "drugs": "ddi2013"}
TASKS = ("has heart", "has lung", "relation", "similarity", "organs", "drugs")


def marked() -> Corpus:
    """Pairs of marked drugs, 24 of them, some of which overlap."""
    rng, rows, values = np.random.default_rng(1), [], []
    for number in range(24):
        first, second = f"drug{number}", f"agent{number}"
        values.append(int(rng.integers(2)))
        text = f"{first} {('and', 'blocks')[values[-1]]} {second} ."
        at = text.index(second)
        rows.append((text, (Span(0, len(first), "DRUG"), Span(at, at + len(second), "BRAND"))))
    task = Task("drugs", "multiclass", "drugs", ("none", "blocks"), ("none",), main_metric="f1_micro")
    return Corpus(
        "drugs",
        (task,),
        tuple(map(str, range(24))),
        tuple(text for text, _ in rows),
        {"drugs": np.array(values, np.int64)},
        mentions=tuple(spans for _, spans in rows),
    )


@dataclass
class Kept:
    """A finished member and its model."""

    model: TrackedModel
    outcome: PlanResult
    corpora: dict[str, Corpus]
    plan: ServedPlan

    def rows(self, source: str) -> InputTexts:
        """Test documents of a corpus, with all that it has."""
        corpus = self.corpora[source]
        wanted = [i.removeprefix(f"{source}/") for i in self.outcome.test.ids if i.startswith(f"{source}/")]
        part = corpus.take([corpus.ids.index(i) for i in wanted])
        held = {"text_pair": part.seconds, "words": part.words, "mentions": part.mentions}
        more = {name: tuple(column) for name, column in held.items() if column is not None}
        return InputTexts(part.texts, tuple(range(1, len(part) + 1)), "row", more)

    def scores(self, task: str) -> list:
        """What the training's own test said of the task's documents."""
        found = self.outcome.test.tasks[task]
        return found.outputs[found.mask].tolist()


@pytest.fixture(scope="module")
def train(one_corpus_per_kind: list[Corpus], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Kept]:
    made = [replace(each, name=NAMES[each.name]) for each in (*one_corpus_per_kind, marked())]
    of_name = {each.name: each for each in made}

    def run(*changes: str) -> Kept:
        folder = tmp_path_factory.mktemp("kinds")
        own = {"biosses": ", max_length: 9"}
        sources = ", ".join(f"{{name: {name}{own.get(name, '')}}}" for name in of_name)
        (folder / "c.yml").write_text(f"data: {{max_length: 24, sources: [{sources}]}}\n")
        given = [
            "encoder=tiny",
            "training.batch_size=8",
            "training.epochs=1",
            "training.device=cpu",
            "training.precision=fp32",
        ]
        given += [f"store.uri={folder / 'store'}", "training.learning_rate=3e-3", *changes]
        tracker = MemoryTracker()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(catalog, "load", lambda name, _: of_name[name])
            patch.setattr(catalog, "tasks", lambda name, _: of_name[name].tasks)
            result = run_suite(load_suite(folder / "c.yml", given), ignore, tracker)
        (model,) = (run.model for run in tracker.runs.values() if run.model and run.spec.kind == "fold")
        place_files(model.files, model.texts, folder / "model", (shutil.copyfile,))
        plan = ServedPlan.load(folder / "model" / model.content, device="cpu")
        return Kept(model, result.members[0].outcomes[0], of_name, plan)

    return run


@pytest.fixture(scope="module")
def kept(train: Callable[..., Kept]) -> Kept:
    return train("architecture=mtl")


OTHER_CHOICES = (
    "heads.tagging_scheme=bioul",
    "heads.tagging_layer=bilstm",
    "heads.relation_features=mention",
    "data.window=6",
    "data.mentions=markers",
)


@pytest.mark.parametrize("changes", [("architecture=mtl",), ("architecture=stl", *OTHER_CHOICES)])
def test_every_task_gives_its_test_scores_bit_for_bit(
    train: Callable[..., Kept], kept: Kept, changes: tuple[str, ...]
) -> None:
    kept = train(*changes) if len(changes) > 1 else kept
    assert kept.plan.tasks == TASKS
    for corpus in kept.corpora.values():
        told = kept.plan.predict(kept.rows(corpus.name), tasks=corpus.names)
        assert told.tasks == corpus.names
        for task in corpus.names:
            assert told[task].outputs.tolist() == kept.scores(task), task


ROW = {
    "text": "the heart blocks agent7 .",
    "text_pair": "the lung is clear",
    "mentions": [[4, 9, "DRUG"], [17, 23, "BRAND"]],
}


def test_one_row_can_be_asked_about_everything(kept: Kept) -> None:
    told = kept.plan.predict(rows(ROW))
    assert told.tasks == TASKS
    for task in TASKS:
        assert (
            told[task].outputs.tolist() == kept.plan.predict(rows(ROW), tasks=[task])[task].outputs.tolist()
        )
    assert told["relation"].outputs.shape == (1, 3)
    assert told["similarity"].outputs.shape == (1,)
    description = replace(kept.plan.description, thresholds={"has heart": 0.3, "has lung": 0.6})
    plan = ServedPlan(description, kept.plan.networks, kept.plan.encoder)
    assert [plan.predict(rows(ROW))[task].threshold for task in TASKS] == [0.3, 0.6, 0, 0, 0, 0]
    turned = {name: description.tasks[name] for name in (*TASKS[1::2], *TASKS[::2])}
    plan = ServedPlan(replace(description, tasks=turned), kept.plan.networks, kept.plan.encoder)
    assert plan.predict(rows(ROW)).tasks == tuple(turned)


def test_the_input_example_has_what_every_task_reads(kept: Kept) -> None:
    from mtlv.serving.input_frame import as_frame, as_texts

    table = json.loads(kept.model.texts["input_example.json"])
    prediction = kept.plan.predict(as_texts(as_frame(pd.DataFrame(**table), {})))
    assert prediction.tasks == TASKS
    assert not any("empty answer" in note for note in prediction.notes)
    (row,) = table["data"]
    example = dict(zip(table["columns"], row, strict=True))
    assert [role for _, _, role in example["mentions"]] == ["DRUG", "BRAND"]
    assert made_up_row([*kept.plan.description.tasks.values()]) == example
    (drugs,) = (served for served in kept.plan.description.tasks.values() if served.task.name == "drugs")
    assert made_up_row([drugs, replace(drugs, schema=replace(drugs.schema, roles=("DRUG",)))]) == {}


def rows(*cells: dict) -> InputTexts:
    more = {name: tuple(row.get(name) for row in cells) for name in ("text_pair", "words", "mentions")}
    held = {name: column for name, column in more.items() if any(cell is not None for cell in column)}
    return InputTexts(tuple(row["text"] for row in cells), tuple(range(1, len(cells) + 1)), "line", held)


def test_only_what_is_wanted_is_run(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    from mtlv.models.multitask import MultiTaskModel

    ran: list[object] = []
    real = MultiTaskModel.forward

    def forward(self: MultiTaskModel, *args: object, **kwargs: object) -> object:
        ran.append(kwargs["heads"])
        return real(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(MultiTaskModel, "forward", forward)
    assert kept.plan.predict(["a text"], tasks=["relation"]).tasks == ("relation",)
    (heads,) = ran
    assert len(heads) == 1  # type: ignore[arg-type]
    assert kept.plan.predict(["a text"], tasks=["ner"]).tasks == ("organs",), "a data set has its tasks"
    with pytest.raises(DataError, match=r"the model has no task `relatoin`; .*did you mean `relation`\?"):
        kept.plan.predict(["a text"], tasks=["relatoin"])


def test_what_is_shown_in_the_text_is_as_if_it_was_marked(kept: Kept) -> None:
    marked = rows({"text": "drug1 blocks agent1 .", "mentions": [[0, 5, "DRUG"], [13, 19, "BRAND"]]})
    shown = kept.plan.predict(["@DRUG$ blocks @BRAND$ ."], tasks=["drugs"])
    assert (
        shown["drugs"].outputs.tolist()
        == kept.plan.predict(marked, tasks=["drugs"])["drugs"].outputs.tolist()
    )


def test_texts_are_split_into_words_and_spans_have_characters(kept: Kept) -> None:
    text = "the  heart,lung"
    words = ["the", "heart", ",", "lung"]
    told = kept.plan.predict([text], tasks=["organs"])["organs"]
    same = kept.plan.predict(rows({"text": text, "words": words}), tasks=["organs"])["organs"]
    assert list(told.words[0]) == words
    assert told.outputs.tolist() == same.outputs.tolist()
    whole = replace(told, outputs=spans_column([[Span(1, 3, "Organ"), Span(3, 4, "Organ")]]))
    assert describe_spans(whole, 0) == [
        {"type": "Organ", "text": "heart,", "start": 5, "end": 11, "words": ["heart", ","], "first_word": 1},
        {"type": "Organ", "text": "lung", "start": 11, "end": 15, "words": ["lung"], "first_word": 3},
    ]
    empty = kept.plan.predict(["heart", " ", ""], tasks=["organs"])["organs"]
    assert empty.outputs.tolist()[1:] == [(), ()]


@pytest.mark.parametrize(
    ("task", "row", "said"),
    [
        (
            "similarity",
            {},
            r"task `similarity` needs `text_pair`, which is missing at line 2; give each text",
        ),
        (
            "similarity",
            {"text_pair": 3},
            r"`text_pair` of task `similarity` at line 2 \(got 3\); allowed: a te",
        ),
        (
            "drugs",
            {},
            r"`drugs` needs `mentions`, .* line 2; mark them .* or write the text with @BRAND\$, @DRUG",
        ),
        ("drugs", {"mentions": [[0, 99, "DRUG"]]}, r"line 2 .*allowed: places in its text of 5 characters"),
        ("drugs", {"mentions": [[3, 3, "DRUG"]]}, r"line 2 .*allowed: places in its text"),
        ("drugs", {"mentions": [[0, 1, "GENE"]]}, r"line 2 .*allowed: the roles DRUG, BRAND"),
        ("drugs", {"mentions": [[0, 1]]}, r"line 2 .*allowed: a role with each: DRUG, BRAND"),
        ("drugs", {"mentions": [[0, 1, "DRUG"]] * 3}, r"3 entities.*allowed: up to 2, as in training"),
        ("drugs", {"mentions": "[[0, "}, r"line 2 .*allowed: lists of \[start, end\]"),
        ("drugs", {"mentions": [{"start": 0.5, "end": 1}]}, r"line 2 .*allowed: lists of"),
        ("organs", {"words": 3}, r"`words` of task `organs` at line 2 .*a list of words, or one in JS"),
        ("organs", {"words": "two words"}, r"line 2 \(got two words\); allowed: the words of the row's text"),
        ("organs", {"words": ["a", ""]}, r"line 2 .*a list of words"),
        ("organs", {"words": ["other"]}, r"line 2 \(got other\); allowed: the words of the row's text"),
    ],
)
def test_what_is_missing_or_wrong_is_named(kept: Kept, task: str, row: dict, said: str) -> None:
    with pytest.raises(DataError, match=said):
        kept.plan.predict(rows({"text": ""}, {"text": "short", **row}), tasks=[task])


UNREADABLE = (  # rows that some or all tasks cannot read, and which tasks these are
    ({**ROW, "text": None}, TASKS),
    ({**ROW, "text": " \n"}, TASKS),
    ({**ROW, "text": 3}, TASKS),
    ({**ROW, "text_pair": ""}, ("similarity",)),
    ({**ROW, "text_pair": 5}, ("similarity",)),
    ({**ROW, "mentions": [[0, 99, "DRUG"]]}, ("drugs",)),
    ({**ROW, "mentions": "[[0, "}, ("drugs",)),
    ({**ROW, "words": ["other"]}, ("organs",)),
)


def outputs(prediction: TaskPrediction, row: int) -> object:
    if prediction.task.kind == "tagging":
        return describe_spans(prediction, row)
    return prediction.values[row].round(5).tolist()


@pytest.mark.parametrize("shift", [0, 3, 5])
def test_rows_that_cannot_be_read_leave_the_others_in_their_rows(kept: Kept, shift: int) -> None:
    """More rows than a batch has, with unreadable ones at the start, between and at the end."""
    good = [{**ROW, "text": f"the heart blocks agent{n} ."} for n in range(40)]
    bad = [*UNREADABLE[shift:], *UNREADABLE[:shift]]
    places = (0, 1, 7, 8, 20, 33, 46, 47)
    mixed, missing, left = list[dict](), {task: set[int]() for task in TASKS}, iter(good)
    for row in range(len(good) + len(bad)):
        if row in places:
            cells, tasks = bad[places.index(row)]
            mixed.append(cells)
            for task in tasks:
                missing[task].add(row)
        else:
            mixed.append(next(left))
    found, wanted = kept.plan.predict(rows(*mixed)), kept.plan.predict(rows(*good))
    rows_of_good = [row for row in range(len(mixed)) if row not in places]
    for task in TASKS:
        assert set(found[task].empty.tolist()) == missing[task]
        for at, row in enumerate(rows_of_good):
            assert outputs(found[task], row) == outputs(wanted[task], at)
        for column in as_columns(Prediction((found[task],)), "both").values():
            assert set(np.flatnonzero(pd.isna(column))) == missing[task]
    notes = [note for note in found.notes if "empty answer" in note]
    lines = sorted(row + 1 for row in places if mixed[row]["text"] is None or mixed[row]["text"] == " \n")
    assert notes[[" no text " in note for note in notes].index(True)] == (
        f"2 empty answers: there is no text at line {lines[0]}; also at line {lines[1]}."
    )
    assert len(notes) == 7


def test_an_empty_answer_is_empty_in_each_file(kept: Kept, tmp_path: Path) -> None:
    texts = rows({"text": None}, ROW, {**ROW, "text_pair": None}, ROW)
    answers = PredictionTable(texts, kept.plan.predict(texts), "run")
    write_answers(answers, tmp_path / "o.csv")
    table = pd.read_csv(tmp_path / "o.csv")
    assert table.iloc[0].drop("line").isna().all()
    assert table["similarity value"].isna().tolist() == [True, False, True, False]
    assert table.drop(columns="similarity value").iloc[1:].notna().all(axis=None)
    write_answers(answers, tmp_path / "o.jsonl")
    first, second, third, _ = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    for key in ("probabilities", "classes", "values", "spans"):
        assert {*first[key].values()} == {None}
    assert first["decided"] is first["text"] is None
    assert third["values"] == {"similarity": None}
    assert second.keys() == third.keys()
    assert third["decided"] == second["decided"]
    assert answers.rows[0] == ("1", "", "")
    assert "similarity" in answers.rows[1][2]
    assert "similarity" not in answers.rows[2][2]


def test_tasks_with_probabilities_have_temperatures(kept: Kept) -> None:
    known = kept.plan.description.temperatures
    assert dict(known) == kept.outcome.temperatures(
        [each.task for each in kept.plan.description.tasks.values()]
    )
    assert known.keys() == {"has heart", "has lung", "relation"}, "there are too few drugs for errors"
    assert known["has heart"] == known["has lung"] != known["relation"]
    plain, found = (kept.plan.predict(rows(ROW), calibrated=each) for each in (False, True))
    for name in TASKS:
        assert found[name].temperature == known.get(name, 1.0)
        if name != "organs":
            assert np.allclose(found[name].values, plain[name].values) == (name not in known)
    (note,) = {*found.notes} - {*plain.notes}
    assert note == "not calibrated: drugs; no temperature could be fitted on validation"
    for tasks, said in (
        (["similarity", "organs"], "no task has probabilities"),
        (["drugs", "similarity"], "the model has no temperature of drugs"),
    ):
        with pytest.raises(DataError, match=said):
            kept.plan.predict(rows(ROW), tasks=tasks, calibrated=True)


def test_what_is_missing_is_named_for_every_task(kept: Kept) -> None:
    with pytest.raises(DataError) as error:
        kept.plan.predict(["a text"])
    (pairs, marks) = error.value.problems
    assert "task `similarity` needs `text_pair`" in pairs
    assert "task `drugs` needs " in marks


def test_a_description_says_what_each_task_is_and_reads(kept: Kept) -> None:
    content = json.loads(kept.model.texts["served/served.json"])
    assert content["format"] == 5
    assert content["sha256"].keys() == {*content["networks"].values()}
    assert content["tasks"]["drugs"] == {
        "kind": "multiclass",
        "source": "drugs",
        "classes": ["none", "blocks"],
        "negative": ["none"],
        "max_length": 24,
        "reads": ["mentions"],
        "shown": "dummy",
        "roles": ["DRUG", "BRAND"],
        "mentions": 2,
    }
    assert content["tasks"]["organs"]["reads"] == ["words"]
    assert content["tasks"]["similarity"]["reads"] == ["text_pair"]
    assert content["tasks"]["similarity"]["max_length"] == 9
    assert set(content["thresholds"]) == {"has heart", "has lung"}
    assert "the columns `text`, `text_pair`, `words`, `mentions`" in kept.model.description


# ---- As a user asks --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shelf(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The model with a run in MLflow: its store and the run."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('shelf') / 'mlflow.db'}"
    tracker = MlflowTracker(uri, "kinds")
    run = tracker.open_run(RunSpec("uid", "mixed", "suite member"))
    tracker.model(run, replace(kept.model, metrics_run=None))
    return uri, run


def test_mlflow_gives_the_same(kept: Kept, shelf: tuple[str, str]) -> None:
    import mlflow

    uri, run = shelf
    mlflow.set_tracking_uri(uri)
    model = mlflow.pyfunc.load_model(f"runs:/{run}/model", model_config={"device": "cpu"})
    frame = model.predict(pd.DataFrame([ROW, ROW], index=["a", "b"]))
    told = kept.plan.predict(rows(ROW, ROW))
    assert list(frame) == list(kept.model.outputs) == list(model.metadata.signature.outputs.input_names())
    assert list(frame.index) == ["a", "b"]
    assert frame["similarity value"].tolist() == told["similarity"].outputs.tolist()
    for number, name in enumerate(("none", "one", "both")):
        column = frame[f"relation probability of {name}"]
        assert column.tolist() == told["relation"].outputs[:, number].tolist()
    assert json.loads(frame["organs spans"]["a"]) == describe_spans(told["organs"], 0)
    same = model.predict([ROW, ROW], params={"columns": "decisions"})
    assert list(same) == list(TASKS)
    assert same["drugs"].tolist() == frame["drugs class"].tolist()
    assert list(model.predict("a text", params={"tasks": "relation", "columns": "decisions"})) == ["relation"]
    two = model.predict(["a text"], params={"tasks": '["relation", "has lung"]', "columns": "decisions"})
    assert list(two) == ["has lung", "relation"]
    with pytest.raises(mlflow.MlflowException, match=r"task `similarity` needs `text_pair`"):
        model.predict(["a text"])


def test_the_command_answers_each_kind(
    shelf: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    uri, run = shelf
    ask = ["predict", run, "--uri", uri, "--device", "cpu"]
    marks = json.dumps(ROW["mentions"])
    assert cli.main([*ask, ROW["text"], "--pair", ROW["text_pair"], "--mentions", marks]) == 0
    _, header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["task", "answer", "more"]
    assert {next(name for name in TASKS if line.startswith(name)) for line in lines} == set(TASKS)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (ROW, ROW)))
    out = tmp_path / "out.jsonl"
    assert cli.main([*ask, "--file", str(tmp_path / "in.jsonl"), "--out", str(out)]) == 0
    (first, _) = map(json.loads, out.read_text().splitlines())
    assert list(first) == ["line", "text", "probabilities", "decided", "classes", "values", "spans"]
    assert set(first["classes"]) == {"relation", "drugs"}
    pd.DataFrame([ROW | {"mentions": marks}]).to_csv(tmp_path / "in.csv", index=False)
    assert cli.main([*ask, "--file", str(tmp_path / "in.csv"), "--out", str(tmp_path / "o.csv")]) == 0
    table = pd.read_csv(tmp_path / "o.csv")
    assert table["drugs class"].tolist() == [first["classes"]["drugs"]["class"]]
    assert table["similarity value"].tolist() == pytest.approx([first["values"]["similarity"]])
    assert cli.main([*ask, "--file", str(tmp_path / "in.jsonl"), "--calibrated", "--out", str(out)]) == 0
    (calibrated, _) = map(json.loads, out.read_text().splitlines())
    assert calibrated["decided"] == first["decided"]
    assert calibrated["probabilities"] != first["probabilities"]
    capsys.readouterr()
    assert cli.main([*ask, "one text", "--task", "relation", "--task", "has lung"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert cli.main([*ask, "one text"]) == 2
    assert "task `similarity` needs `text_pair`, which is missing at text 1" in capsys.readouterr().err
    assert cli.main([*ask, "one text", "--pair", "a", "--pair", "b"]) == 2
    assert "`text_pair` (got 2); allowed: one for each text (1)" in capsys.readouterr().err
