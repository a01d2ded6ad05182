"""`groupcheck conform --live`: Hypothesis makes up schedules of raw requests, a real broker answers
them, and each answer is compared with what the model allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.comparison import ModelComparison
from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.modes import LIVE
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.shown import settings_shown
from groupcheck.oracles.judge.following.said import TOPIC
from groupcheck.oracles.judge.live import conform_live_types
from groupcheck.oracles.judge.live.walk import PATIENCE_S, Disagreement, ScheduleSums, Walk
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.record.running import running
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, Case, Suite
from groupcheck.oracles.wire.connections import Connections
from groupcheck.traces.phrases import plural

MEMBERS, GENERATIONS, SCHEDULES = 3, 12, 300
# How long the first disagreement is made shorter, and how long an answer may take meanwhile.
SHRINK_S, HURRY_S = 30.0, 1.0
# One thread everywhere, so that what is sent first is carried out first; a round does not wait for
# more members.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "num.io.threads": "1",
    "auto.create.topics.enable": "false",
}
Say = Callable[[str], None]


@frozen(kw_only=True)
class Live(ModelComparison):
    """The result of the schedules."""

    schema = "groupcheck.conform-live/1"

    scope: Scope
    # How many schedules were asked for.
    wanted: int
    seen: ScheduleSums
    # The shortest one, if there is any.
    disagreement: Disagreement | None

    @property
    def differing(self) -> int:
        """1 if there is a disagreement: it ends the run."""
        return int(self.disagreement is not None)

    @property
    def missing(self) -> str:
        """Schedules that were not run."""
        done = self.seen.schedules
        return f"{done} of {self.wanted} schedules were run" if done < self.wanted else ""

    def title(self) -> str:
        return f"{self.model} and a broker of Kafka {self.kafka}, over the wire"

    def facts(self) -> list[tuple[str, str]]:
        told = self.content()
        scope = [
            plural(told.scope.members, "member"),
            plural(told.scope.generations, "generation"),
            *settings_shown(printed(told.scope)),
        ]
        fired = f"{len(told.rules)} rules and outcomes of the coordinator's fired"
        refused = len(told.refused_by_the_api)
        return [
            ("scope", ", ".join(scope)),
            (
                "schedules",
                f"{told.schedules:,} of {told.requests:,} requests, {told.seconds:.1f} s, seed"
                f" {self.seed}",
            ),
            ("rows", f"{told.rows:,} different (memory, request), {fired}"),
            ("API", f"{refused} kinds of requests that the broker refuses by itself"),
        ]

    def details(self) -> Iterator[RenderableType]:
        """The disagreement with its transcript."""
        if self.disagreement:
            lines = [*self.disagreement.what]
            lines += [f"   {line}" for line in self.disagreement.transcript]
            yield Text()
            # Bytes of a request are not folded.
            yield from (Text(printable(x), no_wrap=True, overflow="ignore") for x in lines)

    def suite(self) -> Suite:
        """One case: all schedules."""
        became = {"agrees": PASSED, "differs": FAILURE, "unknown": ERROR}[self.verdict]
        d = self.disagreement
        why = d.what[0] if d else f"unknown: {self.reason}" if self.reason else ""
        text = "\n".join([*d.what, *d.transcript]) if d else ""
        case = Case("schedules over the wire", became, why, text, self.seconds)
        return Suite(f"conform --live, Kafka {self.kafka}", (case,))

    def content(self) -> conform_live_types.ConformLiveDocument:
        generations = self.scope.generations
        assert generations is not None  # `rows_of` bounds them
        scope = conform_live_types.Scope(
            members=self.scope.members,
            static_members=self.scope.static_count,
            generations=generations,
            partitions=self.scope.partition_count,
            max_size=self.scope.max_size,
            two_step=self.scope.two_step,
            protocols=self.scope.protocols,
        )
        return conform_live_types.ConformLiveDocument(
            **self.head(),
            scope=scope,
            schedules=self.seen.schedules,
            requests=self.seen.requests,
            rows=len({(row.before, row.given) for row in self.seen.rows}),
            rules=sorted({rule for row in self.seen.rows for rule in row.rules}),
            refused_by_the_api=sorted(self.seen.refused),
            differs=list(self.disagreement.what) if self.disagreement else [],
            transcript=list(self.disagreement.transcript) if self.disagreement else [],
        )


def rows_of(
    variant: str,
    members: int | None = None,
    generations: int | None = None,
    mutation: str | None = None,
    settings: Mapping[str, str] = {},
) -> Rows:
    """The coordinator's rows that schedules are made of. Raises `UserError` for what does not exist
    or fit.
    """
    count = MEMBERS if members is None else members
    last = GENERATIONS if generations is None else generations
    return rows_at(variant, count, last, (), mutation, settings, in_schedules=True)[1]


def settings_of(scope: Scope) -> dict[str, str]:
    """The properties of the broker."""
    size = {} if scope.max_size is None else {"group.max.size": str(scope.max_size)}
    return {**SETTINGS, **size}


def needed() -> None:
    """Raises `UserError` without Hypothesis."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise UserError(
            "hypothesis is not installed", where="--live", do="pip install 'groupcheck[contract]'"
        ) from None


