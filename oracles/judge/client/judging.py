"""From runs to verdicts: each remark is tried again from its shortest schedule, beside Kafka's own
Java client under the same load.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import Factory, define, evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.client.differences import Difference, Kind, followed
from groupcheck.oracles.judge.client.moves import FOLLOWS, Licence, Move, Setting, Step
from groupcheck.oracles.judge.client.record import Asked, Told
from groupcheck.oracles.judge.client.rules import RULES
from groupcheck.oracles.judge.client.rules.rule import Case, Rule, seen
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.client.targets import Target, targets
from groupcheck.oracles.judge.client.trying import Pool, Run, Trial, trials
from groupcheck.oracles.processes.supervisor import until_interrupted

TIMES = 3  # that a remark is tried again
MOVES = 3  # how often the move is made in each of these tries: a commit has to be under way
QUICK_S, FULL_S = 60.0, 300.0
EXPLORING = 0.75  # the part of the time in which no remark is tried again
JOBS = 10
SILENCE = Step.SILENCE
BY_ITSELF = "it joins, and nothing happens"


@frozen
class Shortest:
    """The shortest schedule that has shown something: one move in one setting. Without a move it is
    an ordinary life.
    """

    setting: Setting
    move: Move | None

    def __str__(self) -> str:
        return f"{self.setting.name}: {self.move or BY_ITSELF}"

    @property
    def length(self) -> int:
        """How many steps it has."""
        return 0 if self.move is None else 1 + len(self.move.first) + len(self.move.steps)


@frozen
class Again:
    """A second try of a schedule, of the client or of the control."""

    shortest: Shortest
    control: bool = False


Broken = Mapping[str, Case]
"""The rules that a run breaks, each with its first case."""


@define(eq=False)
class Finding:
    """A rule that a client has broken."""

    rule: Rule
    # Each schedule after which it did, with the first run and its first case.
    shown: dict[Shortest, tuple[Run, Case]] = Factory(dict)
    times: int = 0

    @property
    def shortest(self) -> Shortest:
        return min(self.shown, key=lambda s: s.length)


@define(eq=False)
class Differing:
    """A row that differs from Kafka's Java member."""

    # The first time, in which run, and after which move.
    first: Difference
    run: Run
    shortest: Shortest
    times: int = 1


@frozen
class Outcome:
    """What became of a finding."""

    finding: Finding
    shortest: Shortest
    # Tries from the schedule, and how many have shown it.
    tried: int
    again: int
    run: Run
    case: Case
    # What Kafka's Java client broke in the same schedule; empty: nothing; None: it was not asked.
    control: str | None


@define(eq=False)
class Trials:
    """All that was tried, and what was seen."""

    runs: list[Run] = Factory(list)
    # Rule -> occasions.
    occasions: Counter[str] = Factory(Counter)
    findings: dict[str, Finding] = Factory(dict)
    tries: dict[Shortest, list[tuple[Run, Broken]]] = Factory(dict)
    controls: dict[Shortest, Broken] = Factory(dict)
    # What was reached: (setting, request, code, state of the membership); any state is empty.
    reached: set[tuple[str, str, int, str]] = Factory(set)
    # What Kafka's member would not have done, by row and root, and the kinds of its rows that were
    # met, in each setting.
    differing: dict[tuple[str, str], Differing] = Factory(dict)
    kinds: set[tuple[str, Kind]] = Factory(set)
    # Runs that were not followed to their ends.
    cut_short: int = 0
    missed: list[Target] = Factory(list)
    no_time: list[Target] = Factory(list)
    # Why it ended early.
    reason: str = ""
    seconds: float = 0.0

    def outcomes(self) -> list[Outcome]:
        """Each finding with the schedule that shows it most surely."""
        return [self._outcome(finding) for finding in self.findings.values()]

    def _outcome(self, finding: Finding) -> Outcome:
        name, found = finding.rule.name, []
        for shortest, (run, case) in finding.shown.items():
            tries = self.tries.get(shortest, [])
            again = [(run, broken[name]) for run, broken in tries if name in broken]
            control = self.controls.get(shortest)
            told = None if control is None else ""
            if control is not None and name in control:
                told = control[name].broken
            run, case = again[-1] if again else (run, case)
            found.append(Outcome(finding, shortest, len(tries), len(again), run, case, told))
        return max(found, key=_sureness)


def _sureness(one: Outcome) -> tuple[bool, int, bool, bool, int]:
    """What decides which schedule of a finding is shown: how often it has shown, then how short and
    ordinary it is.
    """
    follows = one.shortest.setting == FOLLOWS
    tried = one.tried > 0
    return (one.again == one.tried and tried, one.again, tried, follows, -one.shortest.length)


@frozen(kw_only=True)
class Plan:
    """What is to be done."""

    command: Command
    # Kafka's Java client, if it can be started here.
    control: Command | None = None
    full: bool = False
    licence: Licence = Licence.DOCUMENTED
    jobs: int = JOBS
    # Settings that the client does not have.
    without: frozenset[str] = frozenset()
    # Hears the moves made, all moves, and the number of remarks.
    say: Callable[[int, int, int], None] = lambda made, of, remarks: None
    # Only these schedules, each `TIMES` times.
    only: tuple[Shortest, ...] = ()
    seconds_given: float | None = None

    @property
    def seconds(self) -> float:
        return self.seconds_given or (FULL_S if self.full else QUICK_S)


