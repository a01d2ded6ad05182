"""`conform --live` and `conform --whole` for every variant: each agrees with Apache Kafka, or is
refused in words that say what is not followed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import attrs
import pytest
from attrs import frozen

from groupcheck.model.engine import Spec, UserError, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import TRUTH, bound
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.model.protocol.transform import extended, own, rebuilt
from groupcheck.model.variants import load, names
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform import conformance
from groupcheck.oracles.conform.modes import LIVE, WHOLE
from groupcheck.oracles.conform.whole.conformance import conform_whole
from groupcheck.oracles.judge.following.said import TOPIC
from groupcheck.oracles.judge.live import live
from groupcheck.oracles.judge.live.live import explore, rows_of, settings_of
from groupcheck.oracles.judge.live.walk import Disagreement, ScheduleSums
from groupcheck.oracles.kafka import driver
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.record.running import running

MODES = ("--live", "--whole")
# Variant -> what the refusal says, in both modes or in each.
NO_CODE = "cannot be compared with real code: "
LEADER = "the comparison of Connect's leader does not have this option"
REPORTS = "no row has a worker's report"
TOPICS = "nothing there carries out topics, subscriptions, protocols_after"
REFUSED: Mapping[str, str | Mapping[str, str]] = {
    "async_server": NO_CODE + "the protocol is known from an article alone",
    "sticky_partitioner": NO_CODE + "a partitioner is no coordinator",
    "cooperative_rounds": NO_CODE + "it is `cooperative` with a ghost",
    "connect": LEADER,
    "consumer": {"--live": "a walk on a live broker follows classic groups alone"},
    "share": {
        "--live": "a walk on a live broker follows classic groups alone",
        "--whole": "only the coordinator is compared in share",
    },
    "streams": {
        "--live": "a walk on a live broker follows classic groups alone",
        "--whole": "only the coordinator is compared in streams",
    },
    "migration": {
        "--live": "a walk on a live broker follows classic groups alone",
        "--whole": "only the coordinator is compared in migration",
    },
    "share_partition": {
        "--live": "a walk on a live broker follows classic groups alone",
        "--whole": "only the leader is compared in share_partition",
    },
    "connect_backoff": REPORTS,
    "connect_versions": REPORTS,
    "callbacks": {
        "--live": "it adds rebalance callbacks; no request there leads to call_back, callback_runs",
        "--whole": "it adds rebalance callbacks; no step there is call_back, callback_runs",
    },
    "cooperative_callbacks": {
        "--live": "`conform cooperative --live` has the same coordinator",
        "--whole": "no step there is call_back, callback_runs",
    },
    "offsets": "it adds offsets in full; no",
    "triggers": "it adds topics; no",
    "cooperative_triggers": "it adds topics, topics of cooperative members; no",
    "static_triggers": "it adds topics, topics of static members; no",
    "twins": {"--whole": "no step there is meet_twin, return_to_twin, tell_twin, look_away"},
    "upgrade": {
        "--live": "it adds rolling upgrade; no request there leads to bounce; nothing there",
        "--whole": "it adds rolling upgrade; no step there is bounce; nothing there carries out",
    },
}


def refusal(name: str, mode: str) -> str:
    """What a refusal says; empty if the variant is followed."""
    said = REFUSED.get(name, "")
    return said if isinstance(said, str) else said.get(mode, "")


EVERY = [(name, mode) for name in names() for mode in MODES]
FOLLOWED = [(name, mode) for name, mode in EVERY if not refusal(name, mode)]


@pytest.mark.parametrize(("name", "mode"), [one for one in EVERY if one not in FOLLOWED])
def test_what_a_mode_does_not_follow_is_refused_in_words_before_anything_starts(
    name: str,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(live, "running", None)
    monkeypatch.setattr(driver, "Jvm", None)
    assert cli.run(["conform", name, mode]) == 2
    out, said = capsys.readouterr()
    assert out == "" and refusal(name, mode) in said
    if f"leave out {mode}: " in said:
        assert f"`conform {name}` executes the rows of its coordinator" in said


# -- what is followed agrees

# What is not the default -> the outcomes that must be among those seen. (What differs in the
# settings of the broker needs one of its own.)
Settings = dict[str, str]
TAKES = ("join_group:replaced", "takeover_committed:answered", "heartbeat:fenced")
SEEN: Mapping[str, tuple[str, ...]] = {
    "classic": ("join_group:id_required", "sync_group:led"),
    "cooperative": ("join_group:restarted",),
    "static_membership": TAKES,
    "cooperative_static": TAKES,
    "mixed_membership": (*TAKES, "join_group:id_required"),
    "cooperative_mixed": (*TAKES, "join_group:id_required"),
    "twins": ("meet_twin:moved", "meet_twin:fenced"),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running("4.3.0", live.SETTINGS, quiet) as on:
        on.broker.ask("topic", TOPIC, 1)
        on.broker.ask("group", "live")
        yield on.broker.address


def quiet(message: str) -> None:
    pass


SEEDS = iter(range(100, 1000))  # groups are called by them, and share a broker


def sent(
    address: str, variant: str, settings: Settings, schedules: int = 12, mutation: str | None = None
) -> tuple[ScheduleSums, Disagreement | None]:
    rows = rows_of(variant, mutation=mutation, settings=settings)
    return explore(rows, address, schedules, next(SEEDS), quiet)


def fired(seen: ScheduleSums) -> set[str]:
    return {label for row in seen.rows for label in row.rules}


@pytest.mark.parametrize("name", [name for name, mode in FOLLOWED if mode == "--live"])
def test_a_broker_answers_as_the_variant_allows(name: str, address: str) -> None:
    seen, disagreement = sent(address, name, {})
    assert disagreement is None
    assert fired(seen) >= {*SEEN[name]}
    asked = [row.given.request for row in seen.rows]
    claims = any(isinstance(request, JoinGroup) and request.owned for request in asked)
    assert claims == load(name).scope_type.cooperative


@pytest.mark.parametrize(
    ("settings", "outcomes"),
    [
        ({"two_step": "no"}, {"join_group:added"}),
        ({"protocols": "range|sticky|range"}, {"join_group:inconsistent"}),
        ({"protocols": "range,sticky|sticky,range|sticky"}, {"join_group:added"}),
    ],
)
def test_a_broker_answers_as_the_settings_say(
    settings: Settings, outcomes: set[str], address: str
) -> None:
    seen, disagreement = sent(address, "classic", settings)
    assert disagreement is None
    assert fired(seen) >= outcomes
    assert ("join_group:id_required" in fired(seen)) == ("two_step" not in settings)


@pytest.mark.parametrize(
    ("name", "mutation"),
    [("static_membership", "restart_starts_a_round"), ("static_membership", "replaced_id_unknown")],
)
def test_a_mistake_about_static_members_is_told_from_the_broker(
    name: str, mutation: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SHRINK_S", 1.0)
    _, disagreement = sent(address, name, {}, 60, mutation)
    assert disagreement is not None


@pytest.mark.night  # it needs a broker of its own
def test_the_broker_has_the_size_limit_of_the_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SHRINK_S", 1.0)
    scope = rows_of("classic", settings={"max_size": "2"}).scope
    with running("4.3.0", settings_of(scope), quiet) as on:
        on.broker.ask("topic", TOPIC, 1)
        on.broker.ask("group", "live")
        for variant in ("classic", "static_membership"):
            seen, disagreement = sent(on.broker.address, variant, {"max_size": "2"}, 15)
            assert disagreement is None, variant
            assert "join_group:too_many" in fired(seen)
        _, disagreement = sent(on.broker.address, "classic", {"max_size": "1"}, 15)
        assert disagreement is not None


# Whole consumer groups have a driver of their own: oracles/consumer/test_conform_java_member.py.
CLASSIC = [name for name, mode in FOLLOWED if mode == "--whole" and name != "consumer"]


@pytest.mark.parametrize("name", CLASSIC)
def test_a_whole_group_goes_as_the_variant_allows(name: str, coordinator: Driver) -> None:
    result = conform_whole(name, kafka="4.3.0", schedules=4, steps=50, seed=3, driver=coordinator)
    assert result.differences == ()
    assert result.document()["agreeing"] == 200


# -- what is new is refused


@rule(when=lambda core: core.generation > 100)
def idle(core: Any) -> Iterator[Any]:
    """A rule that no mode knows."""
    yield core


@cache
def other(usual: Rule) -> Rule:
    return extended(usual, lambda before, label, after, scope: after)


@frozen
class MoreScope(Scope):
    more: bool = bound(False, "Something new.", TRUTH)


CLASSIC = load("classic")


def with_rules(*changed: str, more: tuple[Rule, ...] = ()) -> Any:
    def spec(scope: Any) -> Spec:
        usual = CLASSIC.spec(scope)
        every = [other(own(usual, r)) for r in usual.rules if r.name in changed]
        return rebuilt(usual, every, more)

    return spec


@pytest.mark.parametrize("mode", [LIVE, WHOLE])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"families": (*CLASSIC.families, Family("new things", "classic"))}, "adds new things"),
        ({"spec": with_rules(more=(idle,))}, " idle"),
        ({"spec": with_rules("join_group")}, "rules of its own for join_group"),
        ({"spec": with_rules("send_join")}, "rules of its own for send_join"),
        ({"scope_type": MoreScope}, "nothing there carries out more"),
    ],
)
def test_a_variant_that_brings_anything_unknown_is_refused(
    mode: Any, changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = attrs.evolve(CLASSIC, name="changed", **changes)
    monkeypatch.setattr(conformance, "variant_named", lambda name: changed)
    with pytest.raises(UserError, match=f"changed is not followed there: .*{said}"):
        mode.followed("changed")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("autocommit=no", "--live does not follow autocommit"),
        ("phases=yes", "--live does not follow phases"),
        ("commit_style=auto", "--live does not follow commit_style"),
        ("assignor=any", "it follows max_size, partitions, protocols, two_step"),
        ("autocomit=no", "unknown scope field of classic"),
    ],
)
def test_a_setting_that_is_not_carried_out_is_refused(
    settings: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(live, "running", None)
    assert cli.run(["conform", "--live", "--set", settings]) == 2
    assert said in capsys.readouterr().err
