"""Groups of tasks that should be learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mtlv.api.arguments import as_settings, errors_name_arguments
from mtlv.api.corpus import Corpus, readable, the_corpus
from mtlv.api.notebook import display_figure, html
from mtlv.errors import GroupingError
from mtlv.figures.elbow import elbow_figure
from mtlv.figures.task_map import map_figure
from mtlv.planning import groups as planned
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve_groups
from mtlv.settings import load_suite
from mtlv.suite.cluster import grouping_title
from mtlv.tracking.mlflow_user import without_autologging
from mtlv.units.corpora import Corpora
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure
USED = ("data", "encoder", "grouping", "seed", "execution")  # sections that may change groups


class TaskGroups:
    """Groups of T tasks, with the metrics used to choose them.

    Args:
        groups: the groups.
        title: title of figures.
    """

    def __init__(self, groups: planned.TaskGroups, title: str) -> None:
        self._groups, self.title = groups, title

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the tasks of each of the k groups."""
        return self._groups.groups

    @property
    def k(self) -> int:
        """Number of groups."""
        return self._groups.grouping.k

    @property
    def reason(self) -> str:
        """Reason for the number of groups, in a sentence."""
        return self._groups.reason

    @property
    def stability(self) -> Mapping[str, float]:
        """Adjusted Rand index between these groups and those with one setting changed; 1 means equal."""
        return self._groups.stability

    def to_frame(self) -> pd.DataFrame:
        """Return T rows, indexed by task: `group` (from 1), and whether it is its group's `medoid`."""
        import pandas as pd

        grouping = self._groups.grouping
        medoids = {self._groups.names[item] for item in grouping.medoids or ()}
        rows = {
            "group": [label + 1 for label in grouping.labels],
            "medoid": [name in medoids for name in self._groups.names],
        }
        return pd.DataFrame(rows, index=pd.Index(self._groups.names, name="task"))

    def plot_elbow(self) -> Figure:
        """Plot inertia and silhouette over k, with the knee.

        Raises:
            GroupingError: the method takes no k.
        """
        if self._groups.elbow is None:
            raise GroupingError("these groups have no elbow", then="choose a method that takes `k`")
        return display_figure(elbow_figure(self._groups.elbow, title=self.title, chosen=self.k))

    @without_autologging()
    def plot_map(self) -> Figure:
        """Plot the tasks on the first two principal components of their vectors, coloured by group.

        Raises:
            GroupingError: the groups were not made by clustering.
        """
        groups = self._groups
        if groups.vectors is None:
            raise GroupingError("these groups have no map", then="choose another method than `given`")
        grouping = groups.grouping
        figure, _ = map_figure(
            groups.vectors, groups.names, grouping.labels, title=self.title, medoids=grouping.medoids
        )
        return display_figure(figure)

    def __repr__(self) -> str:
        return f"TaskGroups(k={self.k}: {'; '.join(', '.join(group) for group in self.groups)})"

    def _repr_html_(self) -> str:
        rows = [(number, len(group), ", ".join(group)) for number, group in enumerate(self.groups, 1)]
        stability = min(self.stability.values(), default=None)
        least = "" if stability is None else f" Least stability: ARI {stability:.2f}."
        return html(self.title, ("group", "tasks", "names"), rows, f"{self.reason.rstrip('.')}.{least}")


@without_autologging()
def cluster(
    corpus: Corpus, *, encoder: str | None = None, k: int | Literal["auto"] = "auto", **settings: Any
) -> TaskGroups:
    """Group the tasks of a corpus, using the training part of its first fold. Nothing is trained or written.

    Args:
        corpus: corpus with T tasks.
        encoder: encoder of the vectors of names and descriptions; None is the default.
        k: number of groups; `auto` uses the k at the elbow.
        settings: other `grouping` settings, such as `method` and `features`.

    Raises:
        DataError: `corpus` is no corpus.
        ConfigError, GroupingError, EncoderError: a setting is wrong, or does not allow the tasks to be
            grouped.

    Example:
        >>> import mtlv
        >>> corpus = mtlv.load("synthetic", documents=60)
        >>> groups = mtlv.cluster(corpus, encoder="tiny", features="label_count", k=2)
        >>> groups.k, sum(map(len, groups.groups))
        (2, 9)
        >>> groups.to_frame().shape
        (9, 2)
    """
    chosen = as_settings(settings, "grouping", USED)
    with errors_name_arguments("grouping"), readable(the_corpus(corpus, "mtlv.cluster")) as data:
        values = {**data, "architecture.name": "gmtl", **chosen}
        if k != "auto":
            values["grouping.k"] = k
        if encoder is not None:
            values["encoder.name"] = encoder
        suite = load_suite({}, values)
        corpora = Corpora()
        check_suite(suite, corpora)
        member_settings, cache = suite.members[0].settings, InputCache(corpora=corpora)
        groups = resolve_groups(cache, member_settings, cache.folds(member_settings.data)[0])
    return TaskGroups(groups, grouping_title(member_settings))
