"""What a suite tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping


class Observer:
    """Does nothing; the command line's display overrides it. `documents` are documents times epochs."""

    def suite_started(self, units: int, documents: int) -> None:
        """How much there is to do in all."""

    def unit_started(self, name: str, index: int, epochs: int, documents: int) -> None:
        """Unit `index` (from 1) begins."""

    def unit_resumed(self, name: str, documents: int) -> None:
        """A unit that has begun goes on: so much of it was trained before."""

    def unit_placed(self, name: str, node: str) -> None:
        """A unit is about to begin on this node of a cluster."""

    def batch(self, name: str, documents: int) -> None:
        """A unit was trained on a batch."""

    def epoch(
        self,
        name: str,
        epoch: int,
        epochs: int,
        loss: float,
        validation: Mapping[str, float],
        documents_per_second: float,
    ) -> None:
        """Epoch `epoch` (from 1) of a unit is done."""

    def unit_ended(self, name: str, cached: bool, documents: int) -> None:
        """A unit is done, or was found in the store."""

    def unit_failed(self, name: str) -> None:
        """A unit that began is at work no more: it failed, or its process was lost."""

    def note(self, text: str) -> None:
        """Something worth knowing."""

    def warn(self, text: str) -> None:
        """Something that may harm the results."""


class Together(Observer):
    """Tells several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers

    def suite_started(self, units: int, documents: int) -> None:
        for observer in self.observers:
            observer.suite_started(units, documents)

    def unit_started(self, name: str, index: int, epochs: int, documents: int) -> None:
        for observer in self.observers:
            observer.unit_started(name, index, epochs, documents)

    def unit_resumed(self, name: str, documents: int) -> None:
        for observer in self.observers:
            observer.unit_resumed(name, documents)

    def unit_placed(self, name: str, node: str) -> None:
        for observer in self.observers:
            observer.unit_placed(name, node)

    def batch(self, name: str, documents: int) -> None:
        for observer in self.observers:
            observer.batch(name, documents)

    def epoch(
        self,
        name: str,
        epoch: int,
        epochs: int,
        loss: float,
        validation: Mapping[str, float],
        documents_per_second: float,
    ) -> None:
        for observer in self.observers:
            observer.epoch(name, epoch, epochs, loss, validation, documents_per_second)

    def unit_ended(self, name: str, cached: bool, documents: int) -> None:
        for observer in self.observers:
            observer.unit_ended(name, cached, documents)

    def unit_failed(self, name: str) -> None:
        for observer in self.observers:
            observer.unit_failed(name)

    def note(self, text: str) -> None:
        for observer in self.observers:
            observer.note(text)

    def warn(self, text: str) -> None:
        for observer in self.observers:
            observer.warn(text)
