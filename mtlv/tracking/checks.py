"""Checks of MLflow's rules before anything is sent, because one invalid key would reject a whole batch."""

from __future__ import annotations

import json
import math
import numbers
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mtlv.errors import TrackingError
from mtlv.tracking.tracker import Metric, Param

KEY = re.compile(r"[/\w.\- :]+")
MAX_KEY_LETTERS = 250
MAX_PARAM_LETTERS = 500  # MLflow allows 6000, but that is unreadable in a cell
MAX_TAG_LETTERS = 8000
KEY_SIGNS = "letters, digits and `/ _ . - :` and space"


def check_key(key: object, what: str = "metric") -> str:
    """Return `key`, if it is a valid key of a metric, param or tag in MLflow.

    Raises:
        TrackingError: characters other than letters, digits and `/_.-: `, a path that is not plain
            (`/a`, `a//b`, `..`), empty, or more than 250 characters.
    """
    if not isinstance(key, str):
        raise TrackingError(
            f"a {what} key has characters that MLflow does not allow", got=key, allowed=KEY_SIGNS
        )
    return _check_plain_key(key, what)


@lru_cache(maxsize=20_000)  # the same hundreds of keys are logged every epoch
def _check_plain_key(key: str, what: str) -> str:
    if not KEY.fullmatch(key):
        raise TrackingError(
            f"a {what} key has characters that MLflow does not allow", got=key, allowed=KEY_SIGNS
        )
    if posixpath.normpath(key) != key or key == "." or key.startswith(("..", "/")):
        raise TrackingError(f"a {what} key is not a plain path", got=key, allowed="`a/b/c`")
    if len(key) > MAX_KEY_LETTERS:
        raise TrackingError(f"a {what} key is too long", got=key, allowed=f"{MAX_KEY_LETTERS} characters")
    return key


def check_metric(metric: Metric) -> Metric:
    """Return `metric` with plain numbers; NaN stays, infinity becomes NaN (MLflow would store 1.8e308).

    Raises:
        TrackingError: an invalid key, a value that is not a number (such as `True` and `"0.5"`), a step that
            is not an integer.
    """
    check_key(metric.key)
    if type(metric.value) is float and type(metric.step) is type(metric.timestamp_ms) is int:
        return metric if math.isfinite(metric.value) else replace(metric, value=math.nan)
    if not isinstance(metric.value, numbers.Real) or isinstance(metric.value, bool):
        raise TrackingError(f"the value of metric `{metric.key}`", got=metric.value, allowed="a number")
    for what, number in (("step", metric.step), ("timestamp_ms", metric.timestamp_ms)):
        if not isinstance(number, numbers.Integral) or isinstance(number, bool):
            raise TrackingError(f"the {what} of metric `{metric.key}`", got=number, allowed="a whole number")
    value = float(metric.value)
    value = value if math.isfinite(value) else math.nan
    return Metric(metric.key, value, int(metric.step), int(metric.timestamp_ms))


def check_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Return all of `metrics`, or raise an error: see `check_metric`."""
    return [check_metric(metric) for metric in metrics]


def param_text(value: Param) -> str:
    """Return `value` as one short line: text as it is, anything else as JSON (`null`, `true`, `[1,2]`)."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.replace("\0", "").split())  # databases do not allow NUL
    return text if len(text) <= MAX_PARAM_LETTERS else text[: MAX_PARAM_LETTERS - 1] + "…"


def check_params(params: Mapping[str, Param]) -> dict[str, str]:
    """Return params with checked keys and short texts."""
    return {check_key(key, "param"): param_text(value) for key, value in params.items()}


def check_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags with checked keys and texts of at most 8000 characters (MLflow truncates silently)."""
    return {
        check_key(key, "tag"): str(value).replace("\0", "")[:MAX_TAG_LETTERS] for key, value in tags.items()
    }


def check_name(name: str) -> str:
    """Return `name`, if it is a relative path that every artifact store keeps unchanged.

    Over HTTP, MLflow 3.17 silently cuts names at `?` and `#` and decodes `%`.

    Raises:
        TrackingError: the name is empty, absolute, outside the run's folder, or with `? # % \\` or control
            characters.
    """
    plain = name and posixpath.normpath(name) == name and not name.startswith(("/", "..")) and name != "."
    if not plain or re.search(r"[?#%\\\x00-\x1f]", name):
        raise TrackingError("an artifact's name", got=name, allowed="a relative path without `? # % \\`")
    return name


def check_picture(local: Path) -> Path:
    """Return `local`, if the image grid supports it.

    Raises:
        TrackingError: the file is not a PNG.
    """
    if local.suffix != ".png":
        raise TrackingError("a picture for the image grid", got=local.name, allowed="a PNG")
    return local
