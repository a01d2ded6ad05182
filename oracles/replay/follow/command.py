"""`groupcheck replay --follow`: reads logs while they grow, and prints a line when the health of a
group changes.

Exit codes: that of `replay` for what is known when following ends (0 calm, 1 trouble, 3 too little
shown), and 3 if somebody interrupts it.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from attrs import Factory, define, field

from groupcheck.oracles.printable import as_json, not_obeyed, printable
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.replay.answers import WORST
from groupcheck.oracles.replay.claims import NAMELESS, WORDS
from groupcheck.oracles.replay.follow.alerts import (
    SCHEMA,
    alert_document,
    alert_text,
    log_document,
    moment,
)
from groupcheck.oracles.replay.follow.follow_types import FollowLine
from groupcheck.oracles.replay.follow.judging import WINDOW_S, Change, Judge, healths
from groupcheck.oracles.replay.knowledge_cases import try_cases
from groupcheck.oracles.show.json_schemas import document
from groupcheck.oracles.show.terminal import say
from groupcheck.traces.causes.knowledge import knowledge_of, shipped_knowledge
from groupcheck.traces.phrases import plural
from groupcheck.traces.reading.tail import Growing, Read, opened
from groupcheck.traces.replay import COLLECT_AFTER, ReplayOptions, known_format

Until = Literal["troubled", "broken", "calm", "never"]
BACKWARDS = 4 << 20
"""So many bytes of what a file holds at first are read."""
BITE = 1 << 18
"""So many bytes of one log are read at once."""
POLL_S = 0.25
OFTEN = 3.0
"""Judging takes a quarter of the time at most, unless many lines wait."""
LATEST_S = 5.0
"""Lines of a log that never pauses are judged so often, if there is time."""
MOST_FRESH = 1_000
"""So many lines of a group are judged at once: all of them stand in its window."""
PASSING_S = 30.0
"""So often it is seen whether lines have become too old."""
CODES: dict[str, Literal[0, 1, 3]] = {"calm": 0, "troubled": 1, "broken": 1, "unknown": 3}


@define
class Following:
    """Logs that are followed, and what is to be printed."""

    logs: Sequence[Growing]
    judge: Judge
    as_json: bool = False
    until: Until = "never"
    seconds: float | None = None
    # Lines that were read.
    read: int = 0
    # Why it ends; empty until it does.
    ended: str = ""
    _began: float = Factory(time.monotonic)
    # When the last judgement ended, and how long it took.
    _judged: float = field(init=False)
    _took: float = 0.0

    @_judged.default
    def _not_judged(self) -> float:
        return self._began - LATEST_S

    def run(self) -> None:
        """Follows until something ends it."""
        while not self.ended:
            came = self.take()
            now = time.monotonic()
            if self._is_time(now, came):
                self._judge(1)
            elif self.judge.fresh >= MOST_FRESH:
                self._judge(MOST_FRESH)
            if not self.ended:
                self.ended = self._over(now)
            if not came and not self.ended:
                time.sleep(POLL_S)

    def finish(self) -> None:
        """Judges what came last, also lines without an end, as far as there is time."""
        for log in self.logs:
            self._take(log, log.rest())
        while self.judge.fresh and not self._is_late():
            self._judge(1)
        if self.judge.fresh:
            self.ended += " before all lines were judged"

    def take(self) -> bool:
        """Reads what has come; whether anything has."""
        came = [self._take(log, log.read(BITE)) for log in self.logs]
        return any(came)

    def _take(self, log: Growing, lines: Sequence[tuple[int, bytes]]) -> bool:
        while log.notices:
            self._noticed(log.name, log.notices.popleft())
        self.read += len(lines)
        if lines:
            self.judge.add(log.name, log.parts, lines, time.monotonic())
        return bool(lines)

    def _is_time(self, now: float, came: bool) -> bool:
        """Is it time to judge all groups of which something new was said?"""
        since = now - self._judged
        if not self.judge.fresh:
            return since > PASSING_S
        if came:
            return since > max(LATEST_S, OFTEN * self._took)
        return since > OFTEN * self._took or all(log.ended for log in self.logs)

    def _judge(self, least: int) -> None:
        began = time.monotonic()
        for change in self.judge.changes(began, least, self._is_late):
            self._changed(change)
        self._judged = time.monotonic()
        self._took = self._judged - began
        if not self.ended:
            self.ended = self._met()

    def _met(self) -> str:
        """What `until` waits for, if it is so."""
        known = self.judge.known
        if self.until == "calm":
            calm = self.judge.health == "calm" and not self.judge.unjudged
            return "all groups are calm" if calm else ""
        wanted = {"troubled": ("troubled", "broken"), "broken": ("broken",), "never": ()}
        for name, health in healths(known).items():
            if health in wanted[self.until]:
                return f"{name or NAMELESS} is {WORDS[health]}"
        return ""

    def _over(self, now: float) -> str:
        if self.seconds is not None and now - self._began >= self.seconds:
            return "the time is over"
        return "the input has ended" if all(log.ended for log in self.logs) else ""

    def _is_late(self) -> bool:
        """Has the time been over for so long that what waits is judged no more?"""
        return self.seconds is not None and (
            time.monotonic() - self._began >= self.seconds + LATEST_S
        )

    def _changed(self, change: Change) -> None:
        at = datetime.now(UTC)
        if self.as_json:
            _print_line(as_json(alert_document(change, at)))
        elif change.before is not None or change.health != "unknown":
            _print_line(printable(alert_text(change, at)))

    def _noticed(self, name: str, what: str) -> None:
        shown = "standard input" if name == "-" else name
        if self.as_json:
            _print_line(as_json(log_document(name, what, datetime.now(UTC))))
        else:
            say(f"{shown} {what}")

    @property
    def exit_code(self) -> Literal[0, 1, 3]:
        """That of the health of all groups; lines that were not judged may tell of trouble."""
        return CODES[self.judge.health] or (3 if self.judge.fresh else 0)

    def tell_end(self, code: Literal[0, 1, 3]) -> None:
        """Prints why it has ended, and how each group is."""
        found, windows = healths(self.judge.known), self.judge.windows
        if self.as_json:
            last = FollowLine(
                event="end",
                at=moment(datetime.now(UTC)),
                health=self.judge.health,
                reason=self.ended,
                lines=self.read,
                groups=found,
                forgotten=windows.forgotten,
                exit_code=code,
            )
            _print_line(as_json(document(SCHEMA, last)))
            return
        for name, health in found.items():
            if health != "calm":
                reason = self.judge.known[name].reason
                shown = name or NAMELESS
                _print_line(printable(f"{shown}: {WORDS[health]}: {reason}"))
        counts = Counter(found.values())
        each = [f"{counts[h]:,} {WORDS[h]}" for h in WORST if counts[h]]
        gone = f"; {plural(windows.forgotten, 'group')} forgotten" if windows.forgotten else ""
        if self.judge.unjudged:
            each.append(f"{self.judge.unjudged:,} not judged")
        known = len(found) + self.judge.unjudged
        groups = f"{plural(known, 'group')}: {', '.join(each)}" if known else "no group"
        _print_line(f"{groups}; {plural(self.read, 'line')} read{gone}; {printable(self.ended)}")


def _print_line(text: str) -> None:
    sys.stdout.write(not_obeyed(text) + "\n")
    sys.stdout.flush()


def run(
    paths: Sequence[str | Path],
    format: str | None,
    group: str | None,
    as_json: bool,
    until: Until,
    seconds: float | None,
    window: float | None,
    from_end: bool,
    knowledge: Path | None = None,
) -> int:
    """Follows logs, prints changes, and gives the exit code. `seconds`: for how long at most;
    `window`: how many seconds lines count; `from_end`: what files hold already is not read. Raises
    `UserError` for what cannot be followed.
    """
    known = shipped_knowledge()
    if knowledge is not None:
        known = knowledge_of(knowledge)
        try_cases(knowledge, known)
    known_format(format)
    names = list(dict.fromkeys(str(path) for path in paths))
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    read_of: Read = {}
    with ExitStack() as stack:
        logs = []
        for name in names:
            logs.append(opened(name, 0 if from_end else BACKWARDS, read_of))
            stack.callback(logs[-1].close)
        judge = Judge(ReplayOptions(group, format), known, window or WINDOW_S)
        following = Following(logs, judge, as_json, until, seconds)
        interrupted: list[str] = []
        with until_interrupted(interrupted.append):
            following.run()
            following.finish()
        following.ended = interrupted[0] if interrupted else following.ended
        code = 3 if interrupted else following.exit_code
        following.tell_end(code)
    return code
