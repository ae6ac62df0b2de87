"""The score of a bag of words: a reference without a neural network, computed in seconds.

Words and pairs of adjacent words are weighted by TF-IDF. Yes/no labels and classes are predicted by logistic
regression, numbers by ridge regression; a model per task, with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.joined import sources_of
from mtlv.data.source import PARTS
from mtlv.data.texts.lazy import read
from mtlv.plan import Scores, Task

if TYPE_CHECKING:
    from mtlv.data.folds import Fold, Rows
    from mtlv.data.source import Corpus
    from mtlv.units.inputs import UnitInputs

UNIT = "bag-of-words"  # in place of a unit's key
MOST = 500_000  # documents x tasks: more would take long beside the training of a small model
FEWEST = 10  # tasks that counting takes as long as: up to 50,000 documents are counted
STRENGTH = 100.0  # C of logistic regression: counts are sparse, so little regularisation is needed
WORD = r"\w+"  # scikit-learn's default leaves out words of one letter
Fit = Callable[[Task, Any, NDArray, Any], NDArray]
"""(task, counts [N, W], targets [N], counts [M, W]) -> outputs for the M documents, as in `TaskScores`."""


def bag_of_words_scores(inputs: UnitInputs, tasks: Sequence[str], fold: Fold) -> tuple[Scores, Scores] | None:
    """Return validation and test scores of tasks, predicted from a bag of the words of whole texts.

    None for tasks on pairs of texts, entities or masked words, if there is too much to learn (`MOST`), and if
    no two training documents share a word.
    """
    from scipy.sparse import vstack

    documents = sum(len(fold.part(split)) for split in PARTS)
    if documents * max(len(tasks), FEWEST) > MOST or not _suits(inputs, tasks):
        return None
    parts = {split: inputs.parts(tasks, fold.part(split)) for split in PARTS}
    outputs: dict[str, dict[str, NDArray]] = {split: {} for split in PARTS[1:]}
    for of_source in zip(*parts.values(), strict=True):
        rows = [inputs.documents(part.index) for part in of_source]
        counts = _counts(inputs.corpus, rows)
        if counts is None:
            return None
        unknown = vstack(counts[1:], format="csr")
        for name in of_source[0].targets:
            task, targets = inputs.tasks[name], np.asarray(inputs.corpus.targets[name])[rows[0]]
            known = inputs.corpus.known(name)[rows[0]]
            predicted = FITS[task.kind](task, counts[0][known], targets[known], unknown)
            for split, part in zip(PARTS[1:], np.split(predicted, [len(rows[1])]), strict=True):
                outputs[split][name] = part

    def scores(split: str) -> Scores:
        return inputs.scores(UNIT, split, fold.part(split), parts[split], outputs[split])

    return scores("validation"), scores("test")


def _suits(inputs: UnitInputs, tasks: Sequence[str]) -> bool:
    sources = (source for source, *_ in sources_of(inputs.corpus) if not set(tasks).isdisjoint(source.names))
    plain = all(source.seconds is source.words is source.mentions is None for source in sources)
    return plain and all(inputs.tasks[name].kind in FITS for name in tasks)


def _counts(corpus: Corpus, parts: Sequence[Rows]) -> list[Any] | None:
    """Return the counts [N, W], in each part, of W words and pairs that two documents of the first share."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    weighting = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=WORD)
    first, *others = ([*read(corpus.texts, rows.tolist())] for rows in parts)
    try:
        return [weighting.fit_transform(first), *map(weighting.transform, others)]
    except ValueError:  # no word is left
        return None


def _probabilities(classes: int, known: Any, targets: NDArray, unknown: Any) -> NDArray:
    """Return probabilities [M, C], 0 for classes without a training document."""
    from sklearn.linear_model import LogisticRegression

    probabilities, seen = np.zeros((unknown.shape[0], classes)), np.unique(targets)
    if len(seen) == 1:
        probabilities[:, seen] = 1
    else:
        model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(known, targets)
        probabilities[:, seen] = model.predict_proba(unknown)
    return probabilities


def _number(task: Task, known: Any, targets: NDArray, unknown: Any) -> NDArray:  # noqa: ARG001
    from sklearn.linear_model import Ridge

    return Ridge().fit(known, targets).predict(unknown)


FITS: Mapping[str, Fit] = {
    "binary": lambda _, *data: _probabilities(2, *data)[:, 1],
    "multiclass": lambda task, *data: _probabilities(len(task.classes), *data),
    "regression": _number,
}
"""Predictions by kind of task."""
