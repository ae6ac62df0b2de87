"""Passwords and tokens of a tracking address: in no message, whatever goes wrong, and in no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.cli import main
from mtlv.errors import ConfigError, DataError, mask_credentials, shorten

SECRET = "s3cret-pa55"
AWAY = f"http://user:{SECRET}@127.0.0.1:1"
CONFIG = "experiment: e\ndata: {name: synthetic, documents: 60}\nencoder: tiny\ntraining: {epochs: 1}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"http://me:{SECRET}@host:5000/x",
        f"http://{SECRET}@host",
        f"postgresql+psycopg2://me:{SECRET}/{SECRET}@db/y failed",
        f"https://host/?token={SECRET}&x=1",
        f"https://host/?api_key={SECRET}",
        f"postgresql://db/y?password={SECRET}",
        f"connection failed: user=me password={SECRET} host=db",
        f"tracking.password={SECRET} on the command line",
        f"HTTPS://HOST/?TOKEN={SECRET}",
    ],
)
def test_masks(text: str) -> None:
    assert SECRET not in mask_credentials(text)
    assert mask_credentials(mask_credentials(text)) == mask_credentials(text)
    assert SECRET not in str(DataError("x", got=text, allowed=text, then=text))
    assert SECRET not in str(DataError(f"`{text}`"))
    assert SECRET not in "".join(ConfigError([text]).problems)
    assert SECRET not in shorten({"uri": text})


def test_half_of_a_password_is_not_shown() -> None:
    long = f"http://me:{'pw' * 100}@host"
    assert "pwpw" not in shorten(long)
    assert "pwpw" not in str(DataError("x", got=long))


def test_what_is_no_secret_stays() -> None:
    for text in ("sqlite:////home/me@work/mlflow.db", "me@example.org", "seed=3", "k=auto", "a user = x"):
        assert mask_credentials(text) == text


CALLS = {
    "unknown scheme": ["run", "c.yml", f"tracking.uri=ftp://user:{SECRET}@h/x"],
    "unknown scheme, checked": ["check", "c.yml", f"tracking.uri=ftp://user:{SECRET}@h/x"],
    "not an address": ["run", "c.yml", f"tracking.uri=http://user:{SECRET}@[::1"],
    "a port that is none": ["run", "c.yml", f"tracking.uri=http://user:{SECRET}@h:port"],
    "unknown key": ["run", "c.yml", f"tracking.password={SECRET}"],
    "unknown key in the address's place": ["check", "c.yml", f"tracking.url={AWAY}"],
    "no value": ["check", "c.yml", f"tracking.uri:{AWAY}"],
    "status": ["status", "c.yml", f"tracking.uri={AWAY}"],
    "compare": ["compare", "--uri", AWAY],
    "predict": ["predict", "0123456", "a text", "--uri", AWAY],
    "ui": ["ui", f"tracking.uri={AWAY}"],
    "ui without a store": ["ui", f"tracking.uri=sqlite:///no/x.db?password={SECRET}"],
    "cluster": ["cluster", "c.yml", f"tracking.uri={AWAY}", "architecture=gmtl", "grouping.metric=wrong"],
}


@pytest.mark.parametrize("call", CALLS)
def test_commands_that_fail(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yml").write_text(CONFIG)
    main(CALLS[call])
    said = "".join(capfd.readouterr())
    assert said
    assert SECRET not in said
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert kept == []


def test_the_users_own_config_is_quoted_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yml").write_text(f"{CONFIG}tracking: [{AWAY}]\nstore: {{url: '{AWAY}'}}\nseed: {AWAY}\n")
    assert main(["check", "c.yml"]) == 2
    said = capfd.readouterr().err
    assert "`tracking`" in said
    assert "http://***@" in said
    assert SECRET not in said
