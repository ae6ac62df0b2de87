"""A scikit-learn estimator that trains models."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from mtlv.api.arguments import several
from mtlv.api.corpus import Corpus, from_dataframe
from mtlv.api.model import LoadedModel
from mtlv.api.training import train
from mtlv.errors import DataError
from mtlv.events import ignore
from mtlv.serving.input_frame import COLUMN, as_frame

if TYPE_CHECKING:
    import pandas as pd

    from mtlv.api.model import Texts

INDICATOR = "multilabel-indicator"
MOST_SEEDS = 2**31 - 1


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of texts for scikit-learn: `fit` trains a model, also for each fold of `cross_val_score`.

    For the classes of one task, or for T yes/no labels (a multilabel indicator). Of the documents of `fit`,
    mtlv takes its shares for validation and test (`data.validation_share`, `data.test_share`).

    Args:
        encoder: alias, name or folder; None is the default, as for the other settings.
        architecture: `mtl`, `stl`, `gmtl` or `gmhl`.
        epochs: passes over the training documents.
        learning_rate: peak learning rate.
        batch_size: documents per forward pass.
        max_length: tokens that are read of a text.
        random_state: seed of the training and of its split.
        folder: folder of the store and `mlflow.db`, where every fit is tracked; None keeps nothing.
        settings: other settings, as for `mtlv.train`, such as `{"precision": "fp32"}`.

    After `fit`, `classes_` has the classes [C] or the names of the labels [T], and `model_` the `mtlv.Model`.

    Example:
        >>> import mtlv
        >>> from sklearn.model_selection import cross_val_score
        >>> texts = [f"{word} {n}" for n in range(40) for word in ("large heart", "clear lung")]
        >>> model = mtlv.TextClassifier("tiny", epochs=1, random_state=0)
        >>> cross_val_score(model, texts, ["heart", "lung"] * 40, cv=2).shape
        (2,)
    """

    def __init__(
        self,
        encoder: str | None = None,
        *,
        architecture: str = "mtl",
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_length: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        folder: str | Path | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.encoder = encoder
        self.architecture = architecture
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_length = max_length
        self.random_state = random_state
        self.folder = folder
        self.settings = settings

    def fit(self, X: Texts, y: ArrayLike | pd.DataFrame) -> Self:
        """Train a new model.

        Args:
            X: N texts: a list, a Series, an array or a DataFrame of one column.
            y: N classes, or a multilabel indicator [N, T]; the columns of a DataFrame name its labels.

        Raises:
            DataError: `y` is neither, or classes have the same name.
            ValueError: `X` and `y` differ in length.
            MtlvError: as for `mtlv.train`.
        """
        rows = _texts(X)
        check_consistent_length(rows, y)
        target = type_of_target(y, input_name="y")
        settings: dict[str, Any] = {}
        if target == INDICATOR:
            labels = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
            names = [str(name) for name in getattr(y, "columns", range(labels.shape[1]))]
            for name, column in zip(names, labels.T, strict=True):
                rows[name] = column.astype(int)
            settings["labels"], self.classes_ = names, np.array(names, dtype=object)
        elif target in ("binary", "multiclass"):
            self.classes_, numbers = np.unique(np.ravel(y), return_inverse=True)
            names = list(map(str, self.classes_))
            if len(set(names)) < len(names):
                raise DataError("`y` has classes of the same name", got=", ".join(names))
            rows = rows.assign(target=np.array(names, dtype=object)[numbers])
            settings |= {"kind": "multiclass", "target": "target", "classes": names}
        else:
            raise DataError("`y`", got=target, allowed="classes, or an indicator of labels [N, T]")
        corpus = from_dataframe(rows, text=COLUMN_OF_TEXTS, name="texts", **settings)
        self.model_ = self._train(corpus)
        return self

    def _train(self, corpus: Corpus) -> LoadedModel:
        passed = ("encoder", "architecture", "epochs", "learning_rate", "batch_size", "max_length")
        settings = {name: value for name in passed if (value := getattr(self, name)) is not None}
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(MOST_SEEDS)
        settings |= {"seed": int(seed), "split_seed": int(seed)}
        if not self.folder:  # what is tracked is removed with its folder
            settings |= {"models": "none", "bag_of_words": False}
        settings |= self.settings or {}
        with TemporaryDirectory(prefix="mtlv-") as name:
            result = train(corpus, folder=self.folder or name, callback=ignore, **settings)
            return LoadedModel(result._model)

    def predict(self, X: Texts) -> NDArray:
        """Return N classes, or 0 and 1 of labels [N, T]; None or NaN for empty texts."""
        check_is_fitted(self)
        predictions = self.model_.predict(X)
        if predictions.ndim > 1:
            return np.asarray(predictions)
        classes = dict(zip(map(str, self.classes_), self.classes_, strict=True))
        answers = [classes.get(name) for name in predictions]
        return np.array(answers, dtype=object if None in answers else self.classes_.dtype)

    def predict_proba(self, X: Texts) -> NDArray[np.float64]:
        """Return probabilities of classes [N, C], or of labels [N, T], as `OneVsRestClassifier` does."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


COLUMN_OF_TEXTS = "text of a document"  # unlike the names of labels


def _texts(texts: Texts) -> pd.DataFrame:
    """Return a table with a column of texts."""
    table = texts if hasattr(texts, "shape") else several(texts, "X")
    return as_frame(table, {})[[COLUMN]].set_axis([COLUMN_OF_TEXTS], axis=1).reset_index(drop=True)
