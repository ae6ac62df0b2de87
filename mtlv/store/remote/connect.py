"""Creates the client of an object store from its address, and checks the required packages."""

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
"""Packages required besides fsspec, by scheme, and how to install them."""


def open_objects(uri: str) -> Objects:
    """Return the objects below an address, without accessing it yet.

    Raises:
        ConfigError: its scheme is unknown, or a required package is not installed.
        ObjectStoreError: it cannot be opened, for example without credentials.
    """
    check_scheme(uri)
    if scheme(uri) == "s3":
        return S3Objects(uri)
    return FsspecObjects(uri)


def check_scheme(uri: str) -> None:
    """Raise an error if the packages for an address are not installed; nothing is accessed.

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
                "gs://BUCKET/PREFIX, or another address that fsspec supports"
            ]
        )
