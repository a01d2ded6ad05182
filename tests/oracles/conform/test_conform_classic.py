"""The classic coordinator of the model against Apache Kafka's own: agreement at a small scope, and
that a difference is found and told.
"""

from __future__ import annotations

import json

import pytest
from thinned import Thinned

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import VERSIONS
from groupcheck.oracles.show.text import as_plain

ONE = {"members": 1, "generations": 1}
TWO = {"members": 2, "generations": 1, "faults": {"append_failure": 1}}


def ask(coordinator: Driver, **options) -> Conformance:
    return conform("classic", kafka="4.3.0", driver=coordinator, **options)


@pytest.fixture(scope="module")
def one(coordinator: Driver) -> Conformance:
    return ask(coordinator, **ONE)


@pytest.fixture(scope="module")
def two(coordinator: Driver) -> Conformance:
    return ask(coordinator, **TWO, tour=Thinned)


def test_every_row_of_one_member_with_every_fault_is_executed_and_agrees(one: Conformance):
    found = one
    assert (found.verdict, found.exit_code, found.differences) == ("agrees", 0, ())
    assert found.counts.rows == found.counts.executed == found.counts.agreeing > 500
    assert found.counts.seen == found.counts.choices > 0


@pytest.mark.night  # `two` executes a part of them
def test_every_row_of_two_members_agrees(coordinator: Driver):
    found = ask(coordinator, **TWO)
    assert (found.verdict, found.unrealizable) == ("agrees", {})
    assert found.counts.agreeing == found.counts.executed == found.counts.rows > 3000
    assert found.counts.seen == found.counts.choices


def test_rows_of_two_members_in_one_generation_and_of_the_scopes_beside_it_agree(
    two: Conformance, misfits
):
    found = two
    document = found.document()
    assert misfits(document) == []
    assert (found.verdict, found.unrealizable, document["unseen"]) == ("agrees", {}, [])
    assert found.counts.agreeing == found.counts.executed == found.counts.rows > 300
    assert found.counts.seen == found.counts.choices
    scopes = [toured["scope"] for toured in document["toured"]]
    assert [scope["max_size"] for scope in scopes] == [None, 1, None]
    assert [scope["protocols"] for scope in scopes] == ["", "", "range|sticky"]
    assert document["rows"] == sum(toured["rows"] for toured in document["toured"])
    # What only other faults fire.
    assert {name.partition(":")[0] for name in found.never_executed} <= {
        "fail_over",
        "record_plan",
        "reload",
        "session_timeout",
        "new_member_timeout",
        "rebalance_timeout",
        "sync_timeout",
        "elect",
    }
    text = as_plain(found.view())
    assert "max size 1" in text and "real memories behind them" in text


def test_these_scopes_together_execute_every_outcome_of_the_coordinator(
    one: Conformance, two: Conformance
):
    assert set(one.never_executed) & set(two.never_executed) == set()


def test_a_row_is_executed_from_every_real_memory_behind_the_models(coordinator: Driver):
    found = ask(coordinator, **ONE)
    (toured,) = found.document()["toured"]
    assert toured["memories"] == found.counts.memories == 69
    assert toured["real_memories"] == found.counts.real_memories > 100
    assert found.counts.executions > 1.5 * found.counts.rows


@pytest.mark.parametrize(
    "mutation",
    [
        "heartbeat_ignores_generation",
        "commit_while_syncing",
        "member_without_id",
        "joined_twice_counted_twice",
        "share_never_sent",
    ],
)
def test_a_mistake_in_the_models_coordinator_is_told_apart(coordinator: Driver, mutation: str):
    found = ask(coordinator, **ONE, faults={"append_failure": 0}, mutation=mutation)
    assert (found.verdict, found.exit_code) == ("differs", 1)
    assert found.differing >= len(found.differences) > 0
    lengths = [len(d.transcript.schedule.commands) for d in found.differences]
    assert lengths[0] == min(lengths)


def test_a_difference_is_told_with_the_schedule_that_shows_it(coordinator: Driver, misfits):
    found = ask(coordinator, **ONE, faults={"append_failure": 0}, mutation="commit_while_syncing")
    assert misfits(found.document()) == []
    (first, *_) = found.document()["differences"]
    assert first["input"] == "member 0 sends OffsetCommit(id=0, generation=1, offset=1)"
    assert first["differs"][0] == "request 6: error is 27, in the model 0"
    assert (
        "  5  Fire timer=join-g  -> request 4: 0, generation 1, leader m2, members m2"
        in first["transcript"]
    )
    assert first["transcript"][5].endswith("-> 27")
    assert "real: request 6: error is 27, in the model 0" in as_plain(found.view())


def test_a_run_that_was_cut_short_is_unknown(coordinator: Driver):
    found = ask(coordinator, **ONE, max_rows=40)
    assert (found.verdict, found.exit_code, found.reason) == ("unknown", 3, "stopped after 40 rows")
    assert found.counts.executed == found.counts.rows == 40


def test_the_same_question_gives_the_same_document(coordinator: Driver):
    documents = [ask(coordinator, **ONE, max_rows=60, seed=3).document() for _ in range(2)]
    for d in documents:
        del d["seconds"]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fault", "crash"], "unknown fault of the coordinator 'crash'"),
        (
            ["--mutation", "keeps_partitions_on_rejoin"],
            "changes the member (send_join), not the coordinator",
        ),
        (["--kafka", "3.9.0"], ", ".join(VERSIONS)),
        (["--members", "0"], "members is 0"),
        (["--set", "colour=red"], "colour"),
        (["--max-rows", "0"], "0 is not in the range x>=1"),
    ],
)
def test_bad_usage_is_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert run(["conform", "classic", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_strange_variant_is_named():
    with pytest.raises(UserError, match="unknown variant 'clasic'"):
        conform("clasic", kafka="4.3.0")


def test_json_is_one_document(capsys: pytest.CaptureFixture[str], misfits):
    code = run(
        ["conform", "classic", "--members", "1", "--generations", "1", "--max-rows", "10", "--json"]
    )
    document = json.loads(capsys.readouterr().out)
    assert (code, document["schema"], document["rows"], document["executed"]) == (
        3,
        "groupcheck.conform/1",
        10,
        10,
    )
    assert misfits(document) == []
