"""The answer to `replay --what-if` as a JSON document (`groupcheck.what-if/1`) and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from groupcheck.oracles.replay.what_if import what_if_types
from groupcheck.oracles.replay.what_if.answer import (
    RebalanceRow,
    Stood,
    WhatIf,
    difference,
    interval,
)
from groupcheck.oracles.replay.what_if.prices import bounds_of_sessions, noticed
from groupcheck.oracles.replay.what_if.settings import PROTOCOL, Estimate
from groupcheck.oracles.replay.what_if.sides import REPLICATIONS
from groupcheck.oracles.show import json_schemas
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.document import assumptions, finite, number
from groupcheck.oracles.simulate.document import interval as interval_shown
from groupcheck.oracles.simulate.intervals import CONFIDENCE, Interval
from groupcheck.oracles.simulate.view import Unit, duration
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import plural, some_of
from groupcheck.traces.story.moments import Round, elapsed

SCHEMA = "groupcheck.what-if/1"
LEAST_MS = 50.0  # a difference of times that is shown as 0.1 s


def document(found: Sequence[WhatIf]) -> dict[str, Any]:
    """The whole answer, group by group."""
    shown = what_if_types.WhatIfDocument(
        seed=found[0].seed,
        replications=max(one.replications for one in found),
        confidence=CONFIDENCE,
        what_if=[*found[0].change.words, *(f"{k}={v}" for k, v in _settings(found[0]))],
        groups=[_group(one) for one in found],
    )
    return json_schemas.document(SCHEMA, shown)


def _settings(found: WhatIf) -> list[tuple[str, str]]:
    return sorted(found.change.settings.items())


def _group(w: WhatIf) -> what_if_types.Group:
    return what_if_types.Group(
        group=w.outside.group,
        file=w.file,
        verdict=w.verdict,
        sentences=list(sentences(w)),
        processes=len(w.outside.processes),
        partitions=w.partitions,
        replications=w.replications,
        baseline=_simulated(*w.baseline),
        changed=_simulated(*w.changed),
        told_by_the_log={k: finite(v) for k, v in sorted(w.settings.told.items())},
        estimated={
            name: what_if_types.Estimate(value_ms=finite(one.value_ms), from_=one.source)
            for name, one in _estimates(w)
        },
        assumed=[*w.assumed, *(["partitions"] if w.partitions_guessed else [])],
        reproduced=w.reproduced,
        avoided=len(w.avoided),
        rounds=what_if_types.Rounds(
            log=len(w.rows),
            baseline=interval_shown(interval(w.rounds[0])),
            changed=interval_shown(interval(w.rounds[1])),
        ),
        rebalances=[_rebalance(row) for row in w.rows],
        events=[
            what_if_types.Event(
                what=h.what,
                process=w.outside.processes[h.process].names[-1],
                line=h.line,
                t=round(h.at),
                until=None if h.until is None else round(h.until),
                slack_ms=finite(h.slack),
            )
            for h in w.outside.happenings
        ],
        renamed=[
            what_if_types.NewName(from_=old, to=new, line=line)
            for old, new, line in w.outside.renamed
        ],
        stood_still=[_standstill(s) for s in w.stood],
        stopped_ms=_stopped_ms(*w.stopped),
    )


def _simulated(variant: str, given: Assumptions) -> what_if_types.Simulated:
    return what_if_types.Simulated(variant=variant, assumptions=assumptions(given))


def _rebalance(row: RebalanceRow) -> what_if_types.Rebalance:
    r = row.round
    started = r.started
    return what_if_types.Rebalance(
        from_generation=r.from_generation,
        to_generation=r.to_generation,
        started=show_time(started.time) if started and started.time is not None else None,
        line=started.line if started else None,
        cause=r.cause.value,
        members=list(r.causers),
        duration_ms=elapsed(r.started, r.ended),
        simulated=row.simulated,
        reproduced=row.reproduced,
        baseline_rounds=list(row.baseline),
        changed_rounds=list(row.changed),
        not_judged=row.doubt or None,
        changed_merged=list(row.merged),
        avoided_share=number(row.avoided) if row.judged else None,
    )


def _standstill(s: Stood) -> what_if_types.Standstill:
    return what_if_types.Standstill(
        process=s.names[-1],
        names=list(s.names),
        baseline_ms=interval_shown(interval(s.baseline)),
        changed_ms=interval_shown(interval(s.changed)),
        saved_ms=interval_shown(s.saved),
    )


def _stopped_ms(baseline: Sequence[float], changed: Sequence[float]) -> what_if_types.StopTime:
    return what_if_types.StopTime(
        baseline=interval_shown(interval(baseline)),
        changed=interval_shown(interval(changed)),
        saved=interval_shown(difference(baseline, changed)),
    )


def generations(r: Round) -> str:
    """`3 to 4`: the generations of a rebalance, as far as the log tells them."""
    before, after = r.from_generation, r.to_generation
    if after is None:
        return "not told" if before is None else f"{before} to none"
    return f"{'?' if before is None else before} to {after}"


def replication_words(row: RebalanceRow, counts: Sequence[int]) -> str:
    """`8 of 8` replications have it."""
    return f"{sum(n > 0 for n in counts)} of {len(counts)}" if row.simulated else "-"


def sentences(w: WhatIf) -> Iterator[str]:
    """The sentences of the answer, and how far it can be trusted; a conclusion is the first."""
    if w.reason:
        yield f"Unknown: {w.reason}."
    if w.trusted:
        yield conclusion(w)
    yield from _verdict(w)
    if w.like_the_log:
        yield from _rounds(w)
        yield from _stands_still(w)
        yield from _stopped(w)
        yield from noticed(w)
    yield from bounds_of_sessions(w)
    yield from _assumed(w)
    yield from _fewer(w)


def conclusion(w: WhatIf) -> str:
    """Whether the change helps, in one sentence: as far as differences can be told from chance."""
    good, bad = [], []
    if count := len(w.avoided):
        good.append(f"{count} of the {plural(len(w.rows), 'rebalance')} would not have happened")
    if told_apart(more := difference(w.rounds[1], w.rounds[0])) and more.mean >= 0.5:
        bad.append(f"{more.mean:.1f} more rounds happen")
    stood = difference(*(_summed(side) for side in _sides(w)))
    stopped = difference(*w.stopped)
    for saved, what in (
        (stood, "members stand still"),
        (stopped, "partitions stand without a reader"),
    ):
        if told_apart(saved) and abs(saved.mean) >= LEAST_MS:
            (good if saved.mean > 0 else bad).append(
                f"{what} {_time(abs(saved.mean))} {'less' if saved.mean > 0 else 'more'}"
            )
    lead = "The change makes no difference that can be told from chance."
    if good and bad:
        lead = "The change helps, and it costs:"
    elif good or bad:
        lead = "The change helps:" if good else "The change makes things worse:"
    told = ", ".join(good)
    if bad:
        told += f"{', but ' if good else ''}{', '.join(bad)}"
    return f"{lead} {told}." if told else lead


def told_apart(found: Interval) -> bool:
    """Can a difference be told from none?"""
    return found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)


def _summed(side: Sequence[Sequence[float]]) -> list[float]:
    return [sum(values) for values in zip(*side)]


def _time(ms: float) -> str:
    return unit_of(ms)(ms)


def unit_of(ms: float) -> Unit:
    """Times of an answer are in seconds at least, so that they can be compared."""
    return duration(max(ms, 1000))


def _verdict(w: WhatIf) -> Iterator[str]:
    rows = plural(len(w.rows), "rebalance")
    if not w.like_the_log:
        yield (
            "Unknown: the simulation does not fit the log. When the events of the log are simulated"
            f" under the group's own protocol and settings, {_amiss(w)}, so what the change does"
            " cannot be told from this log."
        )
        if w.assumed:
            yield "Settings that are estimated or assumed below may not be those of the group."
        return
    yield f"The baseline has {w.reproduced} of the {rows} of the log."
    yield from _doubts(w)
    if not w.trusted:
        return
    avoided = w.avoided
    if avoided:
        named = _named(avoided)
        yield f"{plural(len(avoided), 'rebalance')} would not have happened: {named}."
    elif all(row.judged for row in w.rows):
        yield "Every rebalance would still have happened."
    else:
        yield "Every rebalance that can be judged would still have happened."
    if merged := [row for row in w.rows if row.merges]:
        yield (
            f"{plural(len(merged), 'rebalance')} would have been one with another:"
            f" {_named(merged)}."
        )


def _amiss(w: WhatIf) -> str:
    """In what the baseline differs from the log."""
    found = []
    if w.too_few:
        happen = "happens" if w.reproduced == 1 else "happen"
        found.append(f"only {w.reproduced} of its {plural(len(w.rows), 'rebalance')} {happen}")
    if w.too_many:
        found.append(
            f"{w.own_rounds:.1f} rounds happen on average that the log does not have"
            + _multiplied(w)
        )
    return " and ".join(found)


def _multiplied(w: WhatIf) -> str:
    """The rebalances of the log whose events begin several rounds in the baseline."""
    means = [(sum(row.baseline) / w.replications, row) for row in w.rows if row.simulated]
    many = sorted((pair for pair in means if pair[0] > 1.5), key=lambda pair: -pair[0])[:3]
    told = [f"of generation {generations(row.round)} begin {mean:.1f}" for mean, row in many]
    return f" (where the log has one, the events {', those '.join(told)})" if told else ""


def _rounds(w: WhatIf) -> Iterator[str]:
    first, then = interval(w.rounds[0]), interval(w.rounds[1])
    yield (
        f"Rounds in all: {first.mean:.1f} in the baseline, {then.mean:.1f} after the change"
        f"{_bounds(then)}."
    )
    more = difference(w.rounds[1], w.rounds[0])
    if more.mean >= 0.5 and (more.low is None or more.low > 0):
        yield f"The change adds rebalances: {more.mean:.1f} more on average{_bounds(more)}."
    elif w.trusted and w.avoided and then.mean >= first.mean:
        yield "As many rounds happen in their place."


def _stands_still(w: WhatIf) -> Iterator[str]:
    before, after = (_summed(side) for side in _sides(w))
    yield f"All members together stand still {_compared(before, after)}."
    if any(not row.simulated for row in w.rows):
        missing = sum(not row.simulated for row in w.rows)
        about = "it" if missing == 1 else "them"
        yield (
            f"{plural(missing, 'rebalance')} began for a reason that is not simulated (a member"
            f" joined again by itself, or topics changed), so nothing is said about {about}."
        )


def _stopped(w: WhatIf) -> Iterator[str]:
    yield f"Partitions, summed up, stand without a reader for {_compared(*w.stopped)}."


def _compared(before: Sequence[float], after: Sequence[float]) -> str:
    """Two times in ms, as their difference in words: `1.2 s less than the 3.0 s of ...`."""
    more, first = difference(after, before), interval(before).mean
    if abs(more.mean) < LEAST_MS:
        return f"about as long as in the baseline, {_time(first)}"
    word = "more"
    if more.mean < 0:
        more, word = difference(before, after), "less"
    if more.low is not None and not told_apart(more):
        return f"about as long as in the baseline, {_time(first)}{_spread(more, word)}"
    return f"{_time(more.mean)} {word} than the {_time(first)} of the baseline{_spread(more)}"


def _assumed(w: WhatIf) -> Iterator[str]:
    """The assumptions that the log does not state."""
    estimates = _estimates(w)
    if estimates:
        told = (f"{name}={one.value_ms:.0f} (from {one.source})" for name, one in estimates)
        yield "Estimated: " + ", ".join(told) + "."
    known = {name for name, _ in estimates}
    values = [
        f"{name}={'eager' if name == PROTOCOL else format(getattr(w.baseline[1], name), '.15g')}"
        for name in w.assumed
        if name not in known
    ]
    if values:
        yield "The log does not tell " + ", ".join(values) + "."
    if w.assumed:
        yield "--set NAME=VALUE replaces what is estimated or assumed."
    if w.partitions_guessed:
        yield (
            f"The log does not tell the partitions: {w.partitions} are assumed, as many as"
            " processes; --partitions replaces that."
        )
    for old, new, line in w.outside.renamed[:3]:
        yield f"{new} (line {line}) is taken for {old}, restarted under another name."
    if len(w.outside.renamed) > 3:
        yield f"So are {len(w.outside.renamed) - 3} others."


def _doubts(w: WhatIf) -> Iterator[str]:
    """Why rebalances are not judged."""
    unknown = "" if w.trusted else "Unknown: "
    for doubt, count in w.doubts.items():
        yield f"{unknown}{plural(count, 'rebalance')} cannot be judged: {doubt}."


def _estimates(w: WhatIf) -> list[tuple[str, Estimate]]:
    return [(n, e) for n, e in sorted(w.settings.estimated.items()) if n in w.assumed]


def _fewer(w: WhatIf) -> Iterator[str]:
    if w.shortened:
        yield (
            f"{w.replications} of {REPLICATIONS} replications were run, because the first took"
            f" {w.first_s:.0f} s; --replications {REPLICATIONS} runs all, in about"
            f" {max(REPLICATIONS * w.first_s / 60, 1):.0f} min."
        )


def _sides(w: WhatIf) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    return [s.baseline for s in w.stood], [s.changed for s in w.stood]


def _named(rows: Sequence[RebalanceRow]) -> str:
    return some_of([f"that of generation {generations(row.round)}" for row in rows], 6)


def _bounds(found: Interval) -> str:
    if found.low is None or found.high is None or found.low == found.high:
        return ""
    return f" (95 % t interval: {_signed(found.low)} to {_signed(found.high)})"


def _spread(found: Interval, word: str = "") -> str:
    """The interval of a difference of times in ms. `word`: in which direction it counts."""
    if found.low is None or found.high is None or found.low == found.high:
        return ""
    unit = unit_of(max(abs(found.low), abs(found.high)))
    low, high = unit.bare(found.low), unit(found.high)
    return f" (95 % t interval of the difference: {low} to {high}{f' {word}' if word else ''})"


def _signed(value: float) -> str:
    """With one digit, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:,.1f}"
