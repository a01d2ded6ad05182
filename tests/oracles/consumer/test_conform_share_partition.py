"""The model of a share partition's records beside Kafka's own SharePartition: rows of small scopes,
the mistakes that they show, and a late acknowledgement (K33).
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import OutageError, evolve
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.share_partition.partition import (
    Delivery,
    InFlight,
    Partition,
    Record,
)
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.share_partition.families import (
    EVERY,
    compare,
    explore,
    spec_of,
)
from groupcheck.oracles.consumer.share_partition.leaders import LEADERS, VERSIONS, Leaders
from groupcheck.oracles.consumer.share_partition.rows import LeaderRows, of_kafka

RECORD, DELIVERY, PAIR, THREE, BATCH, ONCE, OFTEN, GAP, BATCHES = EVERY
DAY = "4.3.0"
MISTAKES = (
    "share_lock_is_kept",
    "share_acknowledged_is_not_read",
    "share_start_passes_records",
    "share_limit_is_ignored",
    "share_record_is_given_up_at_once",
    "share_part_takes_the_batch",
    "share_lock_frees_the_batch",
)


@pytest.fixture(scope="module")
def leaders() -> Iterator[Leaders]:
    with Leaders(DAY) as started:
        yield started


def test_the_rows_of_one_record_agree(leaders: Leaders) -> None:
    few = (RECORD, 700), (PAIR, 900), (THREE, 400)
    some = [DELIVERY, *(attrs.evolve(family, most=most) for family, most in few)]
    result = compare(leaders, [(family, spec_of(family, DAY)) for family in some])
    assert [tally.differences for tally in result.tallies] == [{}] * 4
    assert (result.verdict, result.never_executed) == ("agrees", ())
    assert sum(tally.inputs for tally in result.tallies) == 2_130


def test_the_rows_of_batches_agree(leaders: Leaders) -> None:
    few = (BATCH, 300), (ONCE, 1_900), (OFTEN, 150), (GAP, 200), (BATCHES, 300)
    some = [attrs.evolve(family, most=most) for family, most in few]
    result = compare(leaders, [(family, spec_of(family, DAY)) for family in some])
    assert [tally.differences for tally in result.tallies] == [{}] * 5
    assert (result.verdict, result.never_executed) == ("agrees", ())


@pytest.mark.night
@pytest.mark.parametrize("kafka", VERSIONS)
def test_every_row_agrees(kafka: str) -> None:
    # All rows of two records are more than 675,000.
    most = {PAIR: 60_000, OFTEN: None, ONCE: None}
    whole = [attrs.evolve(f, most=most.get(f, f.most and 30_000)) for f in EVERY]
    with Leaders(kafka) as started:
        result = compare(started, [(family, spec_of(family, kafka)) for family in whole])
    assert (result.verdict, result.never_executed) == ("agrees", ())
    assert [tally.inputs for tally in result.tallies] == [
        *(1_916, 130, 60_000, 30_000),
        *(30_000, 10_923, 30_000, 30_000, 30_000),
    ]


@pytest.mark.parametrize("id", MISTAKES)
def test_a_mistake_of_the_leader_shows(leaders: Leaders, id: str) -> None:
    def differs(family: Any) -> bool:
        rows = LeaderRows(spec_of(family, DAY, mutation(id)))
        return any(row.differs for row in explore(rows, leaders, 700))

    batch = bool(mutation(id).scope.get("batch"))
    assert any(differs(family) for family in EVERY if ("batch" in family.fields) == batch)


def test_the_start_offset_waits_at_a_gap_that_the_next_leader_has_read(leaders: Leaders) -> None:
    """The leader has read that record 1 is accepted, and nothing of record 0."""
    gap = ("acquire m0 0", "acquire m0 1", "acknowledge m0 1-1=1", "lead written")
    past = (*gap, "acquire m1 0", "acknowledge m1 0-0=1", "write 0 ok")
    assert (told(leaders, *gap)["start"], told(leaders, *past)["start"]) == (0, 1)


def test_a_request_with_several_batches_counts_as_a_whole(leaders: Leaders) -> None:
    both = ("acquire m0 0", "acquire m0 1", "acknowledge m0 0-0=1+1-1=1")
    assert told(leaders, *both, "write 1 ok")["start"] == 2
    late = ("acquire m0 0", "acquire m0 1", "lock 1 ok", "acknowledge m0 0-0=1+1-1=1")
    known = told(leaders, *late)
    assert (known["answer"], known["record 0"], known["record 1"]) == (
        "refused",
        ("ACQUIRED", 1),
        ("AVAILABLE", 1),
    )


# The next leader has nothing of what m0 has: m1 has acquired both records after m0's lock ran out,
# which was not stored, and has accepted the first, which was stored, and is passed.
LATE = (
    *("fetch m0 batch_optimized 2", "lock 0 fail", "fetch m1 batch_optimized 2"),
    *("acknowledge m1 0-0=1", "write 0 ok", "lead unwritten"),
)


@pytest.mark.parametrize(
    ("asked", "said"), [("0-1=1", "NullPointer"), ("0-0=1", "well"), ("1-1=1", "refused")]
)
def test_a_request_that_begins_before_all_that_the_leader_knows_fails(
    leaders: Leaders, asked: str, said: str
) -> None:
    assert told(leaders, *LATE, f"acknowledge m0 {asked}")["answer"] == said


def test_records_of_a_batch_have_one_lock_until_a_request_needs_a_part(leaders: Leaders) -> None:
    fetched = "fetch m0 batch_optimized 2"
    freed = told(leaders, fetched, "lock 0 ok")
    assert (freed["record 0"], freed["record 1"]) == (("AVAILABLE", 1),) * 2
    part = told(leaders, fetched, "acknowledge m0 1-1=1", "write 1 ok", "lock 0 ok")
    assert (part["record 0"], part["record 1"]) == (("AVAILABLE", 1), ("ACKNOWLEDGED", 1))


def test_a_member_that_wants_one_record_gets_its_batch_or_the_record(leaders: Leaders) -> None:
    modes = ("batch_optimized", "record_limit")
    found = [told(leaders, f"fetch m0 {mode} 1")["answer"] for mode in modes]
    assert found == ["0:1,1:1", "0:1"]


def test_the_start_offset_passes_no_part_of_a_batch_that_reaches_into_a_gap(
    leaders: Leaders,
) -> None:
    """The next leader has read record 2 alone; a strict fetch takes record 0 of what is before."""
    known = ("fetch m0 batch_optimized 3", "acknowledge m0 2-2=1", "write 2 ok", "lead unwritten")
    first = ("fetch m1 record_limit 1", "acknowledge m1 0-0=1", "write 0 ok")
    (answer,) = leaders.run_all([";".join(("3 3 2 -1", *known, *first))])
    assert of_kafka(answer)["start"] == 0
    done = Record(state=Delivery.ACKNOWLEDGED)
    batches = (InFlight(0, 1, whole=False), InFlight(2, 2))
    part = Partition(records=(done, Record(), done), batches=batches, gap=(1, 2))
    assert part.advanced().start == 0
    assert evolve(part, gap=None).advanced().start == 1


def test_a_record_is_delivered_alone_for_its_last_time(leaders: Leaders) -> None:
    again = ("fetch m0 batch_optimized 2", "lock 0 ok") * 2
    last = ("fetch m0 batch_optimized 2", "fetch m1 batch_optimized 2")
    assert told(leaders, *again, last[0])["answer"] == "0:3"
    assert told(leaders, *again, *last)["answer"] == "1:3"


def test_what_is_released_after_a_lost_answer_stays_accepted_for_the_next_leader(
    leaders: Leaders,
) -> None:
    unheard = ("acquire m0 0", "acknowledge m0 0-0=1", "write 0 unanswered", "release m0")
    assert told(leaders, *unheard, "write 0 ok")["record 0"] == ("AVAILABLE", 1)
    assert told(leaders, *unheard, "write 0 ok", "lead unwritten")["start"] == 1


def test_each_version_is_compiled_with_its_sources_and_none_stands_twice(tmp_path: Path) -> None:
    def source(version: str) -> tuple[bool, bool]:
        LEADERS.sources_for(version, tmp_path / version)
        place = tmp_path / version / "src/kafka/server/share"
        records = (place / "Records.java").read_text("utf-8")
        shares = (place / "Shares.java").read_text("utf-8")
        return ".record.internal." in records, "ShareGroupConfigProvider" in shares

    found = [source(version) for version in ("4.2.0", "4.3.0", "4.3.1", "4.4.0")]
    assert found == [(False, False), (True, False), (True, False), (True, True)]
    texts = [p.read_text("utf-8") for p in (LEADERS.sources / "shims").rglob("*.java")]
    assert len({*texts}) == len(texts) == 4


def told(leaders: Leaders, *commands: str) -> dict[str, Any]:
    (answer,) = leaders.run_all([";".join(("3 2 2 -1", *commands))])
    return dict(of_kafka(answer))


def test_a_leader_whose_jvm_is_killed_is_an_outage_and_the_next_question_starts_another() -> None:
    with Leaders(DAY) as once:
        answers = once.run_all(["3 1 1 -1;acquire m0 0"] * 1_000)
        first = next(answers)
        os.kill(once._jvm._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
        with pytest.raises(OutageError, match=r"of Kafka 4\.3\.0 was ended by SIGKILL"):
            list(answers)
        assert list(once.run_all(["3 1 1 -1;acquire m0 0"])) == [first]


def test_whoever_has_heard_enough_leaves_no_answers_behind(leaders: Leaders) -> None:
    some = leaders.run_all(["3 1 1 -1;acquire m0 0"] * 1_000)
    next(some)
    some.close()
    assert told(leaders, "acquire m0 0", "lock 0 ok")["answer"] == "over"


def test_a_record_that_another_member_has_accepted_is_accepted_once_more(leaders: Leaders) -> None:
    over = ("acquire m0 0", "lock 0 ok", "acquire m1 0")
    late = "acknowledge m0 0-0=1"
    assert told(leaders, *over, late)["answer"] == "refused"
    well = told(leaders, *over, "acknowledge m1 0-0=1", "write 0 ok", late)
    assert (well["answer"], well["start"], well["stored 0"]) == ("well", 1, (2, 2))


def test_the_comparison_has_a_command(capsys: pytest.CaptureFixture[str], misfits: Any) -> None:
    command = "conform share_partition --kafka 4.3.0 --members 1 --max-rows 300 --json"
    assert cli.run(command.split()) == 3
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    found = (document["side"], document["inputs"], document["differing"])
    assert found == ("share_partition", 300, 0)
    for options, said in (
        ("--diff 4.2.0 4.3.1", "compared with the model alone"),
        ("--side member", "only the leader is compared"),
        ("--kafka 4.1.1", "no driver"),
    ):
        assert cli.run(["conform", "share_partition", *options.split()]) == 2
        assert said in capsys.readouterr().err
