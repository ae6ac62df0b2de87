"""Keys, values and names are checked here by MLflow's own rules, before anything is sent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mtlv.errors import TrackingError
from mtlv.tracking import Metric
from mtlv.tracking.checks import check_key, check_metric, check_name, check_params, check_tags, param_text

GOOD = ["val/f1_macro", "test.tasks.f1/Pleural Effusion", "labels/肺炎", "étiquette", "a:b", "x" * 250]
BAD = [
    "a,b",
    "<script>",
    "a\nb",
    "a\n",
    "",
    ".",
    "..",
    "a//b",
    "/a",
    "a/",
    "a/../b",
    "e\u0301",
    "a\u00a0b",
    "[x]",
    "😀",
    7,
]


@pytest.mark.parametrize("key", GOOD)
def test_good_keys(key):
    assert check_key(key) == key


@pytest.mark.parametrize("key", BAD)
def test_bad_keys(key):
    with pytest.raises(TrackingError, match="a metric key"):
        check_key(key)


@pytest.mark.parametrize("key", [key for key in GOOD + BAD if key not in (7, "a\n")])
def test_the_rule_is_mlflows(key):
    from mlflow.exceptions import MlflowException
    from mlflow.utils.validation import _validate_metric_name

    def refused(check, error):
        try:
            check(key)
        except error:
            return True
        return False

    assert refused(check_key, TrackingError) == (not key or refused(_validate_metric_name, MlflowException))


def test_error_texts():
    with pytest.raises(
        TrackingError,
        match=r"has characters that MLflow does not allow \(got a,b\); allowed: letters, digits and",
    ):
        check_key("a,b")
    with pytest.raises(TrackingError, match=r"is too long \(got x+…\); allowed: 250 characters"):
        check_key("x" * 251)


@pytest.mark.parametrize("value", [True, "0.5", None, np.bool_(True), 1j, [1.0]])
def test_values_that_are_no_numbers(value):
    with pytest.raises(TrackingError, match="the value of metric `a`"):
        check_metric(Metric("a", value))


@pytest.mark.parametrize("step", [1.5, "1", True, None])
def test_steps_that_are_no_whole_numbers(step):
    with pytest.raises(TrackingError, match="the step of metric `a`"):
        check_metric(Metric("a", 1.0, step))


def test_numpy_numbers_become_plain_ones():
    metric = check_metric(Metric("a", np.float32(0.5), np.int64(3), np.int64(7)))
    assert metric == Metric("a", 0.5, 3, 7)
    assert [type(v) for v in (metric.value, metric.step, metric.timestamp_ms)] == [float, int, int]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_becomes_nan(value):
    assert math.isnan(check_metric(Metric("a", value)).value)


def test_params_are_short_plain_texts():
    assert [param_text(v) for v in (None, True, 2e-5, "a\nb", [1, "é"])] == [
        "null",
        "true",
        "2e-05",
        "a b",
        '[1, "é"]',
    ]
    assert check_params({"long": "x" * 9000})["long"] == "x" * 499 + "…"
    with pytest.raises(TrackingError, match="a param key"):
        check_params({"a,b": 1})
    with pytest.raises(TrackingError, match="a tag key"):
        check_tags({"a,b": "x"})


@pytest.mark.parametrize(
    "name", ["", "/etc/x", "../x", "a/../../x", "q?.txt", "h#.txt", "p%2f.txt", "a\\b", "a\nb", "."]
)
def test_bad_artifact_names(name):
    with pytest.raises(TrackingError, match="an artifact's name"):
        check_name(name)
