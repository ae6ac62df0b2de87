"""`mtlv status`: progress of the running or last suite."""

from __future__ import annotations

import argparse
import sys
import time

from mtlv.cli.configs import suite_or_defaults
from mtlv.cli.terminal import OK, console, say
from mtlv.errors import ConfigError

WATCH_INTERVAL_SECONDS = 3.0


def status(args: argparse.Namespace) -> int:
    """Show the progress of the running or last suite."""
    from mtlv.suite.status import status_lines

    if args.next and args.config is None:
        raise ConfigError(["`--next` needs a config: `mtlv status CONFIG --next`"])
    suite = suite_or_defaults(args)
    folder = args.store or suite.members[0].settings.store.folder
    config = suite.path if args.config else None
    lines, running = status_lines(folder, config)
    say(*lines)
    while args.watch and running:
        sys.stdout.flush()
        time.sleep(WATCH_INTERVAL_SECONDS)
        before, (lines, running) = lines, status_lines(folder, config)
        if sys.stdout.isatty():
            console().clear()
            say(*lines)
        elif lines[1:] != before[1:]:  # the first one says for how long it has been running
            say("", *lines)
    if args.next:
        from mtlv.planning.preview import would_run_lines

        say(*would_run_lines(suite))
    return OK
