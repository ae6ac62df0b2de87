"""Trained models as scikit-learn style estimators."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtlv.api.arguments import several
from mtlv.errors import DataError
from mtlv.serving.frame import as_columns
from mtlv.serving.input_frame import as_frame, as_texts
from mtlv.serving.kinds import BOTH, DECISIONS
from mtlv.serving.predict import load_plan

if TYPE_CHECKING:
    import pandas as pd

    from mtlv.plan import Task
    from mtlv.serving.model import Prediction, ServedPlan

Texts: TypeAlias = "Sequence[str] | Sequence[Mapping[str, object]] | pd.Series | pd.DataFrame"
"""Texts, or rows of a table with the columns of training, or a column `text`."""


class Model(ABC):
    """A trained model. (`mtlv.TextClassifier` trains new ones in scikit-learn's searches.)

    `predict` returns:

    - yes/no tasks: [N, T] of 0 and 1 at the fitted thresholds; `classes_` are the T names of the tasks
    - one task with classes: [N] names of classes; `classes_` are the C classes
    - one number: [N] values
    - anything else: a DataFrame, as `predict_frame`

    Texts are a list, a Series, or a DataFrame. Its text column has the name of the training table's, or
    `text`, or is the only one. Some tasks need more than a text: a DataFrame, or a list of mappings, has it
    in columns named as in training, or in `text_pair`, `words` or `mentions`. A row that is empty or cannot
    be read has NaN or None in its place, and a warning says which rows these are.
    """

    @property
    @abstractmethod
    def _known(self) -> Sequence[Task]:
        """The T tasks."""

    @property
    @abstractmethod
    def _model(self) -> ServedPlan: ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the T tasks."""
        return tuple(task.name for task in self._known)

    def predict(self, texts: Texts) -> NDArray | pd.DataFrame:
        """Predict N texts; see the class for the shape.

        Raises:
            DataError: no row can be read, or one text is given instead of a list.
        """
        kind, tasks = self._kind, list(self.tasks)
        if kind is None:
            return self.predict_frame(texts, columns=DECISIONS)
        answers = as_columns(self._predict(texts)[0], DECISIONS)
        if kind == "binary":
            decided = np.stack([answers[task] for task in tasks], axis=1)
            return decided.astype(float if decided.dtype == object else int)
        return np.asarray(answers[tasks[0]])

    def predict_proba(self, texts: Texts, *, calibrated: bool = False) -> NDArray[np.float64]:
        """Return probabilities of N texts: [N, T] of "yes" for yes/no tasks, [N, C] for a task with classes.

        Args:
            texts: N texts.
            calibrated: whether logits are divided by the temperature that was fitted on validation (Guo et
                al., ICML 2017), for tasks that have one. Decisions stay the same.

        Raises:
            DataError: as for `predict`, the tasks do not have probabilities of the same shape, or there is
                no temperature.
        """
        if self._kind not in ("binary", "multiclass"):
            raise DataError(
                "`predict_proba` needs yes/no tasks, or one task with classes", then="call `predict_frame`"
            )
        prediction, _ = self._predict(texts, calibrated=calibrated)
        if self._kind == "binary":
            return np.stack([prediction[task].values for task in self.tasks], axis=1)
        return prediction[self.tasks[0]].values

    def predict_frame(
        self, texts: Texts, *, columns: str = BOTH, calibrated: bool = False, abstain: float | None = None
    ) -> pd.DataFrame:
        """Return N rows with the predictions of every task, and the index of a given Series or DataFrame.

        Args:
            texts: N texts.
            columns: `both`, `probabilities` or `decisions`.
            calibrated: as for `predict_proba`.
            abstain: wanted share of wrong decisions, such as 0.05; those that are not sure enough are None.

        Raises:
            DataError: as for `predict`, or there is no temperature, or no limit for that error.
        """
        import pandas as pd

        prediction, index = self._predict(texts, calibrated=calibrated, abstain=abstain)
        return pd.DataFrame(as_columns(prediction, columns), index=index)

    def _predict(
        self, texts: Texts, *, calibrated: bool = False, abstain: float | None = None
    ) -> tuple[Prediction, pd.Index]:
        """Return predictions of N texts, and the index of the table that they stand in; warn of its notes."""
        import pandas as pd

        is_table = isinstance(texts, (pd.DataFrame, pd.Series, Mapping))
        frame = as_frame(texts if is_table else several(texts, "texts"), self._model.description.columns)
        prediction = self._model.predict(as_texts(frame), calibrated=calibrated, abstain=abstain)
        for note in prediction.notes:
            warnings.warn(note, stacklevel=3)
        return prediction, frame.index

    @property
    def classes_(self) -> NDArray:
        """Names of the tasks [T] for yes/no tasks; the classes [C] of a single task."""
        tasks = self._known
        names = tasks[0].classes if self._kind == "multiclass" else self.tasks
        return np.array(names, dtype=object)

    @property
    def _estimator_type(self) -> str:
        return "regressor" if self._kind == "regression" else "classifier"

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self.fit()

    def fit(self, X: object = None, y: object = None) -> Self:
        """Raise an error, because the model is trained.

        Raises:
            DataError: always; a search of scikit-learn would compare this model with itself.
        """
        raise DataError(
            "a trained model cannot be trained again",
            then="give `mtlv.TextClassifier(...)` to scikit-learn, or keep this model as it is with "
            "`sklearn.frozen.FrozenEstimator(model)`",
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        several = self._kind == "binary" and len(self.tasks) > 1
        classifies = self._estimator_type == "classifier"
        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=True, multi_output=several),
            classifier_tags=ClassifierTags(multi_label=several) if classifies else None,
            regressor_tags=None if classifies else RegressorTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )

    @cached_property
    def _kind(self) -> str | None:
        """Kind of all tasks, if `predict` has one shape for them; None otherwise."""
        kinds = {task.kind for task in self._known}
        kind = kinds.pop() if len(kinds) == 1 else ""
        alone = len(self.tasks) == 1 and kind in ("multiclass", "regression")
        return kind if kind == "binary" or alone else None


