"""From an address to the client of its object store, with what must be installed for it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from mtlv.errors import ConfigError, masked, shorten
from mtlv.store.remote.objects import Objects, scheme
from mtlv.store.remote.objects_fsspec import FsspecObjects
from mtlv.store.remote.objects_s3 import S3Objects

PACKAGES: Mapping[str, tuple[str, str]] = {
    "s3": ("boto3", "pip install 'mtlv[s3]'"),
    "gs": ("gcsfs", "pip install gcsfs"),
    "gcs": ("gcsfs", "pip install gcsfs"),
    "az": ("adlfs", "pip install adlfs"),
    "abfs": ("adlfs", "pip install adlfs"),
    "abfss": ("adlfs", "pip install adlfs"),
}
"""By scheme, what must be installed besides fsspec, and how."""


def open_objects(uri: str) -> Objects:
    """The objects below an address. Nothing is asked of it yet.

    Raises:
        ConfigError: its scheme is not known, or needs what is not installed.
        Trouble: it cannot be opened, such as without credentials.
    """
    check_scheme(uri)
    if scheme(uri) == "s3":
        return S3Objects(uri)
    return FsspecObjects(uri)


def check_scheme(uri: str) -> None:
    """Raise where an address cannot be used with what is installed; nothing is asked of it.

    Raises:
        ConfigError: see above.
    """
    found = scheme(uri)
    package, how = PACKAGES.get(found, ("fsspec", "pip install fsspec"))
    if importlib.util.find_spec(package) is None:
        raise ConfigError([f"`store.uri`: `{masked(uri)}` needs the package `{package}`; {how}"])
    if found in PACKAGES:
        return
    from fsspec.registry import known_implementations, registry

    if found not in {*known_implementations, *registry}:
        raise ConfigError(
            [
                f"`store.uri`: unknown scheme (got {shorten(found)}); allowed: a folder, s3://BUCKET/PREFIX, "
                "gs://BUCKET/PREFIX, or another address that fsspec knows"
            ]
        )
