"""Write `docs/api.md` from the docstrings of `mtlv`: python docs/make_api.py"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import mtlv  # noqa: E402 - from this checkout

PAGE = ROOT / "docs" / "api.md"
ORDER = (
    ("Corpora", ("load", "from_dataframe", "from_dataset", "Corpus")),
    ("Groups", ("cluster", "TaskGroups")),
    ("Training", ("train", "run", "Result", "SuiteRun")),
    ("Trained models", ("Model", "load_model", "TextClassifier")),
    ("Comparison", ("compare", "ComparisonPage")),
)
START = """\
# Python API

<!-- Made by docs/make_api.py from the docstrings: edit those. -->

```python
import mtlv

corpus = mtlv.load("openi", path="indiana_reports.csv")
groups = mtlv.cluster(corpus, encoder="minilm")
groups.plot_elbow()
result = mtlv.train(corpus, architecture="gmtl", groups=groups, epochs=10, learning_rate=2e-4)
result.to_frame()
result.predict(["The heart is enlarged."])
```

- **Settings** are keyword arguments, named by the last part of their key: `epochs=3` is `training.epochs`.
  If several keys end in the same word, add the section: `encoder__features="cls"`. A section is a
  mapping: `lora={"rank": 8}` is `encoder.lora`.
- **Errors** are `mtlv.errors.MtlvError` and its subclasses, with the messages of the command.
- **Files** are written to the folder that you name. Without one, `train` and `run` write `mtlv-store` and
  `mlflow.db` to the working folder, and `compare` writes `mtlv-compare`. `load`, `from_dataframe`,
  `from_dataset` and `cluster` write nothing. A corpus in memory is saved to `corpora/` in the store when it
  is trained on.
- **Progress** is shown as a bar. Pass `callback=` to receive the events of `mtlv.events` instead
  (`mtlv.events.ignore` shows nothing).
- **Notebooks** show a corpus, groups, results and comparisons as tables or pages.
"""


def page() -> str:
    """Return the page."""
    parts = [START]
    for title, names in ORDER:
        parts.append(f"## {title}\n")
        for name in names:
            thing = getattr(mtlv, name)
            parts += (_class if inspect.isclass(thing) else _function)(name, thing)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def _function(name: str, thing: Any) -> Iterator[str]:
    yield f"### `mtlv.{name}`\n"
    yield f"```python\nmtlv.{name}{_folded(_signature(thing))}\n```\n"
    yield _text(thing)


def _signature(thing: Any) -> str:
    """Return the signature without `self` and without quotes around annotations."""
    text = re.sub(r"""(: |-> )(['"])(.*?)\2(?=[,) ])""", r"\1\3", f"{inspect.signature(thing)} ")
    return text.strip().replace("(self, ", "(").replace("(self)", "()")


def _class(name: str, thing: type) -> Iterator[str]:
    yield f"### `mtlv.{name}`\n"
    yield f"{(inspect.getdoc(thing) or '').split(chr(10) * 2 + 'Args:')[0]}\n"  # users do not construct them
    rows = []
    for key, value in vars(thing).items():
        inner = value.fget if isinstance(value, property) else value
        if key.startswith("_") or not inspect.isfunction(inner):
            continue
        call = "" if isinstance(value, property) else _signature(inner).split(" ->")[0]
        first = (inspect.getdoc(inner) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{key}{call.replace('|', chr(92) + '|')}` | {first} |")
    yield "\n".join(["| | |", "| --- | --- |", *rows, ""])


def _folded(signature: str) -> str:
    """Return the signature, with one argument per line if it is long."""
    if len(signature) < 80:
        return signature
    inner, _, returns = signature[1:].rpartition(") ->")
    depth, parts, start = 0, [], 0
    for at, letter in enumerate(inner):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append(inner[start:at].strip())
            start = at + 1
    lines = "".join(f"    {part},\n" for part in [*parts, inner[start:].strip()])
    return f"(\n{lines}) ->{returns}"


def _text(thing: Any) -> str:
    """Return a docstring as Markdown: its sections become lists and code blocks."""
    out: list[str] = []
    section = ""
    for line in (inspect.getdoc(thing) or "").split("\n"):
        if line in ("Args:", "Raises:", "Returns:", "Example:"):
            section = line[:-1]
            out += ["", f"**{section}**" if section != "Args" else "**Arguments**", ""]
            out += ["```python"] if section == "Example" else []
        elif section == "Example":
            out.append(line.removeprefix("    "))
        elif section and line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(": ")
            out.append(f"- `{name}`: {rest}" if rest else f"- {name}")
        elif section and line.strip():
            out.append(f"  {line.strip()}")
        else:
            out.append(line)
    return "\n".join([*out, *(["```"] if section == "Example" else []), ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
