"""Commands on corpora: data list, show, fetch, check."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from mtlv.cli.configs import is_config, quote_yaml
from mtlv.cli.terminal import OK, complain, console, say
from mtlv.errors import MtlvError


def list_all(args: argparse.Namespace) -> int:  # noqa: ARG001
    """List the corpora of the catalog."""
    from mtlv.suite.data import list_lines

    say(*list_lines())
    return OK


def show(args: argparse.Namespace) -> int:
    """Show the description of a corpus."""
    from mtlv.suite.data import show_lines

    say(*show_lines(args.name))
    return OK


def fetch(args: argparse.Namespace) -> int:
    """Download a corpus from its source."""
    from mtlv.display.download import DownloadBar
    from mtlv.suite.data import fetch_lines

    with DownloadBar(console(stderr=True), args.name) as download:
        lines = fetch_lines(args.name, args.to, progress=download.update)
    say(*lines)
    return OK


def check(args: argparse.Namespace) -> int:
    """Count the content of a corpus, or of those in a config."""
    from mtlv.settings import load_overrides, load_suite
    from mtlv.suite.data import check_data

    overrides = list(args.overrides)
    if args.path is not None:
        overrides.append(f"data.path={quote_yaml(str(args.path))}")
    if is_config(args.name):
        suite = load_suite(args.name, overrides)
    else:
        suite = load_overrides([f"data.name={quote_yaml(args.name)}", *overrides])
    problem: MtlvError | None = None
    different = {member.settings.data.model_dump_json(): member.settings for member in suite.members}
    shown: dict[tuple[str, ...], Any] = {}
    for settings in different.values():
        for report in check_data(settings.data, lengths=partial(_lengths, settings)):
            if report.lines not in shown:  # other members may have the same source
                say(*([""] if shown else []), *report.lines)
                shown[report.lines] = report
            problem = problem or report.problem
    if args.figures is not None:
        from mtlv.comparison.data_page import write_data_page

        page = write_data_page(args.figures, list(shown.values()), with_texts=not args.no_texts)
        say("", f"Open {page} in a browser")
    if problem is not None:
        raise problem
    return OK


def _lengths(settings: Any, corpus: Any) -> Any:
    from mtlv.errors import EncoderError
    from mtlv.suite.data import token_lengths

    try:
        return token_lengths(settings, corpus)
    except EncoderError as error:
        complain(f"lengths in tokens are not counted: {error}")
        return None
