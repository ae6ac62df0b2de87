"""Configs and suites from command-line arguments."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlv.settings import Suite


def suite_or_defaults(args: argparse.Namespace) -> Suite:
    """Return the suite of `args.config`, or the defaults with the overrides."""
    from mtlv.settings import load_overrides, load_suite

    if args.config and "=" in args.config and not is_config(args.config):
        args.overrides, args.config = [args.config, *args.overrides], None
    return load_suite(args.config, args.overrides) if args.config else load_overrides(args.overrides)


def is_config(name: str) -> bool:
    """Whether an argument is a config."""
    return name.endswith((".yml", ".yaml")) or os.path.isfile(name)


def quote_yaml(text: str) -> str:
    """Quote text as a YAML scalar that stays text."""
    return "'" + text.replace("'", "''") + "'"
