"""Rules about several keys together; the rules themselves are in `checks.py` and `model_checks.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Check:
    """A check for one contradiction."""

    keys: tuple[str, ...]  # dotted keys it reads; messages name the first one
    find: Callable[[Settings], str | int]  # returns what is wrong, or whether something is
    text: str = "{}"  # the problem; `{}` stands for what is wrong


@dataclass(frozen=True)
class Unread:
    """A check for a key that was set but is not read by any member of the suite."""

    keys: tuple[str, ...]  # the key, followed by the keys that determine whether it is read
    is_set: Callable[[Settings], bool]  # whether the key is set in settings
    is_read: Callable[[Settings], bool]  # whether the key is used with these settings
    text: str  # advice for the user
