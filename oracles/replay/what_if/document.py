"""The answer to `replay --what-if` as a JSON document (`groupcheck.what-if/1`) and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from groupcheck.oracles.replay.what_if.answer import Row, Stood, WhatIf, interval
from groupcheck.oracles.replay.what_if.settings import PROTOCOL, Estimate
from groupcheck.oracles.simulate.document import assumptions, number
from groupcheck.oracles.simulate.document import interval as interval_document
from groupcheck.oracles.simulate.intervals import CONFIDENCE
from groupcheck.traces.anomalies import plural
from groupcheck.traces.moments import elapsed
from groupcheck.traces.timestamps import show_time

SCHEMA = "groupcheck.what-if/1"


def document(found: Sequence[WhatIf]) -> dict[str, Any]:
    """The whole answer, group by group."""
    return {
        "schema": SCHEMA,
        "seed": found[0].seed,
        "replications": found[0].replications,
        "confidence": CONFIDENCE,
        "what_if": [*found[0].change.words, *(f"{k}={v}" for k, v in _settings(found[0]))],
        "groups": [_group(one) for one in found],
    }


def _settings(found: WhatIf) -> list[tuple[str, str]]:
    return sorted(found.change.settings.items())


def _group(w: WhatIf) -> dict[str, Any]:
    return {
        "group": w.outside.group,
        "file": w.file,
        "verdict": w.verdict,
        "sentences": list(sentences(w)),
        "processes": len(w.outside.processes),
        "partitions": w.partitions,
        "baseline": {"variant": w.baseline[0], "assumptions": assumptions(w.baseline[1])},
        "changed": {"variant": w.changed[0], "assumptions": assumptions(w.changed[1])},
        "told_by_the_log": {k: number(v) for k, v in sorted(w.outside.settings.told.items())},
        "estimated": {
            name: {"value_ms": number(one.value_ms), "from": one.source}
            for name, one in _estimates(w)
        },
        "assumed": list(w.assumed),
        "reproduced": w.reproduced,
        "avoided": len(w.avoided),
        "rounds": {
            "log": len(w.rows),
            "baseline": interval_document(interval(w.rounds[0])),
            "changed": interval_document(interval(w.rounds[1])),
        },
        "rebalances": [_row(row) for row in w.rows],
        "events": [
            {
                "what": h.what,
                "process": w.outside.processes[h.process].names[-1],
                "line": h.line,
                "t": round(h.at),
                "until": None if h.until is None else round(h.until),
                "slack_ms": number(h.slack),
            }
            for h in w.outside.happenings
        ],
        "renamed": [{"from": old, "to": new, "line": line} for old, new, line in w.outside.renamed],
        "stood_still": [_stood(s) for s in w.stood],
    }


def _row(row: Row) -> dict[str, Any]:
    r = row.round
    started = r.started
    return {
        "from_generation": r.from_generation,
        "to_generation": r.to_generation,
        "started": show_time(started.time) if started and started.time is not None else None,
        "line": started.line if started else None,
        "cause": r.cause.value,
        "members": list(r.causers),
        "duration_ms": elapsed(r.started, r.ended),
        "simulated": row.simulated,
        "reproduced": row.reproduced,
        "baseline_rounds": list(row.baseline),
        "changed_rounds": list(row.changed),
        "not_judged": row.doubt or None,
        "avoided_share": number(row.avoided) if row.judged else None,
    }


def _stood(s: Stood) -> dict[str, Any]:
    return {
        "process": s.names[-1],
        "names": list(s.names),
        "baseline_ms": interval_document(interval(s.baseline)),
        "changed_ms": interval_document(interval(s.changed)),
        "saved_ms": interval_document(s.saved),
    }


def told(row: Row, counts: Sequence[int]) -> str:
    """`8 of 8` replications have it."""
    return f"{sum(n > 0 for n in counts)} of {len(counts)}" if row.simulated else "-"


def sentences(w: WhatIf) -> Iterator[str]:
    """What the answer says, and how far it can be trusted."""
    rows = plural(len(w.rows), "rebalance")
    if not w.like_the_log:
        yield (
            f"Unknown: only {w.reproduced} of the {rows} of the log happen when its events are"
            " simulated under the group's own protocol and settings, so what the change does"
            " cannot be told from this log."
        )
    else:
        yield f"The baseline has {w.reproduced} of the {rows} of the log."
        yield from _doubts(w)
    if w.trusted:
        avoided = w.avoided
        yield (
            f"{plural(len(avoided), 'rebalance')} would not have happened"
            + (": " + _named(avoided) if avoided else "")
            + "."
        )
    first, then = interval(w.rounds[0]), interval(w.rounds[1])
    yield (
        f"Rounds in all: {first.mean:.1f} in the baseline, {then.mean:.1f} after the change"
        f"{_bounds(then)}."
    )
    if w.trusted and w.avoided and then.mean >= first.mean:
        yield "As many rounds happen in their place."
    before, after = ([sum(values) for values in zip(*side)] for side in _sides(w))
    saved = interval([(a - b) / 1000 for a, b in zip(before, after)])
    word = "less" if saved.mean >= 0 else "more"
    yield (
        f"All members together stand still {abs(saved.mean):,.1f} s {word} than the"
        f" {interval([b / 1000 for b in before]).mean:,.1f} s of the baseline{_spread(saved)}."
    )
    if any(not row.simulated for row in w.rows):
        missing = sum(not row.simulated for row in w.rows)
        yield (
            f"{plural(missing, 'rebalance')} began for a reason that is not simulated (a member"
            " joined again by itself, or topics changed), so nothing is said about them."
        )
    yield from _assumed(w)
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
    return [(n, e) for n, e in sorted(w.outside.settings.estimated.items()) if n in w.assumed]


def _assumed(w: WhatIf) -> Iterator[str]:
    """What the log does not state."""
    estimates = _estimates(w)
    if estimates:
        told = (f"{name}={one.value_ms:.0f} (from {one.source})" for name, one in estimates)
        yield "Estimated: " + ", ".join(told) + "."
    known = {name for name, _ in estimates}
    values = [
        f"{name}={'eager' if name == PROTOCOL else format(getattr(w.baseline[1], name), 'g')}"
        for name in w.assumed
        if name not in known
    ]
    if values:
        yield "The log does not tell " + ", ".join(values) + "."
    if w.assumed:
        yield "--set NAME=VALUE replaces what is estimated or assumed."


def _sides(w: WhatIf) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    return [s.baseline for s in w.stood], [s.changed for s in w.stood]


def _named(rows: Sequence[Row]) -> str:
    pairs = [(row.round.from_generation, row.round.to_generation) for row in rows]
    named = [f"that of generation {before} to {after}" for before, after in pairs]
    return ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")


def _bounds(found: Any) -> str:
    if found.low is None or found.low == found.high:
        return ""
    return f" (95 % t interval: {found.low:.1f} to {found.high:.1f})"


def _spread(found: Any) -> str:
    if found.low is None or found.low == found.high:
        return ""
    return f" (95 % t interval of the difference: {found.low:,.1f} to {found.high:,.1f})"
