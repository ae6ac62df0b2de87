"""Read a config file and overrides as a suite of checked settings; all problems are reported together."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mtlv.errors import ConfigError, mask_credentials, shorten
from mtlv.settings.checks import contradictions, unread
from mtlv.settings.draft import SUITE_KEYS, Change, Draft, Origin, Variant, defaults, dotted_key
from mtlv.settings.expand import flat_changes, suite_keys, variants
from mtlv.settings.members import Member, Unnamed, collapse, name_members
from mtlv.settings.model_schema import AUTO, usual_rate
from mtlv.settings.problems import Problem, from_validation, sentence, unknown
from mtlv.settings.schema import Settings, TrainingSettings
from mtlv.settings.stages import fill_stages, stage_problems
from mtlv.settings.suite_schema import SearchSettings
from mtlv.settings.text import KeyPath, YamlDocument, parse, read

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLES = (PACKAGE / "examples", PACKAGE.parent / "config")
"""Where examples are: in an installed package (setup.py copies them), and in a clone."""
EXPERIMENT = "mtlv"
COMMAND_LINE = "{} on the command line"


@dataclass(frozen=True)
class Suite:
    """The content of a config."""

    experiment: str  # `mtlv` if the config names none
    members: tuple[Member, ...]  # at least one, with different names and settings
    path: Path  # the config file
    notes: tuple[str, ...] = ()  # notes for the user, for example about repeated members
    search: SearchSettings | None = None  # settings of the search for the best member; None runs all
    overrides: tuple[str, ...] = ()  # `key=value` texts that took precedence over the config
    parent: str | None = None  # id of the user's run whose children the runs become

    def command(self, name: str) -> str:
        """Return the command line of command `name` for this suite, for a message: without passwords."""
        return shlex.join(["mtlv", name, str(self.path), *map(mask_credentials, self.overrides)])


Overrides = Sequence[str] | Mapping[str, Any]
"""`key=value` texts with YAML values, or values by dotted key."""


FindProblems = Callable[[Settings, Sequence[str]], Iterable[Problem]]
"""Function of settings, and of the keys that are wrong by themselves, that finds further problems."""


def load_suite(
    config: Path | str | Mapping[str, Any], overrides: Overrides = (), further: FindProblems | None = None
) -> Suite:
    """Read a config.

    Args:
        config: the YAML file or the name of an example (`quickstart.yml`), or its content.
        overrides: values that take precedence over the config.
        further: finds further problems, of several values together and of data. It is called only if other
            problems were found; otherwise the check of the suite finds them.

    Raises:
        ConfigError: there are problems; contains every problem of the config and the overrides, one per line.
    """
    if isinstance(config, Mapping):
        return _suite(YamlDocument("config", as_yaml(config), {}), overrides, Path(), further)
    path = Path(config)
    file = find_config(path)
    document = read(file, str(path))
    if document.value is None and not overrides:
        raise ConfigError(
            [
                f"{path}: the config is empty; write at least `data: {{name: synthetic}}` (`mtlv data list` "
                "has the names), or have one made for a table: `mtlv init TABLE`"
            ]
        )
    return _suite(document, overrides, path, further, file.parent)


def as_yaml(value: Any) -> Any:
    """Convert a Python value to its YAML equivalent: tuples and arrays to lists, paths to text."""
    if isinstance(value, Mapping):
        return {str(key): as_yaml(inner) for key, inner in value.items()}
    if hasattr(value, "tolist"):  # an array or scalar of NumPy
        return value.tolist()
    if isinstance(value, list | tuple):
        return [as_yaml(inner) for inner in value]
    return str(value) if isinstance(value, os.PathLike) else value


def load_overrides(overrides: Overrides) -> Suite:
    """Return the defaults with overrides, as for an empty config.

    Raises:
        ConfigError: as for `load_suite`.
    """
    return _suite(YamlDocument("defaults.yml", None, {}), overrides, Path())


def _suite(
    document: YamlDocument,
    overrides: Overrides,
    path: Path,
    further: FindProblems | None = None,
    folder: Path = Path(),
) -> Suite:
    """Return the suite of a document, whose relative paths are relative to `folder`."""
    if document.value is not None and not isinstance(document.value, dict):
        raise ConfigError([f"{document.place(())}: a config is a mapping of keys such as `training`"])
    base = Draft()
    base.apply_file(document.value or {}, Origin(document.place, folder))
    changes, problems = _overrides(overrides)
    for change in changes:
        base.apply(change)
    keys, wrong = suite_keys(base, document.name)
    member_variants, more = variants(base, keys, document.name, flat_changes(changes).keys())
    problems += [*wrong, *more]
    rates: list[str] = []
    members = _members(base, member_variants, changes, file=document.name, problems=problems, notes=rates)
    if problems:
        problems += [
            problem.line(member.places, document.name)
            for member in members
            for problem in (further(member.settings, member.wrong) if further else ())
        ]
        raise ConfigError(sorted(dict.fromkeys(problems), key=_line_number))
    unique, notes = collapse(name_members(members))
    typed = () if isinstance(overrides, Mapping) else tuple(overrides)
    return Suite(
        unique[0].settings.experiment or EXPERIMENT,
        tuple(unique),
        path,
        (*notes, *dict.fromkeys(rates)),
        keys.search,
        typed,
    )


def default_settings() -> Settings:
    """Return the defaults."""
    values = defaults()
    for key in SUITE_KEYS:
        del values[key]
    return Settings.model_validate(values)


def _overrides(overrides: Overrides) -> tuple[list[Change], list[str]]:
    """Return overrides as changes, and problems of their form."""
    if isinstance(overrides, Mapping):
        origin = Origin(lambda _: "arguments", Path())
        return [Change(key, as_yaml(value), origin) for key, value in overrides.items()], []
    changes, problems = [], []
    for text in overrides:
        place = COMMAND_LINE.format(shorten(text, 80))
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            problems.append(f"{place}: not key=value; write for example training.epochs=3")
            continue
        try:
            parsed = parse(value, place).value
        except ConfigError as error:
            # Remove the line number, which has no meaning here.
            problems += [f"{place}:{line[len(place) :].lstrip(':0123456789')}" for line in error.problems]
            continue
        origin = Origin(lambda _, place=place: place, Path())  # type: ignore[misc]
        changes.append(Change(key.strip(), parsed, origin))
    return changes, problems


def _members(
    base: Draft,
    member_variants: Sequence[Variant],
    overrides: Sequence[Change],
    *,
    file: str,
    problems: list[str],
    notes: list[str],
) -> list[Unnamed]:
    """Return the settings of each member. Problems are appended to `problems`, notes to `notes`."""
    drafts, members = [], []
    winning = flat_changes(overrides)
    for variant in member_variants:
        draft = base.copy()
        for change in (*variant.changes, *overrides):
            draft.apply(change)
        problems += _settle(draft, file)
        _resolve_paths(draft)
        if draft.values["predictions"] is not None:
            shape = draft.values["architecture"] | {"name": "imported", "private_layers": 0}
            draft.values |= {"architecture": shape, "stages": None}
        places = draft.places()  # before stages have values that were written elsewhere
        fill_stages(draft)
        settings, lines, wrong = _validate(draft, file)
        settings, note = with_rates(settings)
        notes.extend([note] if note else [])
        problems += lines
        of_stages = stage_problems(settings, wrong) if settings.stages else ()
        for key, text in (*contradictions(settings, wrong), *of_stages):
            problems.append(_contradiction(draft, key, text, file=file))
        drafts.append(draft)
        changes = {k: x for k, x in flat_changes(variant.changes).items() if k not in winning}
        members.append(Unnamed(variant.name, settings, changes, places, tuple(wrong), variant.tuned))
    wrong_keys = [key for member in members for key in member.wrong]
    for i, key, text in unread([member.settings for member in members], wrong_keys):
        problems.append(_contradiction(drafts[i], key, text, file=file))
    return members


def with_rates(settings: Settings) -> tuple[Settings, str]:
    """Replace `training.learning_rate: auto` by a number, also in stages; also return a note.

    The note is empty if no rate is `auto`.
    """
    lora, name = settings.encoder.lora, settings.encoder.name
    rate = usual_rate(name, adapters=lora is not None and lora.frozen)

    def rated(training: TrainingSettings) -> TrainingSettings:
        auto = training.learning_rate == AUTO
        return training.model_copy(update={"learning_rate": rate}) if auto else training

    stages = settings.stages and tuple(
        stage.model_copy(update={"training": rated(stage.training)}) for stage in settings.stages
    )
    changed = settings.model_copy(update={"training": rated(settings.training), "stages": stages})
    note = f"learning rate {rate:g}, for `{shorten(name)}` (`training.learning_rate: auto`)"
    return changed, note if changed != settings else ""


def _line_number(problem: str) -> float:
    """Return the line number of a problem in the file; infinity for the command line, to sort it last."""
    match = re.search(r":(\d+): ", problem)
    return int(match[1]) if match else math.inf


def _contradiction(draft: Draft, key: str, text: str, *, file: str) -> str:
    parts = (re.fullmatch(r"(\w+)(?:\[(\d+)\])?", part) for part in key.split("."))
    path = [
        step for part in parts if part for step in (part[1], part[2] and int(part[2])) if step is not None
    ]
    return sentence(draft.place(tuple(path), file), key, then=text)


def _settle(draft: Draft, file: str) -> list[str]:
    """Remove the keys of a suite from a draft, and report unknown keys of overrides below them."""
    lines = []
    for key in SUITE_KEYS:
        if key not in draft.values:
            lines.append(unknown(draft.place((key,), file), (key,), ()))
        draft.values.pop(key, None)
    return lines


def _resolve_paths(draft: Draft) -> None:
    """Resolve relative paths from the config's folder, or from the working folder on the command line."""
    data, sources = draft.values["data"], draft.get(("data", "sources"))
    for key in ("path", "parents"):
        data[key] = _resolve_path(draft, ("data", key), data[key])
    draft.values["predictions"] = _resolve_path(draft, ("predictions",), draft.values["predictions"])
    if isinstance(sources, list):  # a new list, because the members of a run share the one that was written
        data["sources"] = [
            one | {"path": _resolve_path(draft, ("data", "sources"), one["path"])}
            if isinstance(one, dict) and "path" in one
            else one
            for one in sources
        ]
    for path in (("encoder", "name"), ("grouping", "encoder")):
        value = draft.get(path)
        if isinstance(value, str) and value.startswith(("./", "../", "~", "/")):  # else an alias or a hub id
            place = _resolve_path(draft, path, value)
            if not place.startswith((os.sep, "..")):
                place = os.path.join(".", place)  # without the dot, it would be used as a hub id
            draft.values[path[0]][path[1]] = place