def explore(
    rows: Rows, address: str, schedules: int, seed: int, say: Say
) -> tuple[ScheduleSums, Disagreement | None]:
    """Runs schedules, each with a group of its own, and returns what they met and the shortest
    disagreement. Raises `UserError` without Hypothesis.

    If the first disagreement is a wrong answer, an answer that does not come later is not counted
    as a disagreement: the broker may have paused.
    """
    needed()
    import hypothesis
    from hypothesis import strategies

    total, found = ScheduleSums(), list[Disagreement]()
    first = 0.0
    connections = Connections(address)

    def one(data: Any) -> None:
        nonlocal first
        if found and time.monotonic() - first > SHRINK_S:
            hypothesis.reject()
        try:
            group = f"live-{seed}-{total.schedules}"
            patience_s = HURRY_S if found and not found[0].is_silence else PATIENCE_S
            Walk(
                rows,
                connections,
                group,
                lambda below: int(data.draw(strategies.integers(0, below - 1))),
                total,
                patience_s,
            ).run()
        except Disagreement as disagreement:
            if found and disagreement.is_silence and not found[0].is_silence:
                hypothesis.reject()
            first = first or time.monotonic()
            found.append(disagreement)
            raise
        finally:
            connections.abandon()
        if total.schedules % 50 == 0:
            say(f"{total.schedules} schedules, {total.requests} requests")

    how = hypothesis.settings(
        max_examples=schedules,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
    )
    try:
        with until_interrupted(say):
            hypothesis.seed(seed)(how(hypothesis.given(strategies.data())(one)))()
    except Exception:
        # Hypothesis also complains about a schedule that does not fail twice: ids are random, and
        # so are hash orders.
        if not found:
            raise
    finally:
        connections.close()
    return total, min(found, key=lambda d: len(d.transcript), default=None)


def live(
    variant: str,
    *,
    kafka: str,
    members: int | None = None,
    generations: int | None = None,
    mutation: str | None = None,
    settings: Mapping[str, str] | None = None,
    schedules: int = SCHEDULES,
    seed: int = 0,
    say: Say,
) -> Live:
    """Starts a broker of that Kafka version, runs the schedules, ends the broker. Raises
    `UserError` if `schedules` is less than 1.
    """
    if schedules < 1:
        raise UserError(
            f"{schedules} schedules are too few", where="--schedules", do="give 1 or more"
        )
    needed()
    version = known(kafka)
    LIVE.followed(variant, settings or {})
    rows = rows_of(variant, members, generations, mutation, settings or {})
    scope = rows.scope
    began = time.perf_counter()
    with running(version, settings_of(scope), say) as on:
        on.broker.ask("topic", TOPIC, 1)
        on.broker.ask("group", "live")
        try:
            seen, disagreement = explore(rows, on.broker.address, schedules, seed, say)
        finally:
            on.broker.ask("flush")  # one that was killed or stopped disagrees with nothing
    return Live(
        variant=variant,
        scope=scope,
        kafka=version,
        mutation=mutation,
        seed=seed,
        wanted=schedules,
        seen=seen,
        disagreement=disagreement,
        seconds=time.perf_counter() - began,
    )