class LoadedModel(Model):
    """A model that was saved or tracked."""

    def __init__(self, plan: ServedPlan) -> None:
        self._plan = plan

    @property
    def _known(self) -> Sequence[Task]:
        served = self._plan.description.tasks
        return [served[name].task for name in self._plan.tasks]

    @property
    def _model(self) -> ServedPlan:
        return self._plan

    def __repr__(self) -> str:
        return f"Model({self._plan.description.origin!r}, {len(self.tasks)} tasks)"


def load_model(name: str | Path, *, uri: str | None = None, device: str = "auto") -> Model:
    """Load a trained model, to predict texts. No model hub is used, and no pickle is read.

    Args:
        name: folder of `Result.save` or of MLflow, or the id, uid or name of a tracked run.
        uri: tracking address of the run, such as `sqlite:///FOLDER/mlflow.db` for `train(folder=FOLDER)`;
            None is the store of your own MLflow (`mlflow.set_tracking_uri`, `MLFLOW_TRACKING_URI`), else
            `mlflow.db` in the working folder.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        TrackingError: there is no such folder or run, or it has no model.
        EncoderError, DeviceError: it cannot be loaded here.

    Example:
        >>> import mtlv
        >>> corpus = mtlv.load("synthetic", documents=60)
        >>> result = mtlv.train(corpus, encoder="tiny", epochs=1, folder="saved")
        >>> folder = result.save("saved/model")
        >>> mtlv.load_model(folder).predict(["the heart is enlarged"]).shape
        (1, 9)
    """
    if not str(name):
        raise DataError("`mtlv.load_model` got no name", then="give a folder, or the id or name of a run")
    where = name.absolute() if isinstance(name, Path) else name  # a path is a folder, and no run's name
    return LoadedModel(load_plan(str(where), uri=uri, device=device))
