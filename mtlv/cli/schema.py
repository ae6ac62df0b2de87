"""`mtlv schema`: the settings as JSON Schema, for editors."""

from __future__ import annotations

import argparse
import json

from mtlv.cli.terminal import OK, say


def schema(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the JSON Schema of a config file."""
    from mtlv.settings.json_schema import config_schema

    say(*json.dumps(config_schema(), indent=1, ensure_ascii=False).splitlines())
    return OK
