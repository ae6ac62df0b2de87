"""`mtlv.TextClassifier` where scikit-learn uses its own estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from pixel import draw_nothing
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mtlv
from mtlv.errors import DataError

WORDS = ("large heart", "hazy lung", "old fracture")
TEXTS = [f"{WORDS[n % 3]} {n}" for n in range(60)]
CLASSES = np.array([30, 10, 20])[np.arange(60) % 3]
SETTINGS = {"precision": "fp32", "device": "cpu", "bag_of_words": False}


def classifier(**changes: object) -> mtlv.TextClassifier:
    given = {"epochs": 1, "learning_rate": 3e-3, "random_state": 0, "max_length": 16, "settings": SETTINGS}
    return mtlv.TextClassifier("tiny", **given | changes)


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_nothing(monkeypatch)


@pytest.fixture(scope="module")
def fitted() -> mtlv.TextClassifier:
    return classifier(epochs=8).fit(TEXTS, CLASSES)


def test_classes_come_back_as_they_were_given(fitted: mtlv.TextClassifier) -> None:
    assert fitted.classes_.tolist() == [10, 20, 30]
    found, probabilities = fitted.predict(TEXTS), fitted.predict_proba(TEXTS)
    assert found.dtype == CLASSES.dtype
    assert fitted.score(TEXTS, CLASSES) == (found == CLASSES).mean() > 0.9
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(1)], found)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    assert fitted.predict([TEXTS[0], "", TEXTS[1], None]).tolist() == [found[0], None, found[1], None]


def test_a_pickled_one_predicts_the_same(fitted: mtlv.TextClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(TEXTS[:5]), fitted.predict_proba(TEXTS[:5]))


def test_a_clone_is_not_trained_and_has_the_same_parameters(fitted: mtlv.TextClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert is_classifier(copy)
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)
    assert copy.set_params(epochs=3).epochs == 3
    assert fitted.epochs == 8


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_labels_are_an_indicator(kind: str) -> None:
    names = ["text", "lung", "target"]
    truth = pd.DataFrame(
        {name: [int(n % 3 == at or n % 4 == at) for n in range(60)] for at, name in enumerate(names)}
    )
    given = {"frame": truth, "array": truth.to_numpy(), "sparse": csr_matrix(truth.to_numpy())}[kind]
    model = classifier().fit(pd.DataFrame({"report": TEXTS}), given)
    assert model.classes_.tolist() == (names if kind == "frame" else ["0", "1", "2"])
    assert model.predict(TEXTS).shape == model.predict_proba(np.array(TEXTS)).shape == (60, 3)
    assert 0 <= model.score(pd.Series(TEXTS), truth) <= 1


def test_searches_train_a_new_model_for_each_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, fit = [], mtlv.TextClassifier.fit

    def counted(self: mtlv.TextClassifier, X: list, y: object) -> mtlv.TextClassifier:
        trained.append((self.epochs, len(X)))
        return fit(self, X, y)

    monkeypatch.setattr(mtlv.TextClassifier, "fit", counted)
    scores = cross_val_score(classifier(), TEXTS, CLASSES, cv=2)
    assert scores.shape == (2,)
    assert trained == [(1, 30), (1, 30)]
    search = GridSearchCV(classifier(), {"epochs": [1, 6]}, cv=2, scoring="neg_log_loss").fit(TEXTS, CLASSES)
    assert [epochs for epochs, _ in trained[2:6]] == [1, 1, 6, 6]
    assert search.best_params_ == {"epochs": 6}
    assert trained[6:] == [(6, 60)]


def test_it_ends_a_pipeline() -> None:
    def lower(texts: list[str]) -> list[str]:
        return [text.lower() for text in texts]

    model = make_pipeline(FunctionTransformer(lower), classifier()).fit(TEXTS, CLASSES.astype(str))
    assert set(model.predict(TEXTS)) <= {"10", "20", "30"}


def test_what_cannot_be_learned_is_named() -> None:
    with pytest.raises(ValueError, match="inconsistent"):
        classifier().fit(TEXTS, CLASSES[:-1])
    with pytest.raises(DataError, match=r"`y` \(got continuous\)"):
        classifier().fit(TEXTS, np.linspace(0, 1, 60))
    with pytest.raises(DataError, match="list of texts"):
        classifier().fit("a text", [1])
    with pytest.raises(TypeError):
        classifier().fit(TEXTS, CLASSES, sample_weight=np.ones(60))
