"""YAML to plain values: YAML 1.2's scalars, lines, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings.text import MAX_BYTES, parse, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2e-5", 2e-5),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-1.25", -1.25),
        ("3", 3),
        ("010", 10),
        ("0x1f", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("off", "off"),
        ("null", None),
        ("~", None),
        ("", None),
        ("12:30", "12:30"),
        ("2020-01-01", "2020-01-01"),
        ("'10'", "10"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_scalars_are_read_as_yaml_1_2(text: str, value: object) -> None:
    got = parse(f"a: {text}", "x").value["a"]
    assert got == value
    assert type(got) is type(value)


def test_places_name_file_and_line() -> None:
    document = parse("a:\n  b: 1\n  c:\n    - 5\n    - 6\n", "x.yml")
    assert document.place(("a", "b")) == "x.yml:2"
    assert document.place(("a", "c", 1)) == "x.yml:5"
    assert document.place(("a", "c", 1, "gone", "deeper")) == "x.yml:5"
    assert parse("", "x.yml").place(("a",)) == "x.yml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2", "x.yml:1:9: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n b: 2", "x.yml:2:3: not YAML: mapping values are not allowed here"),
        (
            "a:\n\t- c",
            "found character '\\t' that cannot start any token; indent with spaces, not tabs",
        ),
        ("a: 1\nb: 2\na: 3", "x.yml:3: `a` is given twice (first in line 1); keep one"),
        ("1: a", "x.yml:1: a key is not text (got 1); put it in quotes"),
        ("? [1, 2]\n: a", "x.yml:1: a key is not text (got a list or mapping); put it in quotes"),
        ("a: !!python/object:os.system {}", "x.yml:1: unknown tag tag:yaml.org,2002:python/object:os.system"),
        ("a: !local 3", "x.yml:1: unknown tag !local; write plain values"),
        ("a: !!int ten", "x.yml:1: not a number (got ten)"),
        ("--- 1\n--- 2", "x.yml:2:1: not YAML: but found another document"),
        ("a: *gone", "x.yml:1:4: not YAML: found undefined alias 'gone'"),
        ("a: &x [*x]", "x.yml:1: nested too deeply"),
        ("a: " + "[" * 30 + "]" * 30, "x.yml:1: nested too deeply"),
        ("a: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a: \x07", "x.yml:1: not YAML: a character that is not allowed (code 7)"),
        ("a: " + "9" * 5000, "x.yml:1: not a number (got 999"),
        ("a: 0x" + "f" * 5000, "x.yml:1: not a number (got 0xfff"),  # Python reads it, but does not write it
        ("".join(f"{' ' * i}a:\n" for i in range(1000)), "nested too deeply"),
        (r'a: "\ud800"', r"x.yml:1: NUL, or half of a surrogate pair, which is no character (got \ud800)"),
        (r'"\ud800": a', r"x.yml:1: NUL, or half of a surrogate pair, which is no character (got \ud800)"),
        (r'a: "b\0c"', r"x.yml:1: NUL, or half of a surrogate pair, which is no character (got b\x00c)"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "x.yml")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_aliases_that_multiply_are_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="its aliases repeat too much"):
        parse("\n".join(levels), "x.yml")


def test_all_doubled_keys_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("a: 1\na: 2\nb: {c: 1, c: 2}", "x.yml")
    assert len(caught.value.problems) == 2


def test_refuses_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yml: no such file; give the path of a config"):
        read(tmp_path / "gone.yml")
    with pytest.raises(ConfigError, match="is a folder; give the path of a config file in it"):
        read(tmp_path)
    latin = tmp_path / "latin.yml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yml:2: not UTF-8 \(byte 11\); save the file as UTF-8"):
        read(latin)
    large = tmp_path / "large.yml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than 250000 bytes"):
        read(large)
    with pytest.raises(ConfigError, match="cannot be read"):
        read(Path("a\0b"))


def test_reads_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "bom.yml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(path).value == {"a": 1}
