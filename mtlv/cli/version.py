"""`mtlv --version`: the version, and what it found."""

from __future__ import annotations

import argparse
import sys

from mtlv._version import __version__
from mtlv.cli.terminal import OK, say
from mtlv.formatting import many

SHOWN = ("python", "torch", "transformers", "mlflow")


def version(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the version for programs, then packages and devices for people."""
    from mtlv.environment import versions

    by_name = versions()
    say(f"mtlv {__version__}", ", ".join(f"{name} {by_name[name]}" for name in SHOWN))
    sys.stdout.flush()  # the devices take a second or two
    say(*_devices())
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
