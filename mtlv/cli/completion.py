"""`mtlv completion`: a script for a shell that completes commands, options, choices and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtlv.arguments import command_parser
from mtlv.cli.terminal import OK, say

FILES = ("CONFIG", "CONFIG_OR_RUN", "CONFIG_OR_NAME")
"""What may be a file, by its name in the help."""


def completion(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    parser = command_parser()
    for argument in _arguments(parser):
        if argument.metavar == "FOLDER":
            argument.complete = shtab.DIRECTORY
        elif argument.type is Path or argument.metavar in FILES:
            argument.complete = shtab.FILE
    say(*shtab.complete(parser, args.shell).splitlines())
    return OK


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield the arguments of a parser and of its commands."""
    for argument in parser._actions:
        if isinstance(argument, argparse._SubParsersAction):
            for command in argument.choices.values():
                yield from _arguments(command)
        else:
            yield argument
