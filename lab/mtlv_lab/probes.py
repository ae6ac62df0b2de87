"""Features of tasks by linear probes of the published encoder."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from mtlv.data.joined import sources_of
from mtlv.planning.task_vectors import VectorSource, need_labels, need_one_source, task_feature
from mtlv_lab.rank_probe import RankProbe

TINY = 1e-9  # spread of numbers that are equal but for rounding


@task_feature(embedded=True)
def probe_weights(view: VectorSource) -> NDArray[np.float64]:
    """Return the weights [T, H] of a ridge regression from the vectors of training documents to each label.

    Vectors and labels are standardised over the documents of the label's data set; the penalty of each label
    is chosen by leave-one-out (scikit-learn's `RidgeCV`).

    Raises:
        GroupingError: a task is not a yes/no label.
    """
    need_labels(view, "probe_weights")
    corpus = view.corpus
    weights: dict[int, NDArray[np.float64]] = {}
    for source, first, end in sources_of(corpus):
        columns = [at for at, name in enumerate(corpus.names) if name in source.names]
        train = view.fold.train[(view.fold.train >= first) & (view.fold.train < end)]
        if columns:
            vectors, labels = _standardize(view, train, train)
            weights |= dict(zip(columns, _weights(vectors, labels[:, columns]), strict=True))
    return np.array([weights[at] for at in range(len(corpus.names))])


_need_same_errors = partial(
    need_one_source, "rank_probe", "compares errors on the same documents", "probe_weights"
)


@task_feature(embedded=True, kind="group values", fits=_need_same_errors)
def rank_probe(view: VectorSource) -> RankProbe:
    """Return what the tasks of a group gain if their probes share one direction (`RankProbe`).

    The probes of `probe_weights`, of training documents; their squared errors are those on the validation
    part, in units of each label's variance in the training part. A value above 0 says that the group's tasks
    need the same direction.

    Raises:
        GroupingError: a task is not a yes/no label, or the labels are of several data sets.
    """
    need_labels(view, "rank_probe", ", with `grouping.method: kmedoids`")
    _need_same_errors(view.corpus.tasks)
    train = view.fold.train
    vectors, labels = _standardize(view, train, train)
    others, truth = _standardize(view, train, view.fold.validation)
    weights = _weights(vectors, labels)
    return RankProbe(vectors @ weights.T, others @ weights.T, truth)


def _standardize(
    view: VectorSource, train: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Return vectors [n, H] and labels [n, T] of documents; training documents have mean 0 and variance 1."""
    tables = []
    for table in (view.embed(tuple(view.corpus.texts)), view.corpus.matrix()):
        known = table[train].astype(np.float64)
        spread = known.std(0)  # of a label that no training document has, 0
        tables.append((table[rows] - known.mean(0)) / np.where(spread > TINY, spread, 1.0))
    return tables


def _weights(vectors: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights [T, H] of a ridge regression to each label."""
    from sklearn.linear_model import RidgeCV

    probe = RidgeCV(alphas=np.logspace(0, 5, 11), alpha_per_target=True, fit_intercept=False)
    return np.atleast_2d(probe.fit(vectors, labels).coef_)
