"""Texts of a run on a server are read by the user's own config, never by that of another run."""

from __future__ import annotations

from pathlib import Path

from mtlv.comparison.compare import ComparisonOptions, _config_of
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.settings import Suite, load_suite
from mtlv.settings.identity import settings_key
from mtlv.tracking.reader import StoredRun


def suite_of(path: str) -> Suite:
    """Suites of equal settings, whose documents are at different places."""
    suite = load_suite({}, {"data.name": "openi", "data.path": path})
    return Suite("e", suite.members, Path("mtlv.compare"))


def stored(**tags: str) -> StoredRun:
    tags = {f"mtlv.{key}": value for key, value in tags.items()}
    return StoredRun("1" * 32, "0", "run", "FINISHED", 0, "", {}, tags, {})


def test_runs_with_equal_settings_have_their_own_documents() -> None:
    suites = suite_of("/one"), suite_of("/two")
    key = settings_key(suites[0].members[0].settings)
    assert key == settings_key(suites[1].members[0].settings)
    by_uid = ComparisonOptions(RunQuery(suites, uids=("a", "b")))
    for uid, path in (("a", "/one"), ("b", "/two")):
        own = _config_of(by_uid, stored(settings=key, uid=uid))
        assert own is not None
        assert own.data.path == path
    by_settings = ComparisonOptions(RunQuery(suites[:1]))
    found = _config_of(by_settings, stored(settings=key, uid="c"))
    assert found is suites[0].members[0].settings
    assert _config_of(by_settings, stored(settings="other", uid="c")) is None
