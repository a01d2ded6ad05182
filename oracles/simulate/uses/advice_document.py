"""Advice as a JSON document (`groupcheck.advise/1`) and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.show import json_schemas
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.document import (
    assumptions,
    finite,
    interval,
    listed,
    number,
    spread,
)
from groupcheck.oracles.simulate.intervals import CONFIDENCE, Interval
from groupcheck.oracles.simulate.uses import advise_types
from groupcheck.oracles.simulate.uses.advice import COSTS, SAME, Advice, AlternativeCost, Threshold
from groupcheck.oracles.simulate.uses.advice_group import (
    DEFAULT_HEARTBEAT_MS,
    DEFAULT_POLL_MS,
    DEFAULT_SESSION_MS,
    DESCRIBED,
    INTERVAL,
    OF_BROKER,
    OF_CONSUMER,
    STATIC,
    TIMEOUTS,
    UNUSED,
    Alternative,
)
from groupcheck.oracles.simulate.uses.advice_versions import has_protocol, needs
from groupcheck.oracles.simulate.uses.advice_week import Event
from groupcheck.oracles.simulate.view import duration

SCHEMA = "groupcheck.advise/1"
WORDS = {
    "classic": "eager, dynamic members",
    "cooperative": "cooperative, dynamic members",
    "static_membership": "eager, static members",
    "cooperative_static": "cooperative, static members",
    "consumer": "consumer (KIP-848), dynamic members",
    "consumer+static": "consumer (KIP-848), static members",
}


def document(advice: Advice) -> dict[str, Any]:
    """The whole answer."""
    group = advice.described
    shown = advise_types.AdviseDocument(
        members=group.members,
        partitions=group.partitions,
        restart_ms=group.restart_ms,
        slow_ms=group.slow_ms,
        outage_ms=group.outage_ms,
        kafka=group.kafka,
        now=None if group.now is None else _configuration(group.now),
        cost=advice.cost.measure,
        verdict="unknown" if advice.reason else "answered",
        reason=advice.reason or None,
        seed=advice.seed,
        replications=advice.replications,
        confidence=CONFIDENCE,
        assumptions=assumptions(group.assumptions),
        events=[
            advise_types.Event(event=e.name, scenario=e.scenario, per_week=e.per_week)
            for e in advice.events
        ],
        recommended=_configuration(advice.recommended.alternative),
        alternatives=[_alternative(advice, c) for c in advice.costed],
        thresholds=[
            advise_types.Threshold(
                event=t.event,
                per_week=finite(t.per_week),
                when="more often" if t.more else "less often",
                near=t.near,
                instead=_configuration(t.instead),
            )
            for t in advice.thresholds
        ],
        notes=list(advice.notes),
    )
    return json_schemas.document(SCHEMA, shown)


def _configuration(a: Alternative) -> advise_types.Configuration:
    return advise_types.Configuration(variant=a.variant, settings=a.settings)


def _alternative(advice: Advice, c: AlternativeCost) -> advise_types.Alternative:
    return advise_types.Alternative(
        configuration=_configuration(c.alternative),
        recommended=c is advice.recommended,
        now=c is advice.now,
        as_good_as_the_best=c in advice.equals,
        cost_per_week=interval(c.of_week),
        more_than_the_best=interval(advice.more_than_best(c)),
        longest_pause_ms=number(c.longest_pause_ms),
        rounds_per_week=number(intervals.mean(c.summed("rounds")).mean),
        cost_of_one={e.name: interval(c.of(e)) for e in advice.events},
    )


def named(a: Alternative) -> str:
    """An alternative in a few words; Kafka's defaults of heartbeat.interval.ms and
    max.poll.interval.ms are not named.
    """
    words = f"{WORDS[a.variant]}, session {a.session_timeout_ms / 1000:g} s"
    if a.heartbeat_interval_ms != DEFAULT_HEARTBEAT_MS and a.variant not in OF_CONSUMER:
        words += f", heartbeat {a.heartbeat_interval_ms / 1000:g} s"
    if a.max_poll_interval_ms != DEFAULT_POLL_MS:
        words += f", max.poll {a.max_poll_interval_ms / 1000:g} s"
    return words


def recommendation(advice: Advice) -> str:
    """The recommended alternative, and what it costs beside what there is now."""
    mine = advice.recommended
    text = f"{named(mine.alternative)}; it costs {amount(advice, mine.of_week)} a week"
    for words, other in (("what you have now", advice.now), ("Kafka's defaults", advice.default)):
        if other is not None and other is not mine:
            return f"{text}; {words}: {amount(advice, other.of_week)}"
    return text


def amount(advice: Advice, found: Interval) -> str:
    """A cost with its interval."""
    cost = advice.cost
    text = f"{found.mean / cost.unit:,.1f} {cost.unit_name}"
    return text + spread(found, lambda value: f"{value / cost.unit:,.1f}")


def _rate(per_week: float) -> str:
    shown = f"{per_week:,.0f}" if per_week >= 10 else f"{per_week:.2g}"
    return "once" if shown == "1" else f"{shown} times"


def sentences(advice: Advice) -> Iterator[str]:
    """Why it is recommended, and when something else would be."""
    best, mine, usual, now = advice.best, advice.recommended, advice.default, advice.now
    if advice.idle:
        yield (
            "Nothing that was described costs anything, whatever the settings are. Say what happens"
            " to the group, as in --deploys-per-week 5."
        )
    elif mine is not best:
        more = advice.more_than_best(mine)
        base = "of Kafka's defaults" if advice.described.now is None else "of what you have now"
        if more.mean <= SAME * best.mean:
            why, then = "That is less than 1 %", ""
        else:
            why = f"After {advice.replications} replications that may still be chance"
            then = " More --replications narrow the interval and can show which one is cheaper."
        yield (
            f"The cheapest alternative on average is {named(best.alternative)}, by"
            f" {amount(advice, more)} a week. {why}, so the one that changes less {base} is"
            f" recommended.{then}"
        )
    if now is mine:
        yield "The recommended one is what you have now."
    if usual is None:
        yield "Kafka's defaults are no alternative here: the slow message is too long for them."
    for words, other in (("What you have now costs", now), ("Kafka's defaults cost", usual)):
        if other is not None and other is not mine and not advice.idle:
            yield (
                f"{words} {amount(advice, other.of_week)} a week, this costs"
                f" {amount(advice, mine.of_week)}."
            )
    yield from _short_session(advice)
    yield from _against_usual_advice(advice)
    if mine.alternative.variant in OF_CONSUMER and advice.described.kafka is not None:
        has_it = now is not None and now.alternative.variant in OF_CONSUMER
        yield from needs(advice.described.kafka, has_it)
    yield from (_threshold(advice, t) for t in advice.thresholds)
    yield from advice.notes


def _against_usual_advice(advice: Advice) -> Iterator[str]:
    """Static members are what is usually advised for restarts (KIP-345): why they are not it here,
    and what would speak for them.
    """
    group, mine = advice.described, advice.recommended
    bridging = [
        c
        for c in advice.costed
        if c.alternative.variant in STATIC and c.alternative.session_timeout_ms > group.restart_ms
    ]
    restarts = group.week.deploys or group.week.bounces
    is_asked = restarts and bridging and advice.cost is COSTS["stopped"] and not advice.idle
    as_good = mine.alternative.variant in STATIC or any(c in advice.equals for c in bridging)
    if not is_asked or as_good:
        return
    static = bridging[0]
    rounds, fewer = (intervals.mean(c.summed("rounds")).mean for c in (mine, static))
    yield (
        "For restarts, static members are usually advised (KIP-345). Here the best of them,"
        f" {named(static.alternative)}, has {fewer:,.1f} rounds a week in place of {rounds:,.1f},"
        f" and costs {amount(advice, static.of_week)}: the partitions of a process that restarts"
        f" wait for it, {_time(group.restart_ms)} each time, where dynamic members hand them on."
    )


def _short_session(advice: Advice) -> Iterator[str]:
    """The assumptions behind a session shorter than Kafka's default, if nobody has described it."""
    group, mine = advice.described, advice.recommended.alternative
    name = "session.timeout.ms"
    if mine.variant in OF_CONSUMER:
        name = f"group.consumer.{name}"
    if mine.session_timeout_ms < DEFAULT_SESSION_MS and not group.disturbed:
        yield (
            f"{name}={mine.session_timeout_ms:.0f} is shorter than Kafka's default of"
            " 45 s, which is there because members that work lose the coordinator for a while"
            f" (KIP-735). It rests on these assumptions: {_outages(advice)} a week"
            " (--outages-per-week, --outage), no loss and no pauses of processes (--set loss=SHARE,"
            " --set pause_every_s=SECONDS)."
        )


