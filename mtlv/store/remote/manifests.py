"""Finished units in a shared store: first their files, then one small object with their checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtlv.disk import digest_of
from mtlv.foreign import parse_json
from mtlv.store.remote.client import ObjectClient

FOLDER, FILES = "done", "units"


@dataclass(frozen=True)
class Manifest:
    """Files of a finished unit."""

    at: str  # folder of its files, named by their content, so that two nodes never write to the same one
    files: Mapping[str, str]  # SHA-256 of each file by name

    def as_json(self) -> bytes:
        """Return the stored form."""
        return json.dumps({"at": self.at, "files": dict(self.files)}, indent=1).encode()

    @classmethod
    def of(cls, content: bytes) -> Manifest:
        """Read the result of `as_json`.

        Raises:
            ValueError: the content is invalid.
        """
        try:
            found = parse_json(content)
            return cls(str(found["at"]), {str(name): str(sum) for name, sum in found["files"].items()})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("it is not a manifest of a unit") from error


class Manifests:
    """The finished units at an address. A unit exists only if its manifest exists."""

    def __init__(self, client: ObjectClient) -> None:
        self.client = client
        self._known: dict[str, Manifest] = {}

    def keys(self) -> Iterable[str]:
        """Return the keys of all finished units, with one listing."""
        return (Path(name).stem for name in self.client.names(FOLDER))

    def look(self, key: str) -> Manifest | None:
        """Return the current manifest of a unit, or None.

        Raises:
            DamagedError: it was changed.
            TrackingError: it cannot be read.
        """
        self._known.pop(key, None)
        return self.of(key)

    def of(self, key: str) -> Manifest | None:
        """Return the manifest of a unit, or None; existing ones are cached."""
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
        """Upload a unit's files; the first of several nodes wins.

        Returns:
            The valid manifest, and whether it is of these files.

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
        """Download one file of a unit into a folder, atomically.

        Raises:
            DamagedError: it is missing or was changed.
            TrackingError: it cannot be read.
        """
        remote_name = f"{manifest.at}/{name}"
        if not self.client.download(remote_name, folder / name, manifest.files[name]):
            raise self.client.broken(name_of(key), f"it lists `{name}`, which does not exist")

    def set_aside(self, key: str) -> None:
        """Remove a unit by deleting its manifest; its files stay."""
        self._known.pop(key, None)
        self.client.delete([name_of(key)])

    def forget(self, key: str) -> None:
        """Remove a unit: first its manifest, then its files."""
        self.set_aside(key)
        self.client.delete(self.client.names(f"{FILES}/{key}"))


def name_of(key: str) -> str:
    """Return the name of a unit's manifest."""
    return f"{FOLDER}/{key}.json"
