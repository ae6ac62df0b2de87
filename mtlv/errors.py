"""Errors a user can cause. Each names the thing, what was got, what is allowed and the next step."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

LONGEST = 2000  # characters of what is allowed: names may come from a file, and any number of them


MASK = "***"
LOOKED_AT = 4000  # characters behind those shown, in which the end of a password is looked for
_HIDDEN = "user|password|passwd|pwd|token|access_token|api_?key|secret|signature|sig|odbc_connect"
_IN_ADDRESS = re.compile(r"(://)[^\s'\"/][^\s'\"]*@")
_IN_QUERY = re.compile(rf"(?i)((?:[?&;.\s]|^)(?:{_HIDDEN})=)[^&;\s'\"]+")


class MtlvError(Exception):
    """Base of all errors that a user can cause; the command line prints it and exits with code 2.

    `problems` holds a line for each thing that is wrong; most errors have one.

    Args:
        thing: what is wrong, with its name in backticks.
        got: what was found, if it says more than `thing`.
        allowed: what would have been right.
        then: the next step for the user.
    """

    def __init__(self, thing: str, *, got: object = None, allowed: object = None, then: str = "") -> None:
        parts = [thing.rstrip(".")]
        if got is not None:
            parts[0] += f" (got {shorten(got)})"
        if allowed is not None:
            parts.append(f"allowed: {shorten(allowed, LONGEST)}")
        if then:
            parts.append(then.rstrip("."))
        text = masked("; ".join(parts))
        super().__init__(text if text.endswith("?") else f"{text}.")
        self.problems: tuple[str, ...] = (str(self),)

    @classmethod
    def all_of(cls, errors: Sequence[MtlvError]) -> MtlvError:
        """One error that tells what several tell, each thing once."""
        problems = tuple(dict.fromkeys(line for error in errors for line in error.problems))
        if len(problems) == len(errors[0].problems):
            return errors[0]
        error = cls("\n".join(problems))
        error.problems = problems
        return error


class ConfigError(MtlvError):
    """A config that cannot be run. Holds every problem found, one line each, in `problems`."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(map(masked, problems))
        Exception.__init__(self, "\n".join(self.problems))


class PlanError(MtlvError):
    """A plan that is not a partition of its tasks, or mixes what cannot share a head."""


class DataError(MtlvError):
    """A corpus, file or label that cannot be used."""


class GroupingError(MtlvError):
    """A grouping that cannot be made from these tasks or settings."""


class EncoderError(MtlvError):
    """An encoder or tokenizer that is missing or cannot be used."""


class DeviceError(MtlvError):
    """A device that was asked for and is not there."""


class ClusterError(MtlvError):
    """A cluster that is not there, or cannot run the units."""


class TrackingError(MtlvError):
    """A tracking or result store that cannot be reached or written."""


class RefusedError(TrackingError):
    """What a tracking store refuses for good: to ask again changes nothing before somebody acts."""


class DamagedError(TrackingError):
    """A file of a store that is not what was written.

    Args:
        thing: as of every error.
        why: which file, and what is wrong with it.
        then: as of every error.
    """

    def __init__(self, thing: str, *, why: object = None, then: str = "") -> None:
        super().__init__(thing, got=why, then=then)
        self.why = shorten(str(why))


class TrainingError(MtlvError):
    """A unit that cannot go on training, such as a loss that is not finite."""


class NoRoomError(TrainingError):
    """A unit does not fit the device's memory, with what else is there."""


def masked(text: object) -> str:
    """`text` with the user and password of every address as `***`, also where they stand in its query."""
    text = _IN_ADDRESS.sub(rf"\1{MASK}@", str(text))
    return _IN_QUERY.sub(rf"\1{MASK}", text)


def shorten(value: object, limit: int = 120) -> str:
    """Text of `value` for a person: one line, at most `limit` characters, control characters escaped, no
    password of an address."""
    text = repr(value) if not isinstance(value, str) else value
    text = masked(text[: min(limit, len(text)) + LOOKED_AT])  # before it is cut, or half of one would stay
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """` did you mean X?` for the nearest known name, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{match[0]}`?" if match else ""
