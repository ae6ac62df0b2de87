"""Refuse secrets that are missing, short or copied from `.env.example`; then become the given command.

    start.py [COMMAND ARGUMENT ...]

Runs in MLflow's image (see docker-compose.yml) and needs the standard library alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

# What a container gets, and where it comes from in `.env`. A container has only those it needs.
NAMES = {
    "MLFLOW_AUTH_ADMIN_PASSWORD": "MTLV_ADMIN_PASSWORD",
    "MLFLOW_FLASK_SERVER_SECRET_KEY": "MTLV_SESSION_SECRET",
    "PGPASSWORD": "MTLV_DATABASE_PASSWORD",
    "POSTGRES_PASSWORD": "MTLV_POSTGRES_PASSWORD",
    "AWS_ACCESS_KEY_ID": "MTLV_S3_KEY_ID",
    "AWS_SECRET_ACCESS_KEY": "MTLV_S3_SECRET",
}
PLACEHOLDER = "change-me"
SHORTEST = 16


def problems(environment: Mapping[str, str]) -> list[str]:
    """A line for each secret of `environment` that no server should start with; the secret is not in it."""
    return [
        f"`{NAMES[name]}` {wrong}"
        for name, value in environment.items()
        if name in NAMES and (wrong := _wrong(value))
    ]


def _wrong(value: str) -> str:
    if PLACEHOLDER in value:
        return "is still the example's"
    if len(value) < SHORTEST:
        return f"is shorter than {SHORTEST} characters"
    if not re.fullmatch(r"[\w-]+", value, re.ASCII):
        return "holds other characters than letters, digits, `-` and `_`"
    return ""


def main(command: list[str]) -> int:
    found = problems(os.environ)
    if found:
        for line in found:
            print(f"mtlv: {line}", file=sys.stderr)
        print("mtlv: not started; put secrets of your own into `.env`, see docs/server.md", file=sys.stderr)
        return 2
    if command:
        os.execvp(command[0], command)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
