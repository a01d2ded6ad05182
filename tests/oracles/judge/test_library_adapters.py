"""Every adapter against Apache Kafka's broker: it joins, gets its share, delivers, commits, gives
up what another member gets, and leaves when it is told to stop.
"""

from __future__ import annotations

import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_runs import Run
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.brokers.starting import QUICK
from groupcheck.oracles.judge.client.events import (
    Committed,
    Delivered,
    Failed,
    Lost,
    MemberSettings,
    Revoked,
    Started,
)
from groupcheck.oracles.judge.libraries import libraries, prepare
from groupcheck.oracles.record.running import running
from groupcheck.traces.messages.apis import api, request_bytes, response_values

ROOT = Path(__file__).parents[3]
ALL = {("t", number) for number in range(4)}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A broker with a topic of four partitions, each of which gets a record every 100 ms."""
    with running("4.3.0", QUICK, print) as on:
        on.broker.ask("topic", "t", len(ALL))
        on.broker.ask("group", "g")
        on.broker.ask("feed", "t")
        yield on.broker.address


def asked(address: str, name: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
    """What the broker answers."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request_bytes(api(name), version, 1, "test", values))
        read = connection.makefile("rb")
        answer = read.read(struct.unpack(">i", read.read(4))[0])
    return response_values(api(name), version, answer[4:])


def members(address: str, group: str) -> tuple[str, int]:
    """The state of a group, and how many members it has."""
    (told,) = asked(address, "DescribeGroups", 4, {"groups": [group]})["groups"]
    return told["groupState"], len(told["members"])


def offsets(address: str, group: str) -> dict[tuple[str, int], int]:
    """What is committed."""
    topics = [{"name": "t", "partitionIndexes": [number for _, number in sorted(ALL)]}]
    told = asked(address, "OffsetFetch", 5, {"groupId": group, "topics": topics})
    return {
        (topic["name"], one["partitionIndex"]): one["committedOffset"]
        for topic in told["topics"]
        for one in topic["partitions"]
    }


def cases() -> list[tuple[str, str, bool]]:
    """Library, assignor, static: its first eager assignor and its cooperative one."""
    found = []
    for library in libraries().values():
        assignors = dict.fromkeys([library.assignors[0], library.assignors[-1]])
        for assignor in [a for a in assignors if a in (library.assignors[0], "cooperative")]:
            found += [(library.name, assignor, False)]
            found += [(library.name, assignor, True)] if "static" not in library.lacks else []
    return found


@pytest.mark.night
@pytest.mark.timeout(2000)  # the first use of a library compiles it
@pytest.mark.parametrize(("name", "assignor", "static"), cases())
def test_an_adapter_does_what_the_contract_says(
    name: str, assignor: str, static: bool, address: str
) -> None:
    program = prepare(name, print)
    lacks = program.library.lacks
    group = f"{name}-{assignor}-{'static' if static else 'dynamic'}".replace("/", "-")

    def member(number: int) -> Run:
        settings = MemberSettings(
            bootstrap=address,
            group=group,
            topic="t",
            instance=f"i{number}" if static else "",
            assignor=assignor,
        )
        return Run(program, settings)

    with member(1) as one:
        one.until("records of all partitions", lambda: one.read == ALL)
        one.until("offsets", lambda: min(offsets(address, group).values()) > 0)
        assert "assigned" in lacks or one.own == ALL
        assert one.of(Started)[0].version
        with member(2) as other:
            other.until("its share", lambda: len(other.read) == 2)
            one.until("two members", lambda: members(address, group) == ("Stable", 2))
            if not {"assigned", "revoked"} & lacks.keys():
                one.until("its share", lambda: one.own | other.own == ALL)
                assert one.own & other.own == set() and len(one.own) == 2
            before = len(one.of(Delivered))
            one.stop()
            other.until("all partitions", lambda: other.read == ALL)
            assert "assigned" in lacks or other.own == ALL
            other.until("one member", lambda: members(address, group)[1] == 1)
            other.stop()
        assert before and ("commit" in lacks or (one.of(Committed) and other.of(Committed)))
        assert one.of(Failed) == other.of(Failed) == []
        if not static:
            assert members(address, group) == ("Empty", 0)


@pytest.mark.night
@pytest.mark.timeout(2000)
@pytest.mark.parametrize("name", libraries())
def test_a_member_that_was_removed_while_it_was_frozen_tells_what_it_lost(
    name: str, address: str
) -> None:
    program = prepare(name, print)
    settings = MemberSettings(
        bootstrap=address,
        group=f"frozen-{name}".replace("/", "-"),
        topic="t",
        assignor=program.library.assignors[0],
        session_ms=2000,
    )
    one, other = (Run(program, settings) for n in range(2))
    with one, other:
        one.until("two members", lambda: len(one.read) >= 2 and len(other.read) >= 2)
        one.program.signal(signal.SIGSTOP)
        since = len(other.events)
        other.until("the other's partitions", lambda: other.read_since(since) == ALL)
        before = len(one.events)
        one.program.signal(signal.SIGCONT)
        one.until("records", lambda: bool(one.read_since(before)))
        if not {"assigned", "revoked"} & program.library.lacks.keys():
            # Which of the two callbacks it is, is the library's affair.
            one.until("what it lost", lambda: _given_up(one, before))
            one.until("its new share", lambda: len(one.own) == 2)
        assert not [event for event in one.of(Failed) if event.fatal]


def _given_up(run: Run, before: int) -> bool:
    return any(isinstance(event, Lost | Revoked) for event in run.events[before:])


@pytest.mark.night
@pytest.mark.parametrize(
    "asked",
    ["java==3.7.1", "java==2.4.0", "aiokafka==0.12.0", "kafkajs==2.2.3", "franz-go==1.20.0"],
)
def test_another_version_is_installed_and_works(asked: str, address: str) -> None:
    program = prepare(asked, print)
    settings = MemberSettings(
        bootstrap=address,
        group=asked,
        topic="t",
        assignor=program.library.assignors[0],
    )
    with Run(program, settings) as one:
        one.until("records of all partitions", lambda: one.read == ALL)
        assert program.version in one.of(Started)[0].version
        one.stop()


@pytest.mark.night
def test_a_version_that_the_registry_lacks_is_a_clear_error() -> None:
    with pytest.raises(UserError, match=r"aiokafka cannot be installed: .*0\.0\.77") as told:
        prepare("aiokafka==0.0.77", print)
    assert told.value.exit_code == 2


@pytest.mark.night
def test_the_program_in_the_documents_does_what_the_contract_says(
    address: str, tmp_path: Path
) -> None:
    page = (ROOT / "docs/judge/your_client.md").read_text("utf-8")
    (tmp_path / "my_consumer.py").write_text(
        page.split('title="my_consumer.py"\n')[1].split("```")[0]
    )
    python = prepare("kafka-python", print)
    program = evolve(python, command=(*python.command[:-1], str(tmp_path / "my_consumer.py")))
    settings = MemberSettings(bootstrap=address, group="page", topic="t")
    with Run(program, settings) as one:
        one.until("records of all partitions", lambda: one.read == one.own == ALL)
        one.until("offsets", lambda: min(offsets(address, "page").values()) > 0)
        one.stop()
    assert members(address, "page") == ("Empty", 0)
