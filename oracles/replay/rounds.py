"""The rebalances of a group as rows of a table: those that are alike are folded into one row."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from attrs import frozen

from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import seconds, some_of
from groupcheck.traces.story.member import client_of
from groupcheck.traces.story.moments import Moment, Round, elapsed

COLUMNS = ("started", "generation", "why", "took", "size", "held up by")
NAMES_SHOWN = 3
LONGEST_CYCLE = 3
ALIKE = 3
"""So many times at least the same rounds follow each other, before they are folded."""

Cells = tuple[str, str, str, str, str, str]


@frozen
class Fold:
    """Rounds that follow each other and are alike, or one round."""

    rounds: Sequence[Round]
    # How many different rounds take turns: 1, or 2 where a join and a leave alternate.
    cycle: int = 1


def folded(rounds: Sequence[Round]) -> list[Fold]:
    """All rounds in order, each in one fold."""
    keys = [_kind(x) for x in rounds]
    out: list[Fold] = []
    k = 0
    while k < len(rounds):
        cycle, times = max(
            ((n, _times(keys, k, n)) for n in range(1, LONGEST_CYCLE + 1)),
            key=lambda found: (found[0] * found[1] if found[1] >= ALIKE else 0, -found[0]),
        )
        if times < ALIKE:
            cycle = times = 1
        out.append(Fold(rounds[k : k + cycle * times], cycle))
        k += cycle * times
    return out


def _times(keys: Sequence[tuple[object, ...]], start: int, cycle: int) -> int:
    """How often the next `cycle` rounds come one after the other."""
    end = start + cycle
    while end < len(keys) and keys[end] == keys[end - cycle]:
        end += 1
    return (end - start) // cycle


def _kind(x: Round) -> tuple[object, ...]:
    """The common parts of equal rounds: all but times, generations, sizes and ids of one client."""
    causers = frozenset(map(client_of, x.causers))
    held = frozenset(map(client_of, x.held_up_by))
    reason = None if any(id in (x.client_reason or "") for id in x.causers) else x.client_reason
    return (x.cause, causers, reason, x.outcome, held, x.waited_for)


def fold_cells(fold: Fold, room: int | None = None) -> Cells:
    """The cells of a fold, in the order of `COLUMNS`."""
    if len(fold.rounds) == 1:
        return round_cells(fold.rounds[0], room)
    first, last = fold.rounds[0], fold.rounds[-1]
    one = [_cells(x, room, by_client=True) for x in fold.rounds[: fold.cycle]]
    alike = f"{len(fold.rounds)} rounds alike"
    if fold.cycle > 1:
        alike = f"{len(fold.rounds) // fold.cycle} times these {fold.cycle} rounds"
    until = _time(last)
    return (
        f"{_time(first)} to {until}" if until else _time(first),
        f"{_generation(first.from_generation)} to {_generation(last.to_generation)}",
        f"{alike}: " + "; then ".join(cells[2] for cells in one),
        _lengths(fold.rounds),
        _sizes(fold.rounds),
        "; ".join(dict.fromkeys(cells[5] for cells in one if cells[5])),
    )


def _sizes(rounds: Sequence[Round]) -> str:
    some = [x.size for x in rounds if x.size is not None]
    if not some:
        return ""
    return str(some[0]) if min(some) == max(some) else f"{min(some)} to {max(some)}"


def _lengths(rounds: Sequence[Round]) -> str:
    took = [ms for x in rounds if (ms := elapsed(x.started, x.ended)) is not None]
    if took:
        return f"{seconds(round(median(took)))}, at most {seconds(max(took))}"
    join = [ms for x in rounds if (ms := elapsed(x.started, x.joined_at)) is not None]
    return f"{seconds(round(median(join)))} *" if join else rounds[0].outcome


def round_cells(x: Round, room: int | None = None) -> Cells:
    """started (time of day), generations, why, how long, size, held up by. Member ids are cut to
    `room` characters.
    """
    return _cells(x, room, by_client=False)


def _cells(x: Round, room: int | None, by_client: bool) -> Cells:
    def shown(ids: Sequence[str]) -> str:
        return names([*dict.fromkeys(map(client_of, ids))] if by_client else ids, room)

    took, join = elapsed(x.started, x.ended), elapsed(x.started, x.joined_at)
    length = (
        seconds(took)
        if took is not None
        else f"{seconds(join)} *"
        if join is not None
        else x.outcome
    )
    by = shown(x.causers)
    why = x.cause.value.replace("_", " ") + (f": {by}" if by else "")
    if (
        x.client_reason
        and x.client_reason != "not provided"
        and not any(id in x.client_reason for id in x.causers)
    ):
        why += f" ({x.client_reason})"
    held = shown(x.held_up_by)
    return (
        _time(x),
        f"{_generation(x.from_generation)} to {_generation(x.to_generation)}",
        why,
        length,
        "" if x.size is None else str(x.size),
        f"{held}: {x.waited_for}" if held else x.waited_for,
    )


def began(x: Round) -> Moment | None:
    """When a round begins, as far as the log tells."""
    told = x.started is not None and x.started.time is not None
    return x.started if told else x.joined_at or x.started


def _time(x: Round) -> str:
    at = began(x)
    return show_time(at.time if at else None)[-12:]


def _generation(number: int | None) -> str:
    return "?" if number is None else str(number)


def names(ids: Sequence[str], room: int | None) -> str:
    """A few ids, and how many more there are."""
    return some_of([short(id, room) for id in ids], NAMES_SHOWN)


def short(id: str, room: int | None) -> str:
    """A member id that still tells client and process: the beginning, and the last characters of
    its UUID.
    """
    return id if room is None or len(id) <= room else f"{id[: room - 8]}…{id[-6:]}"


def cut(text: str, most: int) -> str:
    """The text in at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def lasted(ms: int) -> str:
    """`12.3 s`, `53 min 32 s`, `3 h 12 min`."""
    if ms < 120_000:
        return seconds(ms)
    minutes = ms // 60_000
    if minutes < 120:
        return f"{minutes} min {ms // 1000 % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"
