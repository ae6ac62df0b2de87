"""Task layouts as plain data: tasks, plans, units and scores."""

from mtlv.plan.names import ascii_slug, group_name, group_title, slug, slugs
from mtlv.plan.scores import Scores, TaskScores, gather, mean_outputs, mean_scores
from mtlv.plan.task import Task, select_tasks
from mtlv.plan.tree import (
    HeadSpec,
    ModelSpec,
    Plan,
    as_json,
    from_json,
    tree_lines,
    with_private_layers,
    with_separate_heads,
)
from mtlv.plan.unit import Unit, head_key

__all__ = [
    "HeadSpec",
    "ModelSpec",
    "Plan",
    "Scores",
    "Task",
    "TaskScores",
    "Unit",
    "as_json",
    "ascii_slug",
    "from_json",
    "gather",
    "group_name",
    "group_title",
    "head_key",
    "mean_outputs",
    "mean_scores",
    "select_tasks",
    "slug",
    "slugs",
    "tree_lines",
    "with_private_layers",
    "with_separate_heads",
]
