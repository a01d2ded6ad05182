"""The question of `groupcheck conform VARIANT --whole` and its answer.

Many schedules go on side by side, so that the JVM works on one while Python follows another.
"""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from attrs import frozen
from rich.console import Group, RenderableType

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import client, client_faults, dead_values, timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.mixed import MixedScope
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.comparison import ModelComparison
from groupcheck.oracles.conform.member.moves import COOPERATIVE
from groupcheck.oracles.conform.modes import WHOLE
from groupcheck.oracles.conform.row_results import MAX_DIFFERENCES
from groupcheck.oracles.conform.whole.fitting import Fitting
from groupcheck.oracles.conform.whole.model import Following, scope_of
from groupcheck.oracles.conform.whole.promises import PROMISES
from groupcheck.oracles.conform.whole.schedule import (
    Asking,
    Divergence,
    Setup,
    StepCounts,
    draw,
    shortened,
)
from groupcheck.oracles.explain.subject import subject, variant_named
from groupcheck.oracles.kafka.comparison import block, first_of
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.traces.phrases import plural

MEMBERS, PARTITIONS = 3, 2
SCHEDULES, STEPS = 300, 100
SEEDS = 1 << 16
# Session and rebalance timeouts of members. They are longer than any schedule: timers fire by name,
# and the clock of a member passes max.poll.interval.ms only where a command says so.
SESSIONS_MS = (1_500_000_000, 1_600_000_000)
ROUNDS_MS = (100_000_000, 110_000_000, 120_000_000)
# How many groups have a size limit, and in how many members list different assignors: the first of
# these, the second, and so on. Two of the second kind do not fit together.
LIMITED, LISTED = 0.15, 0.15
OWN = "own-cooperative"  # Kafka's cooperative assignor under another name
LISTS = (("range,roundrobin", "roundrobin,range", "roundrobin"), ("range", "roundrobin"))
COOPERATIVE_LISTS = (
    (f"{COOPERATIVE},{OWN}", f"{OWN},{COOPERATIVE}", OWN),
    (COOPERATIVE, OWN),
)
# What each schedule draws anew, as the document says it.
DRAWN: dict[str, str] = {
    "max_size": f"1 to the number of members in {LIMITED:.0%} of the schedules, else no limit",
    "protocols": f"different lists of assignors in {LISTED:.0%} of the schedules, else the same",
    "timeouts": "session and rebalance timeout of each member",
    "autocommit": "whether the members commit by themselves",
}
DRAWN_OF_MIXED = {"static_members": "1 to the number of members: how many are static, the first"}
TOGETHER = 16  # schedules that are carried out side by side
REAL = "ConsumerCoordinator and GroupCoordinatorService of Apache Kafka, in one JVM"

# Outcomes that no schedule here can show -> why.
APART: Mapping[str, str] = {
    client_faults.late_commit.name: "Kafka's member does not commit once it has sent JoinGroup.",
    dead_values.close_books.name: "The model forgets what only a spent fault could have read.",
    dead_values.forget.name: "The same, seat by seat.",
}
SWITCHED_OFF = "The setting `{}` has the ways to this outcome, and it is off here."
AT_ONCE = "A takeover is replicated at once here; the coordinator's rows execute others."
OF_STATIC_MEMBERS: Mapping[str, str] = {
    **{
        name: AT_ONCE
        for rule in (takeover.takeover_committed, takeover.takeover_failed)
        for name in rule.names
        if name != f"{takeover.takeover_committed.name}:answered"
    },
    f"{client.join_answer.name}:retry": AT_ONCE,
    timers.read_next.name: "Only a LeaveGroup waits behind a request; a static member sends none.",
}
ABSTRACTIONS: Mapping[str, str] = {
    "position committed again": (
        "The model commits only what was processed since the last commit; Kafka's member commits"
        " its position before it joins in any case. The model follows with every position counted"
        " as not committed."
    ),
    "answers held back": (
        "An answer to LeaveGroup, Heartbeat or OffsetCommit that waits for another request's append"
        " is not drawn; the coordinator's rows execute it."
    ),
    "heartbeats of a member that must rejoin": (
        "The model leaves them out. The model follows with them: their answers change nothing,"
        " unless they reset the member."
    ),
    "partitions that are lost ahead": (
        "A cooperative member that has left its generation while a request waits loses its"
        " partitions in its next poll, the model's once that request is answered. Such a poll is"
        " not drawn."
    ),
    "takeovers replicated at once": (
        "The record with a static member's new id is replicated in the step that writes it."
    ),
    "load above the size limit": (
        "Static members may exceed group.max.size. A group that does is not loaded by another"
        " coordinator here; `triggers` has what follows."
    ),
    "initial delay extended by a flag left over": (
        "Kafka may extend it once for a member of an earlier round (FINDINGS)."
    ),
}


