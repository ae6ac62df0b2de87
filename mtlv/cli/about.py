"""Commands on mtlv itself: `--version`, schema, completion."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mtlv._version import __version__
from mtlv.arguments import command_parser
from mtlv.cli.terminal import OK, say
from mtlv.formatting import many

SHOWN = ("python", "torch", "transformers", "mlflow")
FILES = ("CONFIG", "CONFIG_OR_RUN", "CONFIG_OR_NAME")
"""What may be a file, by its name in the help."""


def version(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the version for programs, then packages and devices for people."""
    from mtlv.environment import versions

    by_name = versions()
    say(f"mtlv {__version__}", ", ".join(f"{name} {by_name[name]}" for name in SHOWN))
    sys.stdout.flush()  # the devices take a second or two
    say(*_devices())
    return OK


def schema(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the JSON Schema of a config file."""
    from mtlv.settings.json_schema import config_schema

    say(*json.dumps(config_schema(), indent=1, ensure_ascii=False).splitlines())
    return OK


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


def _devices() -> list[str]:
    """Return the processor and each GPU in words; imports PyTorch, which takes a second or two."""
    try:
        import torch

        from mtlv.training.optim import computes_bf16
    except (ImportError, OSError) as error:  # a library of a broken installation
        return [f"devices: PyTorch cannot be imported ({error})"]
    from mtlv.hardware import cores

    places = [(f"CPU: {many(cores(), 'core')}", torch.device("cpu"))]
    places += [
        (f"cuda:{number}: {torch.cuda.get_device_name(number)}", torch.device("cuda", number))
        for number in range(torch.cuda.device_count())
    ]
    return [f"{text}, {'fast' if computes_bf16(device) else 'no fast'} bf16" for text, device in places]


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield the arguments of a parser and of its commands."""
    for argument in parser._actions:
        if isinstance(argument, argparse._SubParsersAction):
            for command in argument.choices.values():
                yield from _arguments(command)
        else:
            yield argument
