"""One model of five corpora and four kinds of task: kept, read back, and asked as a user asks it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlv.data import catalog
from mtlv.data.joined import join
from mtlv.data.source import Corpus
from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.running import Observer, run_suite
from mtlv.running.answers import Answers, write_answers
from mtlv.running.outcome import Outcome
from mtlv.running.predicting import Place, predict_texts
from mtlv.running.served import ServedPlan
from mtlv.running.texts import Texts, from_file, given
from mtlv.settings import load_suite

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
    """A finished member with its model in MLflow."""

    uri: str
    run: str
    outcome: Outcome
    corpora: dict[str, Corpus]
    folder: Path

    def rows(self, source: str) -> Texts:
        """Test documents of a corpus, with all that it has."""
        corpus = self.corpora[source]
        wanted = [i.removeprefix(f"{source}/") for i in self.outcome.test.ids if i.startswith(f"{source}/")]
        part = corpus.take([corpus.ids.index(i) for i in wanted])
        held = {"text_pair": part.seconds, "words": part.words, "mentions": part.mentions}
        more = {name: tuple(column) for name, column in held.items() if column is not None}
        return Texts(part.texts, tuple(range(1, len(part) + 1)), "row", more)

    def scores(self, task: str) -> np.ndarray:
        """What the training's own test said of the task's documents."""
        found = self.outcome.test.tasks[task]
        return found.outputs[found.mask]


@pytest.fixture(scope="module", params=["mtl", "stl"])
def kept(
    request: pytest.FixtureRequest,
    one_corpus_per_kind: list[Corpus],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kept]:
    folder = tmp_path_factory.mktemp(request.param)
    corpora = {each.name: each for each in (*one_corpus_per_kind, marked())}
    of_name = {NAMES[name]: corpus for name, corpus in corpora.items()}
    sources = ", ".join(f"{{name: {name}}}" for name in of_name)
    (folder / "c.yml").write_text(f"data: {{max_length: 24, sources: [{sources}]}}\n")
    changes = ["encoder=tiny", "training.batch_size=8", "training.epochs=2", "training.device=cpu"]
    changes += [f"architecture={request.param}", f"store.uri={folder / 'store'}", "data.window=6"]
    changes += ["heads.tagging_scheme=bioul", "heads.tagging_layer=bilstm", "heads.relation_features=mention"]
    changes += [f"tracking.uri=sqlite:///{folder / 'mlflow.db'}", "training.learning_rate=3e-3"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "load", lambda name, _: of_name[name])
        patch.setattr(catalog, "tasks", lambda name, _: of_name[name].tasks)
        result = run_suite(load_suite(folder / "c.yml", changes), Observer())
    (member,) = result.members
    yield Kept(f"sqlite:///{folder / 'mlflow.db'}", member.name, member.outcomes[0], corpora, folder)


@pytest.fixture(scope="module")
def plan(kept: Kept) -> ServedPlan:
    (folder, *_) = sorted(kept.folder.glob("**/served"))
    return ServedPlan.load(folder, device="cpu")


def test_every_task_gives_its_test_scores_bit_for_bit(kept: Kept, plan: ServedPlan) -> None:
    assert plan.tasks == TASKS
    for corpus in kept.corpora.values():
        told = plan.predict(kept.rows(corpus.name), tasks=corpus.names)
        assert told.tasks == corpus.names
        for task in corpus.names:
            assert told[task].outputs.tolist() == kept.scores(task).tolist(), task
