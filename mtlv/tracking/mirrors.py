"""Mirrors: trackers of other packages, which get the same calls as the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from mtlv.errors import shorten
from mtlv.tracking.tracker import Tracker


def mirrored(
    tracker: Tracker, mirrors: Mapping[str, Callable[[], Tracker]], warn: Callable[[str], None]
) -> Tracker:
    """Return a tracker that repeats each call on mirrors, which are made now; run ids are those of `tracker`.

    An error of a mirror stops neither training nor other trackers: `warn` gets it, and it is left out.
    """
    return cast(Tracker, _Mirrored(tracker, mirrors, warn)) if mirrors else tracker


class _Mirrored:
    def __init__(
        self, tracker: Tracker, mirrors: Mapping[str, Callable[[], Tracker]], warn: Callable[[str], None]
    ) -> None:
        self._tracker, self._warn = tracker, warn
        self._mirrors: dict[str, Any] = {}
        for name, make in mirrors.items():
            if (mirror := self._try(name, make)) is not None:
                self._mirrors[name] = mirror

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self._tracker, method)(*args, **kwargs)
        for name, mirror in list(self._mirrors.items()):
            self._try(name, partial(_call_method, mirror, method, *args, **kwargs))
        return answer

    def _try(self, name: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:  # another package's code
            self._mirrors.pop(name, None)
            problem = shorten(f"{type(error).__name__}: {error}")
            self._warn(
                f"the tracker `{name}` of `mtlv.trackers` failed and is left out from here on ({problem})"
            )


def _call_method(mirror: Tracker, method: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(mirror, method)(*args, **kwargs)
