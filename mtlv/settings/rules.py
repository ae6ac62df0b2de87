"""Rules about several keys together; the rules themselves are in `checks.py` and `model_checks.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtlv.settings.schema import Settings

Find = Callable[[Settings], str]


@dataclass(frozen=True)
class Check:
    """A check for one contradiction.

    Args:
        keys: dotted keys it reads; messages name the first one.
        find: function of settings that returns the problem, or an empty text.
    """

    keys: tuple[str, ...]
    find: Callable[[Settings], str]


@dataclass(frozen=True)
class Unread:
    """A check for a key that was set but is not read by any member of the suite.

    Args:
        keys: the key, followed by the keys that determine whether it is read.
        is_set: whether the key is set in settings.
        is_read: whether the key is used with these settings.
        text: advice for the user.
    """

    keys: tuple[str, ...]
    is_set: Callable[[Settings], bool]
    is_read: Callable[[Settings], bool]
    text: str


def register(checks: list[Check], *keys: str) -> Callable[[Find], Find]:
    """Add the decorated function to `checks`."""

    def add(find: Find) -> Find:
        checks.append(Check(keys, find))
        return find

    return add
