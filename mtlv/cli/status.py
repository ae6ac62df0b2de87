"""`mtlv status`: progress of the running or last suite."""

from __future__ import annotations

import argparse

from mtlv.cli.configs import suite_or_defaults
from mtlv.cli.terminal import OK, say
from mtlv.errors import ConfigError


def status(args: argparse.Namespace) -> int:
    """Show the progress of the running or last suite."""
    from mtlv.suite.status import status_lines

    if args.next and args.config is None:
        raise ConfigError(["`--next` needs a config: `mtlv status CONFIG --next`"])
    suite = suite_or_defaults(args)
    folder = args.store or suite.members[0].settings.store.folder
    say(*status_lines(folder, suite.path if args.config else None))
    if args.next:
        from mtlv.planning.preview import would_run_lines

        say(*would_run_lines(suite))
    return OK
