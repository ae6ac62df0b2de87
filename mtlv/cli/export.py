"""`mtlv export`: write the encoder of a trained unit as a folder of Transformers."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, say


def export(args: argparse.Namespace) -> int:
    """Write the encoder of a trained unit as a folder of Transformers."""
    from mtlv.settings import load_suite
    from mtlv.suite.export import export as write

    say(*write(load_suite(args.config, args.overrides), args.out, stage=args.stage, unit=args.unit))
    return OK
