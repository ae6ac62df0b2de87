"""`mtlv status`: progress of the running or last suite."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

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
    if args.watch:
        _watch(folder, config)
    else:
        say(*status_lines(folder, config)[0])
    if args.next:
        from mtlv.planning.preview import would_run_lines

        say(*would_run_lines(suite))
    return OK


def _watch(folder: Path, config: Path | None) -> None:
    """Show the progress, in a file or pipe what has changed, until the suite has ended, or Ctrl-C."""
    from mtlv.suite.status import status_lines

    before: list[str] = []
    ended: str | None = ""
    try:
        while not ended:
            if before:
                time.sleep(WATCH_INTERVAL_SECONDS)
            lines, ended = status_lines(folder, config)
            lines += ["waiting for it to start; Ctrl-C ends the waiting"] if ended is None else []
            if before and sys.stdout.isatty():
                console().clear()
            if not before or sys.stdout.isatty():
                say(*lines)
            elif lines[1:] != before[1:]:  # the first one says for how long it has been running
                say("", *lines)
            sys.stdout.flush()
            before = lines
    except KeyboardInterrupt as stop:
        if stop.args:  # another signal than Ctrl-C
            raise
        say("not watched any more; the suite goes on")
    else:
        if not sys.stdout.isatty():
            say("", ended)
