"""Errors that a user can cause, with the problem, the value, what is allowed, and the next step."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

MAX_ALLOWED_LETTERS = 2000  # maximum characters of `allowed`, which may be a long list of names from a file


MASK = "***"
MAX_PASSWORD_LETTERS = 4000  # further characters in which the end of a password is searched
_HIDDEN = "user|password|passwd|pwd|token|access_token|api_?key|secret|signature|sig|odbc_connect"
_IN_ADDRESS = re.compile(r"(://)[^\s'\"/][^\s'\"]*@")
_IN_QUERY = re.compile(rf"(?i)((?:[?&;.\s]|^)(?:{_HIDDEN})=)[^&;\s'\"]+")


class MtlvError(Exception):
    """Base of all errors that a user can cause; the command line prints them and exits with code 2.

    `problems` has a line for each problem; most errors have one.

    Args:
        thing: description of the problem, with names in backticks.
        got: the actual value, if it is not in `thing`.
        allowed: allowed values.
        then: next step for the user.
    """

    def __init__(self, thing: str, *, got: object = None, allowed: object = None, then: str = "") -> None:
        parts = [thing.rstrip(".")]
        if got is not None:
            parts[0] += f" (got {shorten(got)})"
        if allowed is not None:
            parts.append(f"allowed: {shorten(allowed, MAX_ALLOWED_LETTERS)}")
        if then:
            parts.append(then.rstrip("."))
        text = mask_credentials("; ".join(parts))
        super().__init__(text if text.endswith("?") else f"{text}.")
        self.problems: tuple[str, ...] = (str(self),)

    @classmethod
    def all_of(cls, errors: Sequence[MtlvError]) -> MtlvError:
        """Combine several errors into one, without duplicate problems."""
        problems = tuple(dict.fromkeys(line for error in errors for line in error.problems))
        if len(problems) == len(errors[0].problems):
            return errors[0]
        error = cls("\n".join(problems))
        error.problems = problems
        return error


class ConfigError(MtlvError):
    """An invalid config. All problems are in `problems`, one line each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(map(mask_credentials, problems))
        Exception.__init__(self, "\n".join(self.problems))


class PlanError(MtlvError):
    """A plan that is not a partition of its tasks, or combines tasks that cannot share a head."""


class DataError(MtlvError):
    """A corpus, file or label that cannot be used."""


class GroupingError(MtlvError):
    """A grouping that cannot be made from these tasks or settings."""


class EncoderError(MtlvError):
    """An encoder or tokenizer that is missing or cannot be used."""


class DeviceError(MtlvError):
    """A requested device that is not available."""


class ClusterError(MtlvError):
    """A cluster that is not available or cannot run the units."""


class TrackingError(MtlvError):
    """A tracking or result store that cannot be reached or written."""


class RefusedError(TrackingError):
    """A request that a tracking store rejects permanently: a retry would not help."""


class DamagedError(TrackingError):
    """A file of a store that is damaged; `why` says which file, and its damage."""

    def __init__(self, thing: str, *, why: object = None, then: str = "") -> None:
        super().__init__(thing, got=why, then=then)
        self.why = shorten(str(why))


class TrainingError(MtlvError):
    """A unit that cannot continue training, for example because of a loss that is not finite."""


class NoRoomError(TrainingError):
    """A unit that does not fit in the device's memory, together with other processes."""


def mask_credentials(text: object) -> str:
    """Return `text` with the user and password of every address as `***`, also in its query."""
    text = _IN_ADDRESS.sub(rf"\1{MASK}@", str(text))
    return _IN_QUERY.sub(rf"\1{MASK}", text)


def shorten(value: object, limit: int = 120) -> str:
    """Return readable text of `value`.

    It is one line of at most `limit` characters, with control characters escaped and without the password of
    an address.
    """
    text = repr(value) if not isinstance(value, str) else value
    text = mask_credentials(
        text[: min(limit, len(text)) + MAX_PASSWORD_LETTERS]
    )  # before truncation, which could split a password
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `did you mean X?` for the nearest known name, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{match[0]}`?" if match else ""