@frozen(kw_only=True)
class WholeConformance(ModelComparison):
    """The results of the schedules."""

    members: int
    seen: StepCounts
    # The shortest schedule of each cause.
    differences: tuple[Divergence, ...]
    # Outcomes of the model that were never seen: no step may have been one of them.
    unfired: tuple[str, ...]
    stopped: str

    @property
    def differing(self) -> int:
        """The number of causes."""
        return len(self.differences)

    @property
    def missing(self) -> str:
        """The outcomes that were not seen."""
        if not self.unfired:
            return ""
        return f"no step was {', '.join(self.unfired)}: take more schedules"

    def title(self) -> str:
        return f"{self.model} and a whole group of Kafka {self.kafka}"

    def facts(self) -> list[tuple[str, str]]:
        seen = self.seen
        speed = self.speed(seen.steps, "steps")
        return [
            ("group", f"{plural(self.members, 'member')}, {PARTITIONS} partitions; all faults"),
            ("steps", f"{seen.steps:,} agreeing, {seen.differing:,} differing"),
            ("schedules", f"{seen.schedules:,}, {speed}, seed {self.seed}"),
            ("outcomes", f"{len(seen.rules):,} of the model's seen"),
            *([("never seen", ", ".join(self.unfired))] if self.unfired else []),
        ]

    def details(self) -> Iterator[RenderableType]:
        """The first differences with their schedules."""
        return first_of(self.differences, _difference, "causes (--json lists all)")

    def content(self) -> conform_types.ConformDocument:
        steps = self.seen.steps + self.seen.differing
        about = variant_named(self.variant)
        apart, mixed = apart_from(about), issubclass(about.scope_type, MixedScope)
        scope = conform_types.Scope(
            members=self.members,
            generations=None,
            partitions=PARTITIONS,
            faults=[name for name in about.faults if name not in apart],
            max_size=None,
            two_step=True,
            protocols="",
        )
        return conform_types.ConformDocument(
            **self.head(),
            side="whole",
            scope=scope,
            drawn=DRAWN | (DRAWN_OF_MIXED if mixed else {}),
            rows=steps,
            executed=steps,
            agreeing=self.seen.steps,
            differing=self.seen.differing,
            unrealizable=0,
            schedules=self.seen.schedules,
            steps=dict(sorted(self.seen.kinds.items())),
            fired=dict(sorted(self.seen.rules.items())),
            real=REAL,
            never_executed=list(self.unfired),
            not_executed=apart,
            abstractions=dict(ABSTRACTIONS),
            promises=dict(PROMISES),
            differences=[difference_shown(d) for d in self.differences],
        )


def _difference(k: int, parted: Divergence) -> Group:
    told = difference_shown(parted)
    head = f"{k}. {told.input}" + (f" breaks {told.promise!r}" if told.promise else "")
    return block(head, *(f"real: {what}" for what in told.differs), *told.transcript)


def difference_shown(parted: Divergence) -> conform_types.Difference:
    """A difference with its schedule, as the document has it."""
    commits = "commits by itself" if parted.setup.autocommit else "never commits by itself"
    begin = f"{parted.setup.members} members, seed {parted.setup.seed}; each {commits}"
    times = ", ".join(f"{session:,}/{ms:,} ms" for session, ms in parted.setup.times)
    lines = [f"{begin}; session and rebalance timeouts {times}"]
    if parted.setup.static_members is not None:
        lines.append(f"static members: {parted.setup.static_members}, the first ones")
    if parted.setup.max_size is not None:
        lines.append(f"group.max.size {parted.setup.max_size}")
    if parted.setup.protocols:
        lines.append(f"the members list {parted.setup.protocols.replace('|', ' | ')}")
    for k, turn in enumerate(parted.turns):
        rules = parted.rules[k] if k < len(parted.rules) else ()
        lines.append(f"{k + 1}. {turn}" + (f": {', '.join(rules)}" if rules else ""))
    return conform_types.Difference(
        input=str(parted.turns[-1]),
        promise=parted.promise or None,
        differs=list(parted.what),
        transcript=lines,
    )


