"""`mtlv ui`: open MLflow's page on the runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mtlv.cli.configs import suite_or_defaults
from mtlv.cli.terminal import FAILED, OK, complain, end_in_order, say


def ui(args: argparse.Namespace) -> int:
    """Open MLflow's page on the runs."""
    import tempfile

    from mtlv.tracking.mlflow_server import ServerAddress, has_server, link, serve

    door = ServerAddress(args.port, args.host, open_to_all=args.no_auth)
    suite = suite_or_defaults(args)
    uri = suite.members[0].settings.tracking.uri
    url = link(uri, suite.experiment if args.config else None, door)
    if has_server(uri):
        say(f"The runs are at {url}", *_side_by_side(args, url))
        return OK
    end_in_order()  # else its server would outlive this command
    say("Starting MLflow's page (about 10 seconds) ...")
    sys.stdout.flush()
    folder = tempfile.mkdtemp(prefix="mtlv-ui-")  # a name that nobody could have made a link of
    log = Path(folder, "server.log")
    with serve(uri, door, log=log) as server:
        say(f"Open {url}", *_side_by_side(args, url), "Ctrl-C ends it.")
        sys.stdout.flush()
        server.wait()
    complain(f"MLflow's server ended; see {log}")
    return FAILED


def _side_by_side(args: argparse.Namespace, url: str) -> list[str]:
    """Where an experiment is named, the address of its runs as charts."""
    from mtlv.tracking.mlflow_server import side_by_side

    return [f"Side by side: {side_by_side(url)}"] if args.config else []
