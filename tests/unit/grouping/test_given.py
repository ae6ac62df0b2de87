"""The user's own groups: each task exactly once, or a message with every problem."""

from __future__ import annotations

import pytest

from mtlv.errors import GroupingError
from mtlv.grouping import user_groups
from mtlv.grouping.without_features import groups_by_ancestor

NAMES = ["Effusion", "Nodule", "Opacity", "Emphysema"]


def test_groups_are_numbered_by_their_first_task():
    found = user_groups([["Opacity"], ["Nodule", "Effusion", "Emphysema"]], NAMES)
    assert found.labels == (0, 0, 1, 0)
    assert found.groups() == ((0, 1, 3), (2,))


def test_every_problem_is_named():
    with pytest.raises(GroupingError) as caught:
        user_groups([["Efusion", "Nodule"], ["Nodule", "Opacity"], []], NAMES)
    text = str(caught.value)
    assert "`grouping.groups` must hold every task exactly once" in text
    assert "unknown task `Efusion`, did you mean `Effusion`?" in text
    assert "`Nodule` stands 2 times" in text
    assert "missing `Effusion`, `Emphysema`" in text
    assert "a group is empty" in text


def test_labels_with_the_same_ancestor_are_a_group():
    found = groups_by_ancestor({"Effusion": "pleura", "Nodule": "lung", "Opacity": "lung"}, NAMES)
    assert found.groups() == ((0,), (1, 2), (3,))
    with pytest.raises(GroupingError, match=r"data\.parents"):
        groups_by_ancestor({}, NAMES)
