"""Advice as a JSON document (`groupcheck.advise/1`) and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.document import assumptions, interval, number
from groupcheck.oracles.simulate.intervals import CONFIDENCE, Interval
from groupcheck.oracles.simulate.uses.advice import (
    DEFAULT_POLL_MS,
    Advice,
    Alternative,
    Costed,
    Event,
)
from groupcheck.oracles.simulate.view import duration

SCHEMA = "groupcheck.advise/1"
WORDS = {
    "classic": "eager, dynamic members",
    "cooperative": "cooperative, dynamic members",
    "static_membership": "eager, static members",
    "cooperative_static": "cooperative, static members",
}


def document(advice: Advice) -> dict[str, Any]:
    """The whole answer."""
    group = advice.described
    return {
        "schema": SCHEMA,
        "members": group.members,
        "partitions": group.partitions,
        "restart_ms": group.restart_ms,
        "slow_ms": group.slow_ms,
        "cost": advice.cost.measure,
        "seed": advice.seed,
        "replications": advice.replications,
        "confidence": CONFIDENCE,
        "assumptions": assumptions(group.assumptions),
        "events": [
            {"event": e.name, "scenario": e.scenario, "per_week": e.per_week} for e in advice.events
        ],
        "recommended": _alternative(advice.recommended.alternative),
        "alternatives": [_costed(advice, c) for c in advice.costed],
        "thresholds": [
            {
                "event": t.event,
                "per_week": number(t.per_week),
                "when": "more often" if t.more else "less often",
                "instead": _alternative(t.instead),
            }
            for t in advice.thresholds
        ],
        "notes": list(advice.notes),
    }


def _alternative(a: Alternative) -> dict[str, Any]:
    return {"variant": a.variant, "settings": a.settings}


def _costed(advice: Advice, c: Costed) -> dict[str, Any]:
    return {
        **_alternative(c.alternative),
        "recommended": c is advice.recommended,
        "as_good_as_the_best": c in advice.equals,
        "cost_per_week": interval(intervals.mean(c.values)),
        "more_than_the_best": interval(advice.more_than_best(c)),
        "longest_pause_ms": number(c.longest_pause_ms),
        "rounds_per_week": number(intervals.mean(c.summed("rounds")).mean),
        "cost_of_one": {e.name: interval(c.of(e)) for e in advice.events},
    }


def named(a: Alternative) -> str:
    """An alternative in a few words; Kafka's default of max.poll.interval.ms is not named."""
    poll = f", max.poll {a.max_poll_interval_ms / 1000:g} s"
    usual = a.max_poll_interval_ms == DEFAULT_POLL_MS
    return f"{WORDS[a.variant]}, session {a.session_timeout_ms / 1000:g} s{'' if usual else poll}"


def amount(advice: Advice, found: Interval) -> str:
    """A cost with its interval."""
    cost = advice.cost
    text = f"{found.mean / cost.unit:,.1f} {cost.unit_name}"
    if found.low is None or found.high is None or found.low == found.high:
        return text
    return f"{text} ± {(found.high - found.mean) / cost.unit:,.1f}"


def _rate(per_week: float) -> str:
    return f"{per_week:,.0f}" if per_week >= 10 else f"{per_week:.2g}"


def sentences(advice: Advice) -> Iterator[str]:
    """Why it is recommended, and when something else would be."""
    best, mine, usual = advice.best, advice.recommended, advice.default
    if mine is not best:
        more = advice.more_than_best(mine)
        yield (
            f"The cheapest alternative is {named(best.alternative)}. The recommended one costs"
            f" {amount(advice, more)} more a week. That is within the uncertainty, or less than"
            " 1 %, and it changes less of Kafka's defaults."
        )
    if usual is None:
        yield "Kafka's defaults are no alternative here: the slow message is too long for them."
    elif usual is not mine:
        yield (
            f"Kafka's defaults cost {amount(advice, intervals.mean(usual.values))} a week, this"
            f" costs {amount(advice, intervals.mean(mine.values))}."
        )
    for t in advice.thresholds:
        yield (
            f"If a {t.event} came {'more' if t.more else 'less'} often than {_rate(t.per_week)}"
            f" times a week, the recommendation would be: {named(t.instead)}."
        )
    yield from advice.notes


def view(advice: Advice) -> RenderableType:
    """The answer for people: recommendation, alternatives, costs of each event, reasons."""
    group, mine = advice.described, advice.recommended
    told = (
        f"{group.members} members, {group.partitions} partitions, restarts of"
        f" {duration(group.restart_ms)(group.restart_ms)}; {_week(advice)}; seed {advice.seed},"
        f" {advice.replications} replications (means, 95 % t intervals)"
    )
    properties = "\n".join(f"  {name}={value}" for name, value in mine.alternative.settings.items())
    assumed = ", ".join(
        f"{name}={value if isinstance(value, str) else format(value, 'g')}"
        for name, value in assumptions(group.assumptions).items()
        if name not in SET_HERE
    )
    return Group(
        Text(f"Recommended: {named(mine.alternative)}", "bold"),
        Text(told),
        Text(f"\n{properties}\n"),
        Text(f"Cost: {advice.cost.doc}."),
        _alternatives(advice),
        Text("\nWhat one event costs, and what its week costs:"),
        _events(advice),
        Text("\n" + "\n".join(sentences(advice))),
        Text("\nAssumptions (--set NAME=VALUE changes one): " + assumed),
    )


SET_HERE = (
    "heartbeat_interval_ms",
    "session_timeout_ms",
    "max_poll_interval_ms",
    "restart_ms",
    "changed_members",
    "stall_ms",
)


def _week(advice: Advice) -> str:
    week = attrs.asdict(advice.described.week, recurse=False)
    return "a week has " + ", ".join(f"{rate:g} {name}" for name, rate in week.items())


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def _alternatives(advice: Advice) -> Table:
    table = _table("alternative", "a week", "rounds", "longest pause")
    for c in advice.costed:
        mark = "-> " if c is advice.recommended else " = " if c in advice.equals else "   "
        table.add_row(
            mark + named(c.alternative),
            amount(advice, intervals.mean(c.values)),
            f"{intervals.mean(c.summed('rounds')).mean:,.1f}",
            duration(c.longest_pause_ms)(c.longest_pause_ms),
        )
    return table


def _events(advice: Advice) -> Table:
    shown = [advice.recommended]
    if advice.default is not None and advice.default is not advice.recommended:
        shown.append(advice.default)
    names = ["recommended", "Kafka's defaults"][: len(shown)]
    table = _table("event", "a week", *(f"{n}, {what}" for n in names for what in ("one", "week")))
    for event in advice.events:
        cells = [cell for c in shown for cell in _of(advice, c, event)]
        table.add_row(event.name, f"{event.per_week:g}", *cells)
    return table


def _of(advice: Advice, c: Costed, event: Event) -> tuple[str, str]:
    cost = advice.cost
    one = c.of(event).mean / cost.unit
    return f"{one:,.2f} {cost.unit_name}", f"{one * event.per_week:,.1f} {cost.unit_name}"
