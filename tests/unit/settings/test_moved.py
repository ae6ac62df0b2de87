"""A name that went is refused with what took its place."""

from __future__ import annotations

import pytest

from mtlv.errors import ConfigError
from mtlv.registries import FEATURES
from mtlv.settings import load_overrides
from mtlv.settings.draft import SUITE_KEYS, known_keys
from mtlv.settings.moved import FEATURES as MOVED
from mtlv.settings.moved import KEYS

EXPLORE = "{partitions: 3, k: 2}"


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (f"explore={EXPLORE}", "explore"),
        ("explore.partitions=3", "explore"),
        ("grouping.place=2", "grouping.place"),
        ("training.probe={every: 10}", "training.probe"),
        ("stages=[{name: a, training: {probe: {every: 1}}}]", "training.probe"),
        ("matrix={training.probe.every: [1, 2]}", "training.probe"),
        ("evaluation.transferability=true", "evaluation.transferability"),
    ],
)
def test_a_key_that_went_names_the_tag(config: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_overrides([config])
    (problem,) = caught.value.problems
    assert problem.endswith(f"unknown key; {KEYS[key]}")
    assert "v0.2-full" in KEYS[key]


def test_a_feature_of_the_lab_names_the_package() -> None:
    with pytest.raises(ConfigError, match=r"got 'surrogate'; allowed: .*; .*`pip install ./lab`"):
        load_overrides(["grouping.features=surrogate"])
    with pytest.raises(ConfigError, match=r"got 'gradient_affinity'; .*v0.2-full"):
        load_overrides(["grouping.features=gradient_affinity"])
    with pytest.raises(ConfigError, match="did you mean `label_name`"):
        load_overrides(["grouping.features=label_nam"])
    with pytest.raises(ConfigError, match=r"`grouping.method`: got 'surrogate'; allowed: [^;]*$"):
        load_overrides(["grouping.method=surrogate"])


def test_what_went_is_not_there() -> None:
    assert KEYS.keys().isdisjoint({*known_keys(), *SUITE_KEYS})
    assert MOVED.keys().isdisjoint(FEATURES)
