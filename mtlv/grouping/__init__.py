"""Groups of tasks that should be learned together. Takes arrays and returns groups.

    features [T, D] -> scale -> distances [T, T] -> elbow (which k?) -> group -> Grouping

The main method is `kmedoids`. `engines` has alternative implementations of it, and `cluster` other methods.
`without_features` takes the user's own groups, or makes random groups as a control experiment.

    values of groups -> best partition -> Partition

`best_partition` takes the values of groups (`group_values`) instead of features.
"""

from mtlv.grouping.api import group
from mtlv.grouping.distance import distances, silhouette
from mtlv.grouping.elbow import elbow, knee
from mtlv.grouping.group_values import GroupValue, ListedValues, PairMeans, PairSums
from mtlv.grouping.kmedoids import kmedoids
from mtlv.grouping.partition import Partition, best_partition
from mtlv.grouping.result import Elbow, Grouping
from mtlv.grouping.scaling import scale
from mtlv.grouping.spec import GroupingSpec
from mtlv.grouping.without_features import random_groups, random_like, user_groups

__all__ = [
    "Elbow",
    "GroupValue",
    "Grouping",
    "GroupingSpec",
    "ListedValues",
    "PairMeans",
    "PairSums",
    "Partition",
    "best_partition",
    "distances",
    "elbow",
    "group",
    "kmedoids",
    "knee",
    "random_groups",
    "random_like",
    "scale",
    "silhouette",
    "user_groups",
]
