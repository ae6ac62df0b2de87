"""A prediction is read back as it was written, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from predictions import TASKS, World, a_prediction, planted

from mtlv.plan.prediction import Prediction, rows_of


def test_it_is_read_back_as_it_was_written():
    found = a_prediction(World(planted(), noise=0.1), partitions=6, alike=False, epochs=(1, 3))
    of_groups = {"rank_probe": 2 * found.scores}
    again = 3 * found.scores, np.where(np.arange(len(found.scores))[:, None] > 2, found.scores, np.nan)
    found = replace(found, errors=np.full_like(found.errors, np.nan), gains=of_groups, repeated=again)
    again = Prediction.of_json(json.loads(json.dumps(found.as_json(), allow_nan=False)))
    for field in fields(Prediction):
        first, second = getattr(found, field.name), getattr(again, field.name)
        if isinstance(first, np.ndarray):
            np.testing.assert_array_equal(first, second)
            assert first.dtype == second.dtype
        elif field.name == "repeated":
            np.testing.assert_array_equal(first, second)
        elif field.name == "gains":
            assert list(first) == list(second)
            np.testing.assert_array_equal(first["rank_probe"], second["rank_probe"])
        else:
            assert first == second
    assert np.isnan(again.scores[~again.member]).all()


def test_the_row_of_a_group():
    found = a_prediction(World(planted()), partitions=6)
    for row, member in enumerate(found.member):
        assert found.row(reversed(np.array(TASKS)[member].tolist())) == row
    assert found.row(TASKS) is None
    groups = [frozenset("ab"), frozenset("c")]
    assert rows_of(groups, (("c",), ("b", "a"))) == (1, 0)
    assert rows_of(groups, (("a",), ("b", "c"))) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tasks", ["a", "b"]),
        ("groups", [["a"]]),
        ("chosen", [1.0]),
        ("effects", [[1.0]]),
        ("measured", [{"tasks": ["a", "b"], "scores": [1.0], "held_out": [1.0, 1.0]}]),
        ("partitions", {"drawn 1": [999]}),
        ("epochs", [1]),
    ],
)
def test_other_content_is_refused(key, value):
    content = a_prediction(World(planted()), partitions=6).as_json()
    with pytest.raises((ValueError, KeyError, TypeError)):
        Prediction.of_json(content | {key: value})
    del content[key]
    with pytest.raises(KeyError):
        Prediction.of_json(content)


def test_gains_of_other_groups_are_refused_and_older_files_have_none():
    content = a_prediction(World(planted()), partitions=6).as_json()
    with pytest.raises(ValueError, match="reshape"):
        Prediction.of_json(content | {"gains": {"rank_probe": [[1.0]]}})
    assert Prediction.of_json(content).repeated is None
    del content["gains"], content["repeated"]
    assert Prediction.of_json(content).gains == {}
    assert Prediction.of_json(content).repeated is None