def judge(plan: Plan) -> Trials:
    """Plays everything, tries every remark again. Ctrl-C ends it with what is done."""
    found, began = Trials(), time.monotonic()
    wanted = [t for t in targets(plan.full, plan.licence) if t.setting.name not in plan.without]
    given = trials(wanted, plan.command)
    if plan.only:
        once = [Trial(one.setting, _target(one)[:1], plan.command) for one in plan.only]
        given = once * TIMES
        wanted = [target for trial in given for target in trial.targets]
    done = 0

    def met(target: Target) -> bool:
        """Is a state wanted, and was the client already answered so in it?"""
        return bool(target.state) and _is_reached(found, target)

    pool = Pool(plan.jobs, began + EXPLORING * plan.seconds, met)

    def heard(trial: Trial, run: Run) -> Iterable[Trial]:
        nonlocal done
        if isinstance(trial.tag, Again):
            _tried_again(found, trial.tag, run)
            return []
        done += len(run.played)
        _judge(found, run)
        plan.say(done, len(wanted), len(found.findings))
        return _tries(found, plan)

    reasons: list[str] = []
    with until_interrupted(reasons.append):
        pool.play(given, heard)
    found.reason = "".join(reasons)
    if not found.reason and not any(run.began for run in found.runs):
        log = next((run.log[-1] for run in found.runs if run.log), "it says nothing")
        raise UserError(f"the program never became a member: {log}", where="COMMAND")
    found.no_time = pool.left
    _missed(found, wanted)
    found.seconds = time.monotonic() - began
    return found


def _judge(found: Trials, run: Run) -> None:
    """What a run says about each rule, and about Kafka's member in its place."""
    found.runs.append(run)
    _compare(found, run)
    asked: dict[int, tuple[str, str]] = {}
    looked = seen(run.record)
    for event, knowledge in looked.events:
        if isinstance(event, Asked):
            asked[event.number] = (event.api, knowledge.state)
        elif isinstance(event, Told) and event.number in asked:
            api, state = asked[event.number]
            found.reached |= {(run.setting.name, api, event.error, s) for s in ("", state)}
    for rule, cases in cases_of(run):
        found.occasions[rule.name] += len(cases)
        for case in cases:
            if case.broken:
                finding = found.findings.setdefault(rule.name, Finding(rule))
                finding.times += 1
                finding.shown.setdefault(schedule_of(run, case.at), (run, case))


def _compare(found: Trials, run: Run) -> None:
    """Where the client does something else than Kafka's member."""
    beside = followed(run.record, run.setting)
    found.cut_short += bool(beside.reason)
    found.kinds |= {(run.setting.name, kind) for kind in beside.kinds}
    for one in beside.differences:
        known = found.differing.get((one.row, one.root))
        if known is not None:
            known.times += 1
        else:
            shortest = schedule_of(run, one.at)
            found.differing[one.row, one.root] = Differing(one, run, shortest)


def cases_of(run: Run) -> Iterable[tuple[Rule, list[Case]]]:
    """Each rule with its occasions in a run."""
    looked = seen(run.record)
    return [(rule, list(rule.cases(looked))) for rule in RULES]


def schedule_of(run: Run, at: float) -> Shortest:
    """The move after which something was seen."""
    played = run.before(at)
    return Shortest(run.setting, None if played is None else played.move)


def _tries(found: Trials, plan: Plan) -> Iterable[Trial]:
    """The tries of findings of which no schedule is tried again yet; findings of one schedule share
    them.
    """
    for finding in found.findings.values():
        if any(shortest in found.tries for shortest in finding.shown):
            continue
        shortest = finding.shortest
        found.tries[shortest] = []
        once = Trial(shortest.setting, _target(shortest), plan.command, Again(shortest), True)
        yield from [once] * TIMES
        if plan.control is not None:
            yield evolve(once, command=plan.control, tag=Again(shortest, control=True))


def _tried_again(found: Trials, again: Again, run: Run) -> None:
    broken: dict[str, Case] = {}
    for rule, cases in cases_of(run):
        first = next((case for case in cases if case.broken), None)
        if first is not None:
            broken[rule.name] = first
    if again.control:
        found.controls[again.shortest] = broken
    else:
        found.tries[again.shortest].append((run, broken))


def _target(shortest: Shortest) -> tuple[Target, ...]:
    move = shortest.move
    if move is None:
        return ()
    target = Target(shortest.setting, evolve(move, steps=()), (move.steps,))
    return (target,) * (1 if target.last or SILENCE in move.first else MOVES)


def _missed(found: Trials, wanted: Sequence[Target]) -> None:
    """Targets that were tried in vain."""
    waits = set(map(id, found.no_time))
    found.missed = [
        t
        for t in wanted
        if t.move.code is not None and not _is_reached(found, t) and id(t) not in waits
    ]


def _is_reached(found: Trials, target: Target) -> bool:
    """Was the client answered so, in that state?"""
    move = target.move
    return (target.setting.name, move.at, move.code, target.state) in found.reached
