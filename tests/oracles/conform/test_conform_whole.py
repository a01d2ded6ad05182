"""A whole group of real members on a real coordinator beside the whole model: that they agree, that
a wrong model is noticed, and that nothing the real group shows is left uncompared.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

import attrs
import pytest

from groupcheck.model.variants import load
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.whole import command, conformance
from groupcheck.oracles.conform.whole.conformance import WholeConformance, conform_whole
from groupcheck.oracles.conform.whole.fitting import Fitting
from groupcheck.oracles.conform.whole.form import Form
from groupcheck.oracles.conform.whole.kinds import KINDS
from groupcheck.oracles.conform.whole.look import NOW_MS, look
from groupcheck.oracles.conform.whole.model import Chance, Following, Plan, scope_of
from groupcheck.oracles.conform.whole.promises import PROMISES, broken
from groupcheck.oracles.conform.whole.real import form_of
from groupcheck.oracles.conform.whole.schedule import Setup, StepRefusal, Walk, _effort, again, draw
from groupcheck.oracles.conform.whole.turns import Turn, possible
from groupcheck.oracles.kafka.driver import Driver, shared

TWO = Setup(2, 2, True, 1, ((1_500_000_000, 100_000_000), (1_600_000_000, 120_000_000)))
# Member 0 joins alone, member 1 comes later: both Stable in generation 2.
STABLE = (
    *(Turn("poll", 0), Turn("poll", 0), Turn("poll", 1), Turn("poll", 1)),
    *(Turn("fire", key="join-g"), Turn("fire", key="join-g")),
    *(Turn("sync", 0), Turn("sync", 1), Turn("replicate"), Turn("poll", 0), Turn("poll", 1)),
)


T = TypeVar("T")


def done(driver: Driver, asking: Generator[Mapping[str, Any], bytes, T]) -> T:
    """What comes of one conversation."""
    (result,) = driver.converse([asking])
    return result


@pytest.fixture(scope="module")
def model() -> Fitting:
    return fitting(load("classic").spec)


def fitting(spec: Any, setup: Setup = TWO) -> Fitting:
    return Fitting(Following(spec, setup.scope))


def walked(driver: Driver, model: Fitting, *turns: Turn, setup: Setup = TWO) -> Walk:
    """The walk after these steps, all of which agree."""
    walk = Walk(model, setup)
    done(driver, walk.begin())
    for turn in turns:
        assert done(driver, walk.take(turn)) is None, turn
    return walk


def shown(driver: Driver) -> Any:
    """What the real group shows now, as the driver tells it."""

    def looking() -> Generator[Mapping[str, Any], bytes, bytes]:
        return (yield {"toWhole": {"do": []}})

    group, committed, logged, *members = map(json.loads, done(driver, looking()).split(b"\t"))
    return {"group": group, "committed": committed, "logged": logged, "members": members}


def formed(told: Any) -> Form:
    """What is compared, if the driver told this."""
    parts = [told["group"], told["committed"], told["logged"], *told["members"]]
    return form_of(look("\t".join(map(json.dumps, parts)).encode(), TWO.ways))


def small(driver: Driver, **options: Any) -> WholeConformance:
    given = {"members": 2, "schedules": 8, "steps": 50, "kafka": "4.3.0"} | options
    return conform_whole("classic", driver=driver, **given)


@pytest.mark.parametrize("members", [2, 3])
def test_random_schedules_of_a_whole_group_agree_with_the_model(
    members: int, coordinator: Driver, misfits: Callable[..., list[str]]
):
    result = small(coordinator, members=members, seed=5)
    told = result.document()
    assert told["differences"] == []
    assert told["rows"] == told["executed"] == told["agreeing"] == 400
    assert misfits(told) == []
    assert {"join_complete", "append_committed", "sync_answer:assigned"} <= set(told["fired"])


def test_the_oldest_version_agrees_too(coordinator: Driver):
    assert small(shared("4.0.0"), kafka="4.0.0", seed=6).differences == ()


def test_equal_seeds_give_equal_documents_and_others_do_not(coordinator: Driver):
    def told(seed: int) -> Any:
        document = small(coordinator, schedules=3, seed=seed).document()
        return {k: v for k, v in document.items() if k not in ("seconds", "seed")}

    assert told(1) == told(1) != told(2)


def test_schedules_side_by_side_are_what_each_is_alone(coordinator: Driver, model: Fitting):
    def drawn(seed: int) -> Any:
        return draw(model, attrs.evolve(TWO, seed=seed), 20, random.Random(seed))

    together = coordinator.converse(drawn(seed) for seed in range(5))
    assert together == [done(coordinator, drawn(seed)) for seed in range(5)]
    assert len({str(seen) for seen, _ in together}) == 5


@pytest.mark.parametrize(
    "mutation", ["id_without_timer", "share_never_sent", "keeps_partitions_on_rejoin"]
)
def test_a_wrong_model_differs_in_a_schedule_that_shows_it_again(
    mutation: str, coordinator: Driver
):
    result = small(coordinator, mutation=mutation, max_differences=1, steps=100)
    assert (result.verdict, result.exit_code) == ("differs", 1)
    first = result.differences[0]
    spec = conformance._spec("classic", mutation)
    wrong = fitting(spec, first.setup)
    assert done(coordinator, again(wrong, first.setup, first.turns)) == first
    for k in range(len(first.turns) - 1):
        shorter = (*first.turns[:k], *first.turns[k + 1 :])
        found = done(coordinator, again(wrong, first.setup, shorter))
        assert found is None or _effort(found.turns) >= _effort(first.turns)


def test_outcomes_that_were_never_seen_make_the_verdict_unknown(coordinator: Driver):
    result = small(coordinator, schedules=1, steps=5)
    assert (result.verdict, result.exit_code) == ("unknown", 3)
    assert "fail_over" in result.unfired and "fail_over" in result.reason
    assert not {*result.unfired} & {*conformance.APART}


@pytest.mark.parametrize("static", [False, True])
def test_all_that_a_step_can_be_is_in_the_model(static: bool):
    variant = load("static_membership") if static else load("classic")
    rules = variant.spec(scope_of(2, 2, True, kind=variant.scope_type)).rules
    every, names = ({*named} for named in ([r.name for r in rules], outcomes(rules)))
    kinds = [kind for kind in KINDS.values() if kind.static in (None, static)]
    for may in (may for kind in kinds for order in kind.chances for may in order):
        if isinstance(may, tuple):
            assert f"{may[0].name}:{may[1]}" in names
        else:
            assert may.name in every and (static or may in rules)
    assert {*conformance.apart_from(variant)} <= names


def outcomes(rules: Any) -> list[str]:
    return [name for rule in rules for name in rule.names]


# What is changed in the look after `STABLE`; each must be noticed.
LIES: dict[str, Callable[[Any], object]] = {
    "state": lambda look: look["group"].update(state="Empty"),
    "generation": lambda look: look["group"].update(generation=7),
    "leader": lambda look: look["group"].update(leader="m2"),
    "assignor": lambda look: look["group"].update(protocol="sticky"),
    "number of parked JoinGroups": lambda look: look["group"].update(awaitingJoin=1),
    "list of assignors": lambda look: look["group"]["members"][0]["protocols"][0].update(name="x"),
    "record's assignor": lambda look: look["logged"][0].update(protocol="sticky"),
    "ids": lambda look: look["group"]["pendingJoin"].append("m9"),
    "members": lambda look: look["group"]["members"].pop(),
    "pending SyncGroups": lambda look: look["group"]["pendingSync"].append("m1"),
    "parked JoinGroup": lambda look: look["group"]["members"][0].update(awaitingJoin=True),
    "parked SyncGroup": lambda look: look["group"]["members"][0].update(awaitingSync=True),
    "newness": lambda look: look["group"]["members"][0].update({"new": True}),
    "assignment": lambda look: look["group"]["members"][0].update(assigned={"t": []}),
    "claimed": lambda look: look["group"]["members"][0]["protocols"][0].update(ownedGeneration=4),
    "claims": lambda look: look["group"]["members"][0]["protocols"][0].update(owned={"t": [0]}),
    "a timer more": lambda look: look["group"]["timers"].update({"sync-g": 1}),
    "a session timer": lambda look: look["group"]["timers"].update({"heartbeat-g-m1": 1_000_001}),
    "session timeout": lambda look: look["group"]["members"][0].update(sessionTimeoutMs=1),
    "rebalance timeout": lambda look: look["group"]["members"][0].update(rebalanceTimeoutMs=1),
    "record's timeout": lambda look: look["logged"][0]["members"][0].update(sessionTimeoutMs=1),
    "a timer less": lambda look: look["group"]["timers"].pop("heartbeat-g-m1"),
    "committed": lambda look: look.update(committed=3),
    "record": lambda look: look["logged"][0].update(generation=0),
    "record's leader": lambda look: look["logged"][0].update(leader=None),
    "record's shares": lambda look: look["logged"][0]["members"][0].update(assigned={"t": []}),
    "member closing": lambda look: look["members"][0].update(closing=True),
    "member failed": lambda look: look["members"][0].update(failed="x"),
    "member state": lambda look: look["members"][0].update(state="UNJOINED"),
    "member generation": lambda look: look["members"][0].update(generation=9),
    "member id": lambda look: look["members"][0].update(member="m2"),
    "member rejoin": lambda look: look["members"][0].update(rejoin=True),
    "member prepare": lambda look: look["members"][0].update(prepare=False),
    "member commit": lambda look: look["members"][0].update(committing="done"),
    "member joining": lambda look: look["members"][0].update(joining=True),
    "member owned": lambda look: look["members"][0].update(owned=3),
    "member position": lambda look: look["members"][0].update(position=1),
    "member waits": lambda look: look["members"][0].update(
        outstanding=["JoinGroup", "m1", 1, -1, 0]
    ),
    "member unread": lambda look: look["members"][0]["unread"].append(
        ["Heartbeat", "m1", 1, -1, 0]
    ),
    "member sync": lambda look: look["members"][0]["unsent"].append("SyncGroup"),
    "member waits in vain": lambda look: look["members"][0].update(orphaned=True),
    "member late": lambda look: look["members"][0].update(late=["JoinGroup", "m1", 1, -1, 0]),
}


def test_nothing_that_the_real_group_shows_is_left_uncompared(coordinator: Driver, model: Fitting):
    (guess,) = walked(coordinator, model, *STABLE).guesses
    told = shown(coordinator)
    assert (told["group"]["state"], told["group"]["generation"]) == ("Stable", 1)
    form = formed(told)
    assert model.fits(guess, form) and model.misfits(guess, form) == ()
    for what, lie in LIES.items():
        other = copy.deepcopy(told)
        lie(other)
        form = formed(other)
        assert not model.fits(guess, form) and model.misfits(guess, form), what


JOINS = tuple(Turn("poll", i) for i in (0, 1, 0, 1))  # both ask for an id, then both join


def test_the_timer_of_an_id_that_is_rejected_for_the_size_stays_and_finds_nobody(
    coordinator: Driver,
):
    one = attrs.evolve(TWO, max_size=1)
    model = fitting(load("classic").spec, one)
    walk = walked(coordinator, model, *JOINS, setup=one)
    assert walk.look.members[1].failed.startswith("GroupMaxSizeReached")
    (guess,) = walk.guesses
    assert guess.left_behind == (("m2", TWO.times[1][0]),)
    told = shown(coordinator)
    del told["group"]["timers"]["heartbeat-g-m2"]
    assert not model.fits(guess, formed(told))
    assert any("timers" in text for text in model.misfits(guess, formed(told)))
    assert done(coordinator, walk.take(Turn("fire", key="heartbeat-g-m2"))) is None
    assert walk.guesses[0].left_behind == ()


def test_a_fail_over_forgets_the_timers_of_rejected_ids(coordinator: Driver):
    one = attrs.evolve(TWO, max_size=1)
    turns = (*JOINS, Turn("fail_over", key="committed"))
    walk = walked(coordinator, fitting(load("classic").spec, one), *turns, setup=one)
    assert walk.guesses[0].left_behind == ()


@pytest.mark.parametrize(
    ("protocols", "voted", "listed"),
    [
        ("range,roundrobin|roundrobin", "roundrobin", {("range", 1), ("roundrobin", 2)}),
        ("range|roundrobin", "range", {("range", 1)}),
    ],
)
def test_members_vote_for_assignors_or_do_not_fit_together(
    protocols: str, voted: str, listed: set[tuple[str, int]], coordinator: Driver
):
    lists = attrs.evolve(TWO, protocols=protocols)
    model = fitting(load("classic").spec, lists)
    begun = (*JOINS, Turn("fire", key="join-g"), Turn("fire", key="join-g"))
    turns = begun if len(listed) > 1 else begun[:-1]
    walk = walked(coordinator, model, *turns, setup=lists)
    fails = walk.look.members[1].failed.partition(":")[0]
    assert fails == ("" if len(listed) > 1 else "InconsistentGroupProtocolException")
    form = form_of(walk.look)
    assert (form.group.protocol, form.group.support) == (voted, listed)
    assert walk.look.group.protocol == voted


def test_what_the_member_of_the_model_can_do_it_must_do(coordinator: Driver, model: Fitting):
    (guess,) = walked(coordinator, model, *STABLE).guesses
    nothing = Plan.of([(Chance("", 0, unless=("send_heartbeat",)),)])
    names = frozenset(["m1", "m2"])
    assert [*model.model.after(guess, nothing, names)] == []
    fresh = model.model.start(TWO.times)
    assert [after.state for after in model.model.after(fresh, nothing, frozenset())] == [
        fresh.state
    ]


def test_a_member_that_must_find_its_coordinator_first_sends_its_heartbeat_all_the_same(
    coordinator: Driver, model: Fitting
):
    walk = walked(coordinator, model, *STABLE)
    (owner,) = [i for i, m in enumerate(walk.look.members) if m.owned & 1]
    for turn in (Turn("fetch", owner), Turn("lose answer to commit", owner)):
        assert done(coordinator, walk.take(turn)) is None
    assert not walk.look.members[owner].coordinator
    assert done(coordinator, walk.take(Turn("beat", owner))) is None
    assert "send_heartbeat" in walk.rules[-1]


def test_a_parked_request_whose_place_a_late_one_has_taken_waits_in_vain(
    coordinator: Driver, model: Fitting
):
    turns = (Turn("poll", 0), Turn("delay", 0), Turn("poll", 0))
    walk = walked(coordinator, model, *turns)
    assert not walk.look.members[0].orphaned
    assert done(coordinator, walk.take(Turn("late", 0))) is None
    assert walk.look.members[0].orphaned
    told = shown(coordinator)
    told["members"][0]["orphaned"] = False
    assert not any(model.fits(guess, formed(told)) for guess in walk.guesses)


# Steps after which a request is under way, those of the owner of the watched partition after them,
# and where the look has the request.
UNDER_WAY = {
    "JoinGroup": (STABLE[:4], (), "outstanding"),
    "SyncGroup": (STABLE[:8], (), "outstanding"),
    "OffsetCommit": (STABLE, ("fetch", "process", "delay commit"), "late"),
}


@pytest.mark.parametrize("api", UNDER_WAY)
def test_what_requests_under_way_say_is_compared(api: str, coordinator: Driver, model: Fitting):
    first, kinds, where = UNDER_WAY[api]
    walk = walked(coordinator, model, *first)
    for kind in kinds:
        (owner,) = [i for i, m in enumerate(walk.look.members) if m.owned & 1]
        assert done(coordinator, walk.take(Turn(kind, owner))) is None
    told = shown(coordinator)
    request = next(member[where] for member in told["members"] if member[where])
    assert request[0] == api
    assert all(model.fits(guess, formed(told)) for guess in walk.guesses)
    for k, other in ((1, "m7"), (2, 70), (3, 70)):
        before, request[k] = request[k], other
        assert not any(model.fits(guess, formed(told)) for guess in walk.guesses), k
        request[k] = before


def test_a_commit_is_followed_from_the_member_to_the_log(coordinator: Driver, model: Following):
    walk = walked(coordinator, model, *STABLE)
    (owner,) = [i for i, m in enumerate(walk.look.members) if m.owned & 1]
    for kind in ("fetch", "process", "commit"):
        assert done(coordinator, walk.take(Turn(kind, owner))) is None
    assert walk.look.committed == 1


@pytest.mark.parametrize(
    ("steps", "timer", "ms"),
    [
        (3, "heartbeat-g-m1", 300_000),
        (4, "join-g", 3000),
        (6, "sync-g", 120_000_000),
        (7, "append-7", 5000),
        (12, "join-g", 120_000_000),
    ],
)
def test_timers_are_compared_with_the_time_until_they_are_due(
    steps: int, timer: str, ms: int, coordinator: Driver, model: Fitting
):
    crash = (Turn("crash", 0), Turn("poll", 0), Turn("poll", 0))
    walk = walked(coordinator, model, *STABLE[: min(steps, 9)], *crash[: max(0, steps - 9)])
    told = shown(coordinator)
    assert told["group"]["timers"][timer] == NOW_MS + ms
    assert all(model.fits(guess, formed(told)) for guess in walk.guesses)
    told["group"]["timers"][timer] += 1
    for guess in walk.guesses:
        wrong = model.misfits(guess, formed(told))
        assert any(f"in {ms + 1} ms" in text for text in wrong)


def test_a_plan_in_flight_is_lost_or_kept_by_a_fail_over(coordinator: Driver, model: Fitting):
    alone = (Turn("poll", 0), Turn("poll", 0), Turn("fire", key="join-g"), Turn("sync", 0))
    walk = walked(coordinator, model, *alone)
    assert [record and record.generation for record in walk.look.logged] == [None, 1]
    assert len(walk.guesses) == 2  # the plan would be lost, or it would be loaded
    assert done(coordinator, walk.take(Turn("fail_over", key="all"))) is None
    assert (walk.look.group.state, len(walk.guesses)) == ("Stable", 1)


def test_promises_are_broken_by_what_breaks_them(coordinator: Driver, model: Following):
    seen = walked(coordinator, model, *STABLE).look
    assert list(broken(seen, seen, 0)) == []
    first, second = seen.members
    both = seen._replace(members=(first._replace(owned=1), second._replace(owned=1)))
    ahead = seen._replace(committed=2)
    lost = seen._replace(members=(first._replace(committing="done", position=5), second))
    told = [
        [promise for promise, _ in broken(*given)]
        for given in ((seen, both, 0), (seen, ahead, 1), (seen, lost, 9))
    ]
    assert told == [[name] for name in PROMISES]


def test_two_members_that_join_meanwhile_get_ids_in_any_order(coordinator: Driver, model: Fitting):
    walk = walked(coordinator, model, Turn("poll", 0, meanwhile=Turn("poll", 1)))
    assert walk.guesses[0].rules.count("join_group:id_required") == 2
    assert {m.id for m in walk.look.members} == {"m1", "m2"}


def test_a_number_that_became_free_in_the_same_step_is_given_again(
    coordinator: Driver, model: Fitting
):
    removed = Turn("fire", key="heartbeat-g-m1")
    steps = (Turn("poll", 0), Turn("crash", 0), Turn("poll", 0, meanwhile=removed))
    walk = walked(coordinator, model, *steps)
    assert walk.look.members[0].id == "m2"


def test_a_member_told_to_rejoin_goes_on_with_its_heartbeats(coordinator: Driver, model: Following):
    alone = (Turn("poll", 0), Turn("poll", 0), Turn("fire", key="join-g"), Turn("sync", 0))
    stable = (*alone, Turn("replicate"), Turn("poll", 0))
    walk = walked(coordinator, model, *stable, Turn("poll", 1), Turn("poll", 1), Turn("beat", 0))
    assert walk.look.members[0].rejoin
    assert done(coordinator, walk.take(Turn("beat", 0))) is None and walk.look.members[0].rejoin
    assert done(coordinator, walk.take(Turn("fire", key="heartbeat-g-m1"))) is None  # it is removed
    assert done(coordinator, walk.take(Turn("beat", 0))) is None
    assert walk.look.members[0].state == "UNJOINED"


def test_a_member_that_has_left_its_generation_closes_without_leave_group(
    coordinator: Driver, model: Fitting
):
    alone = (Turn("poll", 0), Turn("poll", 0), Turn("fire", key="join-g"), Turn("sync", 0))
    both = (Turn("poll", 1), Turn("poll", 1), Turn("beat", 0), Turn("poll", 0), Turn("sync", 0))
    lost = (Turn("fail_over", key="committed"), Turn("beat", 0), Turn("beat", 0))
    steps = (*alone, Turn("replicate"), Turn("poll", 0), *both, *lost)
    walk = walked(coordinator, model, *steps)  # its generation 2 is not in the log
    assert (walk.look.members[0].state, walk.look.members[0].id) == ("UNJOINED", "m1")
    close = Turn("close unjoined", 0)
    assert close in possible(walk.look)
    assert done(coordinator, walk.take(close)) is None
    assert (walk.look.members[0].id, walk.look.names) == ("", {"m1"})


def test_what_cannot_happen_is_refused(coordinator: Driver, model: Following):
    with pytest.raises(StepRefusal, match="no timer sync-g is armed"):
        walked(coordinator, model, Turn("fire", key="sync-g"))


def test_the_command_prints_figures_and_refuses_what_concerns_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, coordinator: Driver
):
    monkeypatch.setattr(
        command, "conform_whole", lambda variant, **given: small(coordinator, **given)
    )
    arguments = ["conform", "classic", "--whole", "--members", "2", "--schedules", "2"]
    assert cli.run([*arguments, "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["side"]) == ("groupcheck.conform/1", "whole")
    assert document["rows"] == 100
    assert cli.run([*arguments, "--mutation", "id_without_timer"]) == 1
    assert "timers is {heartbeat-g-m1 in" in capsys.readouterr().out.replace("\n", " ")
    assert cli.run([*arguments, "--generations", "1"]) == 2
    assert "--generations" in capsys.readouterr().err


def test_a_plan_has_common_beginnings_once_and_keeps_the_order_of_its_sequences():
    a, b = Chance("a"), Chance("b")
    plan = Plan.of([(a,), (), (a, b), (b,), (a, b, a)])
    assert plan.steps == ((0, a), (1, b), (0, b), (2, a))
    assert plan.ends == (1, 0, 2, 3, 4)
