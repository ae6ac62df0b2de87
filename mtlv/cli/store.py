"""Commands on the store: store push, store pull, sync, clean."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mtlv.cli.terminal import FAILED, OK, complain, say
from mtlv.formatting import list_first

if TYPE_CHECKING:
    from mtlv.settings import Suite
    from mtlv.store.copies import CopyReport
    from mtlv.store.local import Store


def push(args: argparse.Namespace) -> int:
    """Copy finished units from the store to an address."""
    from mtlv.store import copies
    from mtlv.store.local import Store

    suite = _suite(args)
    store = Store.existing(args.store or suite.members[0].settings.store.folder)
    keys, _ = _units(store, suite) if args.suite else (None, [])
    return _show(copies.push(store, args.address, keys, say))


def pull(args: argparse.Namespace) -> int:
    """Copy finished units from an address to the store, which is created if needed."""
    from mtlv.store import copies
    from mtlv.store.local import Store

    suite = _suite(args)
    store = Store(args.store or suite.members[0].settings.store.folder)
    keys, waiting = _units(store, suite) if args.suite else (None, [])
    code = _show(copies.pull(store, args.address, keys, say))
    if waiting:
        say(f"the groups of {list_first(waiting)} follow from these units: repeat the command for its models")
    return code


def sync(args: argparse.Namespace) -> int:
    """Upload what runs could not upload."""
    from mtlv.settings import load_overrides
    from mtlv.tracking.sync import sync_store

    settings = load_overrides([]).members[0].settings
    lines = sync_store(
        args.store or settings.store.folder,
        args.uri,
        lambda text: complain(f"warning: {text}"),
        patience=settings.tracking.flush_seconds if args.wait is None else args.wait,
        set_aside=args.set_aside,
    )
    say(*lines)
    return OK


def clean(args: argparse.Namespace) -> int:
    """List files of a store that nothing needs, and delete them on request."""
    from mtlv.settings import load_overrides, load_suite
    from mtlv.suite.clean import clean_lines

    suites = [load_suite(name, []) for name in args.configs]
    first = suites[0] if suites else load_overrides([])
    folder = args.store or first.members[0].settings.store.folder
    say(*clean_lines(folder, suites, delete=args.yes))
    return OK


def _suite(args: argparse.Namespace) -> Suite:
    from mtlv.settings import load_overrides, load_suite

    return load_suite(args.suite, []) if args.suite else load_overrides([])


def _units(store: Store, suite: Suite) -> tuple[set[str], list[str]]:
    """Return the keys of the units of a suite, and the members whose groups follow from unfinished ones."""
    from mtlv.planning.resolve import Resolver
    from mtlv.units.input_cache import InputCache

    cache = InputCache(store, lambda text: complain(f"warning: {text}"))
    ready, waiting = Resolver(cache, suite.members).ready(suite.members)
    plans = (*(member.jobs for member in ready), *(error.jobs for error in waiting.values()))
    return {job.unit.key for jobs in plans for job in jobs}, list(waiting)


def _show(report: CopyReport) -> int:
    for line in report.damaged:
        complain(f"left out, because it is damaged: {line}")
    say(str(report))
    return FAILED if report.damaged else OK
