"""The commands of `mtlv`. Heavy modules are imported only by the commands that need them."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import shlex
import sys
from collections.abc import Callable, Sequence

from mtlv.arguments import parse
from mtlv.cli import about, check, cluster, compare, data, export, init, predict, run, status, store, ui
from mtlv.cli.terminal import (
    FAILED,
    INTERRUPTED,
    SIGNALS,
    USER_ERROR,
    complain,
    own_fault,
    show_anything,
)
from mtlv.environ import let_waiting_threads_sleep
from mtlv.errors import ConfigError, MtlvError

COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": init.init,
    "run": run.run,
    "check": check.check,
    "status": status.status,
    "sync": store.sync,
    "cluster": cluster.cluster,
    "clean": store.clean,
    "compare": compare.compare,
    "predict": predict.predict,
    "export": export.export,
    "store push": store.push,
    "store pull": store.pull,
    "schema": about.schema,
    "completion": about.completion,
    "data list": data.list_all,
    "data show": data.show,
    "data fetch": data.fetch,
    "data check": data.check,
    "ui": ui.ui,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0: success. 1: a member of a suite failed, the output pipe was closed, MLflow's server ended, or an
    internal error. 2: a user error. 129: SIGHUP. 130: Ctrl-C. 143: SIGTERM.
    """
    args = argparse.Namespace(command="")
    gc.set_threshold(100_000)  # Python's default of 700 takes a tenth of the time
    let_waiting_threads_sleep()
    show_anything()
    try:
        args = _arguments(argv)
        code = (COMMANDS | {"--version": about.version})[args.command](args)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for line in error.problems:  # each begins with its own position
            complain(line, who="")
        return USER_ERROR
    except MtlvError as error:
        for line in error.problems:
            complain(line)
        return USER_ERROR
    except KeyboardInterrupt as stop:
        complain("stopped" + _go_on(args))
        return SIGNALS.get(stop.args[0] if stop.args else "", INTERRUPTED)
    except BrokenPipeError:
        # The reader, such as `head`, has ended. Nothing may be written at exit any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return own_fault()
        complain(
            f"the disk is full: {error}; free space and start again: what was written before is complete"
        )
        return USER_ERROR
    except Exception:
        return own_fault()
    finally:
        gc.freeze()  # the process ends: a last collection of MLflow's objects would take a second


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; `--version` alone is a command, because it looks for devices."""
    alone = list(sys.argv[1:] if argv is None else argv) == ["--version"]
    return argparse.Namespace(command="--version") if alone else parse(argv)


def _go_on(args: argparse.Namespace) -> str:
    """Return how to continue a stopped `mtlv run`; units that are complete are not trained again."""
    if args.command != "run":
        return ""
    return f"; to go on where it stopped: {shlex.join(['mtlv', 'run', args.config, *args.overrides])}"
