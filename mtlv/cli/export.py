"""`mtlv export`: write a trained model, or its encoder, for programs without mtlv."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, say


def export(args: argparse.Namespace) -> int:
    """Write the encoder of a trained unit, or the model of a run."""
    if args.to == "encoder":
        from mtlv.settings import load_suite
        from mtlv.suite.export import export as write

        say(*write(load_suite(args.config, args.overrides), args.out, stage=args.stage, unit=args.unit))
        return OK
    from mtlv.errors import PlanError
    from mtlv.suite.portable import export_run

    if args.overrides or args.stage or args.unit:
        raise PlanError("a run is exported as it is", then="leave out key=value, `--stage` and `--unit`")
    keys = ("to", "int8", "tolerance", "uri", "experiment")
    say(*export_run(args.config, args.out, **{key: getattr(args, key) for key in keys}))
    return OK