def _resolve_path(draft: Draft, path: KeyPath, value: Any) -> Any:
    """Resolve the path in a value that was written at `path`; return any other value unchanged."""
    if not isinstance(value, str) or not value or "\0" in value:
        return value
    origin, _ = draft.origin(path)
    return os.path.normpath((origin.folder if origin else Path()) / os.path.expanduser(value))


def _validate(draft: Draft, file: str) -> tuple[Settings, list[str], list[str]]:
    """Return the settings of a draft, its problems, and the wrong keys.

    The settings have defaults at the wrong keys, so that the other keys can be checked.
    """
    try:
        return Settings.model_validate(draft.values).each_stage[-1], [], []
    except ValidationError as error:
        lines, wrong = from_validation(error, draft, file)
    mended, untouched = draft.copy(), defaults()
    for path in wrong:
        _mend(mended.values, path, untouched)
    return Settings.model_validate(mended.values), lines, [dotted_key(path) for path in wrong]


def _mend(values: dict, path: KeyPath, default: Any) -> None:
    """Set the value at `path` to its default, or remove the key if it has none."""
    holder: Any = values
    for part in path[:-1]:
        if part not in default or not isinstance(default[part], dict) or not default[part]:
            holder[part] = default[part]
            return
        default, holder = default[part], holder[part]
    last = path[-1]
    if last in default:
        holder[last] = default[last]
    else:
        holder.pop(last, None)


def find_config(path: Path) -> Path:
    """Return `path` if the file exists, otherwise the example of that name.

    Example:
        >>> find_config(Path("quickstart.yml")).read_text().splitlines()[0]
        '# mtlv run config/quickstart.yml'
    """
    if os.path.exists(path) or path.parent not in (Path(), Path("config")):
        return path
    files = [folder / path.name for folder in EXAMPLES]
    return next((file for file in files if os.path.isfile(file)), path)  # False for names that are too long
