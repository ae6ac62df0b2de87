"""Errors of a tracking server that responds but denies access, with the way to fix them."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from mtlv.errors import RefusedError, mask_credentials

USER, PASSWORD = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
STATUS = re.compile(r"\berror code (401|403)\b|\b(401|403) Client Error\b")
"""HTTP status in the messages of MLflow's client, for its API and for artifacts."""


def refusal(uri: str, message: str) -> RefusedError | None:
    """Return the error for the message of MLflow's client; None if it is not a denied request."""
    status = STATUS.search(message)
    if status is None and "PERMISSION_DENIED" not in message:
        return None
    server = f"the tracking server `{mask_credentials(uri)}`"
    if status is not None and "401" in status.groups():
        return _unknown(server, uri)
    if "Invalid Host header" in message:
        return RefusedError(
            f"{server} does not accept the host name in this address",
            then=f"ask its administrator to add `{urlsplit(uri).netloc.rpartition('@')[2]}` to its "
            "`--allowed-hosts` (`MTLV_HOSTS` of docker-compose.yml), or use a host name that it accepts",
        )
    user = _user(uri)
    return RefusedError(
        f"{server} does not allow {user or 'this user'} to do this",
        then="set another `experiment`, or ask its manager for the permission EDIT",
    )


def _unknown(server: str, uri: str) -> RefusedError:
    user = _user(uri)
    if user is None:
        return RefusedError(f"{server} requires a user and a password", then=f"set {USER} and {PASSWORD}")
    then = f"correct {USER} and {PASSWORD}"
    if urlsplit(uri).username:
        then = f"correct both in `tracking.uri`, which takes precedence over {USER}"
    return RefusedError(f"{server} does not accept {user} with the given password", then=then)


def _user(uri: str) -> str | None:
    """Return the user that MLflow's client sends, in backticks: from the address or the environment."""
    name = urlsplit(uri).username or (os.environ.get(USER) if os.environ.get(PASSWORD) else None)
    return f"`{name}`" if name else None
