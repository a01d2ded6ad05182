"""A cluster of this process alone, as treacherous as a real one can be: calls are repeated, in any
order, with caches lost in between.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine.fast.shards import manifests, working
from groupcheck.model.engine.fast.shards.owned import local_folder
from groupcheck.model.engine.fast.shards.store import Store


def manifest_in(folder: Path) -> tuple[str, dict[str, Any]]:
    """(name, document) of the one manifest in a store."""
    store = Store(str(folder))
    (run,) = manifests.runs_in(store)
    return manifests.name_of(run), store.read_document(manifests.name_of(run))


class InProcess:
    """`unrest`: how often (0 to 1) a call is made twice, or finds tables or states of its process
    gone.
    """

    def __init__(self, shards: int, unrest: float = 0.0, seed: int = 0) -> None:
        self.shards, self.unrest, self.retries = shards, unrest, 0
        self.calls, self.cpu = 0, (0.0, 0.0)
        self._chance = random.Random(seed)

    def run(
        self, function: Callable[[Any], Any], arguments: Sequence[Any], pulse: Callable[[], None]
    ) -> list[Any]:
        answers: list[Any] = [None] * len(arguments)
        order = [k for k, argument in enumerate(arguments) if argument is not None]
        self._chance.shuffle(order)
        for k in order:
            pulse()
            while self._chance.random() < self.unrest:
                self.retries += 1
                function(arguments[k])
                self._lose(arguments[k].run)
            self.calls += 1
            answers[k] = function(arguments[k])
        return answers

    def _lose(self, run: str) -> None:
        if self._chance.random() < 0.5:
            working._replicas.clear()
        if self._chance.random() < 0.5:
            shutil.rmtree(local_folder() / f"groupcheck-{run}", ignore_errors=True)
