"""`mtlv ui`: open the MLflow UI on the runs."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from mtlv.cli.configs import suite_or_defaults
from mtlv.cli.terminal import FAILED, OK, complain, end_in_order, say


def ui(args: argparse.Namespace) -> int:
    """Open the MLflow UI on the runs."""
    import tempfile

    from mtlv.suite.placement import find_runs
    from mtlv.tracking.mlflow_server import ServerAddress, has_server, link, serve

    door = ServerAddress(args.port, args.host, open_to_all=args.no_auth)
    suite = suite_or_defaults(args)
    if args.config:
        suite = find_runs(suite)
    uri = suite.members[0].settings.tracking.uri
    url = link(uri, suite.experiment if args.config else None, door)
    if has_server(uri):
        say(f"The runs are at {url}", *_side_by_side(args, url))
        _open(args, url)
        return OK
    end_in_order()  # otherwise its server would outlive this command
    say("Starting the MLflow UI (about 10 seconds) ...")
    sys.stdout.flush()
    folder = tempfile.mkdtemp(prefix="mtlv-ui-")  # an unpredictable name, which cannot be a prepared link
    log = Path(folder, "server.log")
    with serve(uri, door, log=log) as server:
        say(f"Open {url}", *_side_by_side(args, url), "Press Ctrl-C to stop.")
        sys.stdout.flush()
        _open(args, url)
        server.wait()
    complain(f"MLflow's server has ended; see {log}")
    return FAILED


def _open(args: argparse.Namespace, url: str) -> None:
    """Open a browser where the user would see it: not over SSH, without a display, or in a script."""
    import webbrowser

    display = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    remote = any(map(os.environ.get, ("SSH_CONNECTION", "SSH_TTY")))
    if args.browser and display and not remote and sys.stdout.isatty():
        with suppress(webbrowser.Error):
            webbrowser.open(url)


def _side_by_side(args: argparse.Namespace, url: str) -> list[str]:
    """Return the address of the runs as charts, if an experiment is given."""
    from mtlv.tracking.address import compare_url

    return [f"Comparison: {compare_url(url)}"] if args.config else []
