"""`groupcheck coordinator` at the terminal: the address, the log, and what there was at the end."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from groupcheck.model.engine import UserError
from groupcheck.oracles.coordinator.model import every_served
from groupcheck.oracles.coordinator.served import Coordinator
from groupcheck.oracles.coordinator.served_types import ServedLine
from groupcheck.oracles.coordinator.settings import Settings
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import document
from groupcheck.oracles.show.terminal import say
from groupcheck.oracles.wire.serving import LOOPBACK, LogEntry

SCHEMA = "groupcheck.served/1"
TURN_S = 0.5
LONGEST_BYTES = 1_000  # of one field, in the log


def run(
    *,
    lists: bool,
    topics: Sequence[tuple[str, int]],
    move: float | None,
    seconds: float | None,
    log: Path | None,
    most_lines: int,
    **given: Any,
) -> int:
    """Serves until it is interrupted, or until `seconds` are over, prints the summary, and returns
    0. Raises `UserError` for settings that do not fit.
    """
    if lists:
        for mutation in every_served():
            print(f"{mutation.id}  {mutation.title}")
        return 0
    chosen: dict[str, Any] = {
        name: round(value) if name.endswith("_ms") else value
        for name, value in given.items()
        if value is not None
    }
    chosen |= {"topics": dict(topics)} if topics else {}
    settings = Settings(**chosen)
    if move is not None and settings.nodes == 1:
        raise UserError("there is nowhere to move to", where="--move", do="give --nodes 2")
    with ExitStack() as stack:
        lines = None
        if log is not None:
            lines = stack.enter_context(_Lines(log, most_lines))
        served = Coordinator(settings, lines)
        stack.enter_context(served.server)
        ports = served.server.ports.values()
        print(",".join(f"{LOOPBACK}:{port}" for port in ports), flush=True)
        say(_title(settings))
        with until_interrupted(lambda _: None):
            _serve(served, move, seconds)
        for line in summary(served, lines):
            print(printable(line))
    return 0


def _title(settings: Settings) -> str:
    topics = ", ".join(f"{topic} ({n})" for topic, n in settings.topics.items())
    bug = f", with the bug {settings.mutation}" if settings.mutation else ""
    return f"the model's coordinator{bug}; topics: {topics}; Ctrl-C ends it"


def _serve(served: Coordinator, move: float | None, seconds: float | None) -> None:
    began = moved = time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        served.server.turn(TURN_S)
        if move is not None and time.monotonic() - moved >= move:
            moved = time.monotonic()
            say(f"the groups move to node {served.move()}")


def summary(served: Coordinator, lines: _Lines | None) -> Iterator[str]:
    """What there was, in words."""
    counts = Counter(noted.api for noted in served.server.log if noted.what == "request")
    apis = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    yield f"{served.server.requests:,} requests" + (f": {apis}" if apis else "")
    if left_out := served.server.log.forgotten:
        yield f"what is counted here is without the first {left_out:,} entries of the log"
    for name in served.groups:
        group = served.group(name)
        assert group is not None
        offsets = served.committed(name)
        yield (
            f"group {name}: {group['groupState']}, generation {group['generationId']},"
            f" members {len(group['members'])}, committed offsets {len(offsets)}"
        )
    refused = Counter(noted.why for noted in served.server.log if noted.what == "refused")
    for why, count in refused.most_common():
        yield f"refused {count:,}: {why}"
    for remark, count in Counter(served.remarks).most_common():
        yield f"{remark}" + (f" ({count:,} times)" if count > 1 else "")
    if lines is not None and lines.left_out:
        yield f"{lines.left_out:,} lines are not in the log: {lines.why}"


class _Lines:
    """Writes entries of the server's log as lines, which can be read while it serves. A log that
    cannot be written does not end the server. A context manager.
    """

    def __init__(self, path: Path, most: int) -> None:
        """Raises `UserError` if the file cannot be opened."""
        try:
            self._file = path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}", where="--log") from None
        self._left, self._most = most, most
        self.left_out = 0
        self.why = ""

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.close()

    def __call__(self, noted: LogEntry) -> None:
        if not self._left and not self.why:
            self.why = f"it has {self._most:,} (--most-lines)"
        if not self.why:
            self._left -= 1
            try:
                self._file.write(json.dumps(document(SCHEMA, line_of(noted))) + "\n")
            except OSError as error:
                self.why = f"cannot write it: {error.strerror}"
                say(f"the log ends here, {self.why}")
        self.left_out += bool(self.why)


def line_of(noted: LogEntry) -> ServedLine:
    """An entry of the server's log as a line."""
    return ServedLine(
        at_s=round(noted.at_s, 6),
        what=noted.what,
        node=noted.node,
        connection=noted.connection,
        number=noted.number,
        api=noted.api,
        version=noted.version,
        client=noted.client,
        values=_plain(noted.values),
        why=noted.why,
    )


def _plain(value: Any) -> Any:
    """A value as JSON has it: bytes in hexadecimal, long ones only begun."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        more = len(value) - LONGEST_BYTES
        return value[:LONGEST_BYTES].hex() + (f"... {more} bytes more" if more > 0 else "")
    return str(value) if isinstance(value, UUID) else value
