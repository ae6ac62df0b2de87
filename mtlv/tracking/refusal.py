"""What to say when a tracking server answers, but refuses: who may not do what, and who can put it right."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from mtlv.errors import RefusedError
from mtlv.tracking.address import masked

USER, PASSWORD = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
STATUS = re.compile(r"\berror code (401|403)\b|\b(401|403) Client Error\b")
"""How MLflow's client words an HTTP status, for its own interface and for artifacts."""


def refusal(uri: str, said: str) -> RefusedError | None:
    """The error for `said`, the text of what MLflow's client raised; nothing when it is no refusal.

    Args:
        uri: the server's address.
        said: the client's text, with status and body of the answer.
    """
    found = STATUS.search(said)
    if found is None and "PERMISSION_DENIED" not in said:
        return None
    server = f"the tracking server `{masked(uri)}`"
    if found is not None and "401" in found.groups():
        return _unknown(server, uri)
    if "Invalid Host header" in said:
        return RefusedError(
            f"{server} does not answer to the name in this address",
            then=f"let its keeper add `{urlsplit(uri).netloc.rpartition('@')[2]}` to its `--allowed-hosts` "
            "(`MTLV_HOSTS` of docker-compose.yml), or use a name that it knows",
        )
    user = _user(uri)
    return RefusedError(
        f"{server} does not let {user or 'this user'} do this",
        then="set another `experiment`, or ask who manages this one for the permission EDIT",
    )


def _unknown(server: str, uri: str) -> RefusedError:
    user = _user(uri)
    if user is None:
        return RefusedError(f"{server} wants a user and a password", then=f"set {USER} and {PASSWORD}")
    then = f"correct {USER} and {PASSWORD}"
    if urlsplit(uri).username:
        then = f"correct both in `tracking.uri`, which goes before {USER}"
    return RefusedError(f"{server} does not know {user} with the password it got", then=then)


def _user(uri: str) -> str | None:
    """Name of the user that MLflow's client gives, in backticks: the address's before the environment's."""
    name = urlsplit(uri).username or (os.environ.get(USER) if os.environ.get(PASSWORD) else None)
    return f"`{name}`" if name else None