def conform_whole(
    variant: str,
    *,
    kafka: str,
    members: int | None = None,
    schedules: int | None = None,
    steps: int = STEPS,
    seed: int = 0,
    mutation: str | None = None,
    max_differences: int = MAX_DIFFERENCES,
    driver: Driver | None = None,
    progress: Callable[[StepCounts, int], None] | None = None,
) -> WholeConformance:
    """Runs random schedules of a real group, each followed by the variant's model.

    `steps`: how many each schedule has. Raises `UserError` for what does not exist, and where there
    is no JDK.
    """
    count = MEMBERS if members is None else members
    last = SCHEDULES if schedules is None else schedules
    spec, kind = _spec(variant, mutation), variant_named(variant).scope_type
    own = driver or Driver(known(kafka))
    began = time.perf_counter()
    seen, causes, stopped = StepCounts(), dict[Any, Divergence](), ""

    def stop(why: str) -> None:
        nonlocal stopped
        stopped = why

    # What is remembered of the model has no cycles, and to look for some takes a third of the time.
    resume = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        with until_interrupted(stop):
            models = cache(lambda scope: Fitting(Following(spec, scope)))
            for first in range(0, last, TOGETHER):
                some = range(first, min(first + TOGETHER, last))
                drawn = own.converse(
                    _drawn(models, kind, count, steps, f"{seed}/{k}") for k in some
                )
                for mine, parted in drawn:
                    seen.add(mine)
                    if parted and parted.cause not in causes:
                        short = _shortened(own, models(parted.setup.scope), parted)
                        causes[parted.cause] = causes[short.cause] = short
                    if len({id(p) for p in causes.values()}) >= max_differences:
                        stopped = f"stopped after {max_differences} differences"
                        break
                if progress:
                    progress(seen, last)
                if stopped:
                    break
    finally:
        resume()
        if driver is None:
            own.close()
    differences = tuple({id(p): p for p in causes.values()}.values())
    about = variant_named(variant)
    expected = _outcomes(spec, kind, count) - {*about.unreached} - {*apart_from(about)}
    return WholeConformance(
        variant=variant,
        members=count,
        kafka=kafka,
        mutation=mutation,
        seed=seed,
        seen=seen,
        differences=differences,
        unfired=tuple(sorted(expected - {*seen.rules})),
        stopped=stopped,
        seconds=time.perf_counter() - began,
    )


def apart_from(variant: Variant) -> dict[str, str]:
    """Outcomes that no schedule of such a group can show -> why."""
    found, kind = dict(APART), variant.scope_type
    for name in sorted(_outcomes(variant.spec, kind)):
        cover = variant.cover_of(name)
        for field in variant.switched:
            if cover is not None and field in cover.fields:
                found[name] = SWITCHED_OFF.format(field)
    if kind.static:
        found |= OF_STATIC_MEMBERS
    if issubclass(kind, MixedScope):  # dynamic members send LeaveGroup
        del found[timers.read_next.name]
    return found


def _outcomes(spec: Callable[[Scope], Spec], kind: type[Scope], members: int = MEMBERS) -> set[str]:
    """The outcomes of all rules that follow a group."""
    rules = spec(scope_of(members, PARTITIONS, True, kind=kind)).rules
    return {name for r in rules for name in r.names}


def _drawn(
    models: Callable[[Scope], Fitting], kind: type[Scope], members: int, steps: int, seed: str
) -> Asking[tuple[StepCounts, Divergence | None]]:
    """A schedule with all that is drawn from a seed."""
    dice = random.Random(seed)
    setup = _setup(members, dice, kind)
    return draw(models(setup.scope), setup, steps, dice)


def _setup(members: int, dice: random.Random, kind: type[Scope]) -> Setup:
    """A group. Some have a size limit, and in some the members list different assignors."""
    lists = dice.choice(COOPERATIVE_LISTS if kind.cooperative else LISTS)
    return Setup(
        members,
        PARTITIONS,
        autocommit=dice.random() < 0.7,
        seed=dice.randrange(SEEDS),
        times=tuple((dice.choice(SESSIONS_MS), dice.choice(ROUNDS_MS)) for _ in range(members)),
        max_size=dice.randint(1, members) if dice.random() < LIMITED else None,
        protocols=(
            "|".join(itertools.islice(itertools.cycle(lists), members))
            if dice.random() < LISTED and not kind.static  # left out of the model
            else ""
        ),
        kind=kind,
        static_members=dice.randint(1, members) if issubclass(kind, MixedScope) else None,
    )


def _shortened(driver: Driver, fitting: Fitting, parted: Divergence) -> Divergence:
    (short,) = driver.converse([shortened(fitting, parted)])
    return short


def _spec(variant: str, mutation: str | None) -> Callable[[Scope], Spec]:
    """The variant's spec at a scope, perhaps with a known bug."""
    found = WHOLE.followed(variant)
    bug = subject(variant, mutation=mutation).mutation
    return found.spec if bug is None else lambda scope: bug.apply(found.spec(scope))
