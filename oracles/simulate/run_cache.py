"""Runs that are done, kept in a file, so that a command that was stopped goes on with them.

A line for each run: its digest, and JSON. A run is found again by its setup and by the source that
it was made with, so that a changed model or simulator simulates anew. A line that is torn, because
the process or the disk ended in it, or that holds something else, is a run that was not kept.
"""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import cattrs
from attrs import define, field, fields_dict
from cattrs.errors import BaseValidationError

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.identity import digest_of_sources
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.terminal import say
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import admitted, lasting, simulate
from groupcheck.traces.phrases import plural

FIRST = b"groupcheck.runs/1\n"
OPTION = "--resume"
_READS = cattrs.Converter()
_READS.register_structure_hook(Setup, lambda setup, _: setup)  # the file does not hold it


@define
class RunCache:
    """The runs of a file, and those that are added to it."""

    path: Path
    # Digest of a run's setup and source -> its result as JSON.
    _known: dict[str, str] = field(factory=dict)
    # Variant -> digest of the source that simulates it.
    _sources: dict[str, str] = field(factory=dict)
    _is_written: bool = True

    @classmethod
    def opened(cls, path: Path | None) -> RunCache | None:
        """The runs in a file, which is made if it is not there; None without a path. Raises
        `UserError` if it holds something else, or cannot be read and written.
        """
        if path is None:
            return None
        try:
            if path.exists() and not path.is_file():  # a pipe or a device has no end
                raise OSError(errno.EINVAL, "it is no ordinary file")
            with path.open("a+b") as file:
                file.seek(0)
                first = file.read(len(FIRST))
                if first not in (FIRST, b""):
                    raise UserError(
                        f"{printable(str(path))} holds something else than runs of simulations",
                        where=OPTION,
                        do="name a new file",
                    )
                lines = file.readlines()
                if not first:
                    file.write(FIRST)
                elif lines and not lines[-1].endswith(b"\n"):
                    file.write(b"\n")
        except OSError as error:
            why = error.strerror or error
            raise UserError(f"{printable(str(path))} cannot be used: {why}", where=OPTION) from None
        return cls(path, dict(_whole(lines)))

    def found(self, setups: Sequence[Setup]) -> dict[int, Result]:
        """Which of these are done: their numbers, and the results."""
        if not self._known:
            return {}
        found = {k: one for k, setup in enumerate(setups) if (one := self._result(setup))}
        say(f"{len(found):,} of {plural(len(setups), 'run')} are in {self.path}")
        return found

    def _result(self, setup: Setup) -> Result | None:
        text = self._known.get(self._key(setup))
        if text is None:
            return None
        try:
            return _READS.structure({**json.loads(text), "setup": lasting(setup)}, Result)
        except (ValueError, TypeError, RecursionError, BaseValidationError):
            return None

    def keep(self, setup: Setup, result: Result) -> None:
        """Adds a run that has come to its end. Where that fails, it is said once."""
        if result.cut or not self._is_written:
            return
        told = {name: getattr(result, name) for name in fields_dict(Result) if name != "setup"}
        text = f"{self._key(setup)} {json.dumps(cattrs.unstructure(told))}"
        try:
            with self.path.open("ab") as file:
                file.write(f"{_digest(text)} {text}\n".encode())
        except OSError as error:
            self._is_written = False
            say(f"runs are not kept any more: {self.path}: {error.strerror or error}")

    def _key(self, setup: Setup) -> str:
        if setup.variant not in self._sources:
            rules = (rule.call for rule in admitted(setup).rules)
            functions = [simulate, *map(inspect.unwrap, rules)]
            self._sources[setup.variant] = digest_of_sources(functions)
        told = json.dumps(cattrs.unstructure(lasting(setup)), sort_keys=True)
        return _digest(self._sources[setup.variant] + told)


def _whole(lines: Iterable[bytes]) -> Iterable[tuple[str, str]]:
    """The key and the JSON of each line that is whole."""
    for line in lines:
        digest, _, text = line.decode(errors="replace").rstrip("\n").partition(" ")
        if digest == _digest(text):
            key, _, told = text.partition(" ")
            yield key, told


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
