"""The reference by a bag of words: by hand with scikit-learn, for each kind of task and source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import CORPORA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from mtlv.plan import Scores
from mtlv.settings import load_suite
from mtlv.settings.schema import Settings
from mtlv.units import bag_of_words
from mtlv.units.input_cache import InputCache

PARTS = ("train", "train", "train", "validation", "test")


def found_for(settings: Settings) -> tuple[InputCache, tuple[Scores, Scores] | None]:
    cache = InputCache()
    (fold,) = cache.folds(settings.data)
    return cache, cache.bag_of_words(settings, fold)


def written(folder: Path, name: str, words: str, targets: list[Any]) -> str:
    """A source of 60 documents, each of a few of the words; the first decides on the target."""
    rng, known = np.random.default_rng(0), words.split()
    lines = ["text,part,target"]
    for n in range(60):
        first = int(rng.integers(len(targets)))
        others = " ".join(rng.choice(["seen", "again", "today", "here"], 2))
        lines.append(f"{n} {known[first]} {others},{PARTS[n % 5]},{targets[first]}")
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    kind = {"c": "multiclass", "n": "regression", "b": "binary"}[name]
    target = "labels: [target]" if kind == "binary" else f"target: target, kind: {kind}, task: {name}"
    return f"{{name: table, alias: {name}, path: {name}.csv, columns: {{text: text, part: part, {target}}}}}"


def suite_of(folder: Path, *sources: str) -> Settings:
    config = folder / "c.yml"
    several = f"{{sources: [{', '.join(sources)}]}}"
    config.write_text(f"data: {several if len(sources) > 1 else sources[0]}\nencoder: tiny\n")
    return load_suite(config, []).members[0].settings


def by_hand(cache: InputCache, settings: Settings, source: int, model: Any) -> tuple[Any, Any]:
    """The fitted model, and its counts of the test documents."""
    corpus = cache.corpus(settings.data).members[source]
    rows = {
        part: [n for n, own in enumerate(corpus.parts or ()) if own == part] for part in ("train", "test")
    }
    weighting = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\w+")
    train = weighting.fit_transform([corpus.texts[row] for row in rows["train"]])
    (task,) = corpus.tasks
    model.fit(train, corpus.targets[task.name][rows["train"]])
    return model, weighting.transform([corpus.texts[row] for row in rows["test"]])


def test_each_source_is_learned_from_its_own_training_documents(tmp_path: Path) -> None:
    sources = [
        written(tmp_path, "c", "alpha beta gamma", ["red", "green", "blue"]),
        written(tmp_path, "n", "one two three", [1, 2.5, 3]),
        written(tmp_path, "b", "sick well", [1, 0]),
    ]
    settings = suite_of(tmp_path, *sources)
    cache, found = found_for(settings)
    assert found is not None
    validation, test = found
    assert (validation.part, test.part) == ("validation", "test")
    models = {
        "c": LogisticRegression(C=100, max_iter=1000),
        "n": Ridge(),
        "target": LogisticRegression(C=100),
    }
    for number, (name, model) in enumerate(models.items()):
        fitted, counts = by_hand(cache, settings, number, model)
        task = test.tasks[name]
        assert task.mask.tolist() == [each.startswith(f"{'cnb'[number]}/") for each in test.ids]
        wanted = fitted.predict(counts) if name == "n" else fitted.predict_proba(counts)
        own = task.outputs[task.mask]
        assert own == pytest.approx(wanted[:, 1] if name == "target" else wanted, abs=1e-6)
    assert cache.bag_of_words(settings, cache.folds(settings.data)[0]) is found, "computed once"


def test_a_class_without_training_documents_has_probability_0(tmp_path: Path) -> None:
    source = written(tmp_path, "c", "alpha beta gamma", ["red", "green", "blue"])
    path = tmp_path / "c.csv"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if ",train,blue" not in line]
    path.write_text("\n".join(kept) + "\n")
    settings = suite_of(tmp_path, source)
    cache, found = found_for(settings)
    assert found is not None
    (task,), (learned,) = found[1].tasks.values(), cache.tasks(settings)
    assert task.outputs.sum(axis=1) == pytest.approx(1)
    without = [name for name, column in zip(learned.classes, task.outputs.T, strict=True) if not column.any()]
    assert without == ["blue"]
    assert learned.classes[-1] != "blue"


def test_a_label_is_learned_where_it_is_known(tmp_path: Path) -> None:
    source = written(tmp_path, "b", "sick well", [1, 0])
    path = tmp_path / "b.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([line[:-1] if n in (5, 8) else line for n, line in enumerate(lines)]) + "\n")
    settings = suite_of(tmp_path, source.replace("text: text", "missing_labels: unknown, text: text"))
    cache, found = found_for(settings)
    assert found is not None
    corpus = cache.corpus(settings.data)
    known = [n for n, own in enumerate(corpus.parts or ()) if own == "train" and n not in (4, 7)]
    weighting = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\w+")
    every = [n for n, own in enumerate(corpus.parts or ()) if own == "train"]
    weighting.fit([corpus.texts[row] for row in every])
    model = LogisticRegression(C=100, max_iter=1000)
    model.fit(weighting.transform([corpus.texts[row] for row in known]), corpus.targets["target"][known])
    tested = weighting.transform(
        [corpus.texts[n] for n, own in enumerate(corpus.parts or ()) if own == "test"]
    )
    assert found[1].tasks["target"].outputs == pytest.approx(model.predict_proba(tested)[:, 1], abs=1e-6)


def test_a_label_of_all_training_documents_is_certain(tmp_path: Path) -> None:
    source = written(tmp_path, "b", "sick well", [1, 0])
    path = tmp_path / "b.csv"
    path.write_text(path.read_text().replace(",train,0", ",train,1"))
    _, found = found_for(suite_of(tmp_path, source))
    assert found is not None
    assert set(found[1].tasks["target"].outputs) == {1.0}


@pytest.mark.parametrize("name", ["biosses", "conll", "chemprot"])
def test_pairs_entities_and_relations_have_no_reference(name: str, tmp_path: Path) -> None:
    CORPORA[name][0](tmp_path)
    settings = suite_of(tmp_path, f"{{name: {name}, path: {tmp_path}}}")
    assert found_for(settings)[1] is None


def test_too_many_documents_and_texts_without_common_words_have_none(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (member,) = suite(table("t")).members
    documents, tasks = 60, 3
    for fewest, counted in ((1, tasks), (tasks + 1, tasks + 1)):
        monkeypatch.setattr(bag_of_words, "FEWEST", fewest)
        monkeypatch.setattr(bag_of_words, "MOST", documents * counted)
        assert found_for(member.settings)[1] is not None
        monkeypatch.setattr(bag_of_words, "MOST", documents * counted - 1)
        assert found_for(member.settings)[1] is None
    monkeypatch.undo()
    rows = [f"w{n},{PARTS[n % 5]},{n // 5 % 2}" for n in range(60)]
    (tmp_path / "b.csv").write_text("text,part,target\n" + "\n".join(rows) + "\n")
    source = "{name: table, path: b.csv, columns: {text: text, part: part, labels: [target]}}"
    assert found_for(suite_of(tmp_path, source))[1] is None
