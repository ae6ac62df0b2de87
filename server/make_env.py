"""Write `.env` beside docker-compose.yml: `.env.example` with a random secret for each `change-me`."""

from __future__ import annotations

import os
import re
import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def filled(example: str) -> str:
    """`example` with a secret of 48 hexadecimal digits (192 bits) in each place that asks for one."""
    return re.sub(r"(?m)(?<==)change-me$", lambda _: secrets.token_hex(24), example)


def main() -> int:
    text = filled((ROOT / ".env.example").read_text(encoding="utf-8"))
    try:
        handle = os.open(ROOT / ".env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        print("mtlv: `.env` is there already, the databases know its secrets; left as it is", file=sys.stderr)
        return 2
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    print("Wrote `.env`. MLflow's first user is `admin`, the password MTLV_ADMIN_PASSWORD in that file.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
