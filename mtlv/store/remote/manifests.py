"""Finished units in a shared store: their files first, then one small object with their checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtlv.foreign import parse_json
from mtlv.store.remote.client import ObjectClient, digest_of

FOLDER, FILES = "done", "units"
ENDING = ".json"


@dataclass(frozen=True)
class Manifest:
    """What a finished unit consists of.

    Args:
        at: folder of its files; its name is of their contents, so that two nodes never write the same.
        files: SHA-256 by the name of each file.
    """

    at: str
    files: Mapping[str, str]

    def as_json(self) -> bytes:
        """To be kept."""
        return json.dumps({"at": self.at, "files": dict(self.files)}, indent=1).encode()

    @classmethod
    def of(cls, content: bytes) -> Manifest:
        """What `as_json` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            found = parse_json(content)
            return cls(str(found["at"]), {str(name): str(sum) for name, sum in found["files"].items()})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("it is no manifest of a unit") from error


class Manifests:
    """The finished units at an address. A unit is there only when its manifest is.

    Args:
        client: the address.
    """

    def __init__(self, client: ObjectClient) -> None:
        self.client = client
        self._known: dict[str, Manifest] = {}

    def keys(self) -> Iterable[str]:
        """Of all finished units; one listing."""
        return (Path(name).stem for name in self.client.names(FOLDER))

    def look(self, key: str) -> Manifest | None:
        """The manifest of a unit as it is now.

        Raises:
            DamagedError: it is not what was written.
            TrackingError: it cannot be read.
        """
        self._known.pop(key, None)
        return self.of(key)

    def of(self, key: str) -> Manifest | None:
        """The manifest of a unit, asked for once where there is one."""
        if key not in self._known:
            content = self.client.get(name_of(key))
            if content is None:
                return None
            try:
                self._known[key] = Manifest.of(content)
            except ValueError as error:
                raise self.client.broken(name_of(key), str(error)) from error
        return self._known[key]

    def publish(self, key: str, folder: Path) -> tuple[Manifest, bool]:
        """Hand over a unit's files; the first of several nodes has it.

        Returns:
            The manifest that counts, and whether it is of these files.

        Raises:
            TrackingError: they cannot be written.
        """
        files = {
            path.name: digest_of(path) for path in sorted(folder.iterdir()) if not path.name.startswith(".")
        }
        text = json.dumps(files, sort_keys=True).encode()
        ours = Manifest(f"{FILES}/{key}/{hashlib.sha256(text).hexdigest()[:16]}", files)
        for name in files:
            self.client.upload(f"{ours.at}/{name}", folder / name)
        if not self.client.create(name_of(key), ours.as_json()):
            theirs = self.look(key)
            if theirs is not None and theirs.at != ours.at:
                self.client.delete(f"{ours.at}/{name}" for name in files)
                return theirs, False
        self._known[key] = ours
        return ours, True

    def bring(self, key: str, manifest: Manifest, name: str, folder: Path) -> None:
        """Fetch one file of a unit into a folder, whole or not at all.

        Raises:
            DamagedError: it is not there, or not what was written.
            TrackingError: it cannot be read.
        """
        remote_name = f"{manifest.at}/{name}"
        if not self.client.download(remote_name, folder / name, manifest.files[name]):
            raise self.client.broken(name_of(key), f"it names `{name}`, which is not there")

    def set_aside(self, key: str) -> None:
        """A unit is not there any more: its manifest goes, its files stay."""
        self._known.pop(key, None)
        self.client.delete([name_of(key)])

    def forget(self, key: str) -> None:
        """A unit is not there any more: its manifest goes first."""
        self.set_aside(key)
        self.client.delete(self.client.names(f"{FILES}/{key}"))


def name_of(key: str) -> str:
    """Name of a unit's manifest."""
    return f"{FOLDER}/{key}{ENDING}"