def _threshold(advice: Advice, t: Threshold) -> str:
    instead = f"the recommendation would be: {named(t.instead)}."
    if t.near:
        given = next(e.per_week for e in advice.events if e.name == t.event)
        return (
            f"The answer is not stable at {_several(given, t.event)} a week. With slightly"
            f" {'more' if t.more else 'fewer'}, {instead}"
        )
    often = "more" if t.more else "less"
    return f"If {_a(t.event)} came {often} often than {_rate(t.per_week)} a week, {instead}"


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _several(rate: float, name: str) -> str:
    many = name + ("es" if name.endswith("sh") else "s")
    return f"{rate:g} {name if rate == 1 else many}"


def _outages(advice: Advice) -> str:
    group = advice.described
    return f"{_several(group.week.outages, 'outage')} of {_time(group.outage_ms)}"


def _time(ms: float) -> str:
    return duration(ms)(ms)


def description(advice: Advice) -> str:
    """The group as it was described, and how it was simulated."""
    group = advice.described
    week = group.week
    happens = [
        _several(week.deploys, "deploy"),
        _several(week.bounces, "bounce"),
        _several(week.crashes, "crash"),
        _outages(advice),
        _several(week.slow, "slow message")
        + (f" of {_time(group.slow_ms)}" if group.slow_ms else ""),
        _several(week.hangs, "hang"),
    ]
    now = "" if group.now is None else f" You have now: {named(group.now)}."
    return (
        f"{_several(group.members, 'member')}, {_several(group.partitions, 'partition')}, restarts"
        f" of {_time(group.restart_ms)}; a week has {', '.join(happens)}; seed {advice.seed},"
        f" {advice.replications} replications (means, 95 % t intervals).{now}"
    )


def cost_words(advice: Advice) -> str:
    """The meaning of cost, and of the marks of alternatives."""
    now = ", *: what you have now" if advice.now is not None else ""
    return f"Cost: {advice.cost.doc} (->: recommended, =: as good as the cheapest one{now})."


def assumed(advice: Advice) -> str:
    """The assumptions that no alternative and no description replaces."""
    group = advice.described
    classic = group.kafka is None or not has_protocol(group.kafka)
    left_out = (*TIMEOUTS, *DESCRIBED, *UNUSED, *((*OF_BROKER, INTERVAL) if classic else ()))
    values = assumptions(group.assumptions).items()
    told = {name: value for name, value in values if name not in left_out}
    return f"Assumptions (--set NAME=VALUE changes one): {listed(told)}"


def view(advice: Advice) -> RenderableType:
    """The answer for people: recommendation, alternatives, costs of each event, reasons."""
    mine = advice.recommended.alternative
    return Group(
        # First, because an early recommendation may not be that of all replications.
        *([Text(f"Unknown: {advice.reason}.")] if advice.reason else []),
        Text(f"Recommended: {named(mine)}", "bold"),
        Text(description(advice)),
        Text("\n" + "\n".join(f"  {name}={value}" for name, value in mine.settings.items()) + "\n"),
        Text(cost_words(advice)),
        _table(*alternatives_table(advice)),
        Text("\n" + EVENTS_TOLD),
        _table(*events_table(advice)),
        Text("\n" + "\n".join(sentences(advice))),
        Text("\n" + assumed(advice)),
    )


EVENTS_TOLD = "What one event costs, and what its week costs:"


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(columns[0], overflow="fold")
    for column in columns[1:]:
        table.add_column(column, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def alternatives_table(advice: Advice) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The heads, and a row for each alternative, with its mark."""
    return ("alternative", "a week", "rounds", "longest pause"), [
        (
            _marked(advice, c),
            amount(advice, c.of_week),
            f"{intervals.mean(c.summed('rounds')).mean:,.1f}",
            _time(c.longest_pause_ms),
        )
        for c in advice.costed
    ]


def _marked(advice: Advice, c: AlternativeCost) -> str:
    mark = "-> " if c is advice.recommended else " = " if c in advice.equals else "   "
    return mark + named(c.alternative) + (" *" if c is advice.now else "")


def events_table(advice: Advice) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The heads, and a row for each event: what it costs under the recommended alternative, and
    under what the group has now, or else under Kafka's defaults.
    """
    mine = advice.recommended
    others = (("now", advice.now), ("Kafka's defaults", advice.default))
    compared = [(name, c) for name, c in others if c is not None and c is not mine]
    shown = [("recommended", mine), *compared[:1]]
    heads = (f"{name}, {what}" for name, _ in shown for what in ("one", "week"))
    return ("event", "a week", *heads), [
        (
            event.name,
            f"{event.per_week:g}",
            *(cell for _, c in shown for cell in _of(advice, c, event)),
        )
        for event in advice.events
    ]


def _of(advice: Advice, c: AlternativeCost, event: Event) -> tuple[str, str]:
    cost = advice.cost
    one, week = c.of(event).mean / cost.unit, c.in_week(event) / cost.unit
    return f"{one:,.2f} {cost.unit_name}", f"{week:,.1f} {cost.unit_name}"
