"""Every output of kafka-consumer-groups.sh, in the forms of its versions: each group is found by
its name, and one that was refused stands apart from those that were changed (KIP-379).
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tool_outputs as tool

from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

COMMAND = "$ kafka-consumer-groups.sh --bootstrap-server b:9092 "


def told(text: str) -> dict[str, str]:
    """Group -> the kinds of statements about it and what is told of them."""
    evidence = Evidence()
    evidence.add_all(iter(Watching().read(Outputs(), enumerate(text.splitlines(), 1))))
    groups = {g.group: g.all() for g in evidence.by_group()}
    return {
        name: " ".join([*(s.kind for s in said), *(f.text for f in steps_told(said, True))])
        for name, said in groups.items()
    }


def answered(text: str, folder: Path, format: str | None = None) -> ReplayReports:
    path = folder / "out.txt"
    path.write_text(text, encoding="utf-8")
    return replay([path], format=format)


@pytest.mark.parametrize("version", tool.DELETE_ALL)
def test_groups_that_were_deleted_are_told(version: str) -> None:
    found = told(tool.DELETE_ALL[version])
    assert sorted(found) == ["audit", "stock"]
    assert all("the command deleted the group" in text for text in found.values())


@pytest.mark.parametrize("version", tool.DELETE_SOME)
def test_a_group_that_could_not_be_deleted_stands_apart(version: str) -> None:
    found = told(tool.DELETE_SOME[version])
    assert found.pop("orders").startswith("group_in_use")
    assert sorted(found) == ["audit", "stock"]
    assert all("the command deleted the group" in text for text in found.values())


def test_one_group_that_was_deleted_has_its_name_in_3_8() -> None:
    text = tool.DELETE_SOME["3.8"].replace("'stock'audit', '", "'stock', '")
    assert told(text).keys() == {"orders", "stock"}


@pytest.mark.parametrize("version", tool.RESET_SOME)
def test_a_group_whose_offsets_could_not_be_set_stands_apart(version: str) -> None:
    found = told(tool.RESET_SOME[version])
    assert found.pop("audit").startswith("group_in_use")
    assert "with --execute: t-0 to 10, t-1 to 7" in found.pop("orders")
    assert "with --execute: u-0 to 3" in found.pop("stock") and not found
    assert told(tool.RESET[version]).keys() == {"orders", "stock"}


def test_a_dry_run_sets_no_offsets() -> None:
    ask = COMMAND + "--reset-offsets --to-earliest --all-topics --group orders"
    table = tool.RESET_OF_ONE["2.0"]
    assert "the command set these offsets: t-0" in told(f"{ask} --execute\n{table}")["orders"]
    assert "a dry run would set these offsets" in told(f"{ask}\n{table}")["orders"]
    assert "a dry run would set" in told(f"WARN: {tool.DRY_RUN}\n{table}")[""]
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    before, after = (f"{head}orders t 0 {n} 50 1 c-1 /h c\n" for n in (20, 10))
    look = f"{COMMAND}--describe --group orders"
    text = f"{look}\n{before}\n{ask}{{}}\n{table}\n\n{look}\n{after}"
    assert "offsets_set_back" in told(text.format(" --execute"))["orders"]
    assert "committed_offset_went_back" in told(text.format(""))["orders"]


@pytest.mark.parametrize("version", tool.DELETE_OFFSETS)
def test_offsets_that_were_deleted_are_told(version: str) -> None:
    (text,) = [found["orders"] for found in [told(tool.DELETE_OFFSETS[version])]]
    assert "the command deleted the committed offsets of t-0, u-1" in text


@pytest.mark.parametrize("version", tool.DELETE_OFFSETS_SOME)
def test_a_partition_whose_offset_could_not_be_deleted_stands_apart(version: str) -> None:
    ask = COMMAND + "--delete-offsets --topic t --topic u --group orders\n"
    text = told(ask + tool.DELETE_OFFSETS_SOME[version])["orders"]
    of = "every partition of u" if version == "4.1" else "u-1"
    assert "the command deleted the committed offsets of t-0 (" in text
    assert f"could not delete offsets: {of} (" in text
    assert "actively subscribed" in text and "Error" not in text


@pytest.mark.parametrize("version", tool.MEMBERS)
def test_members_are_read_in_every_form(version: str) -> None:
    found = told(tool.MEMBERS[version])["orders"]
    assert "partitions that they have: 3" in found
    names = "--verbose" in version and not version.startswith("3.8")
    assert ("owns t-0, t-1, u-2" in found) == names


@pytest.mark.parametrize("version", tool.STATE)
def test_states_are_read_in_every_form(version: str, tmp_path: Path) -> None:
    found = answered(tool.STATE[version], tmp_path)
    assert [a.group for a in found.answers] == ["" if version == "2.0" else "orders"]
    assert found.health == "calm"


@pytest.mark.parametrize("error", tool.ERRORS)
def test_an_error_of_the_command_accuses_no_member(error: str, tmp_path: Path) -> None:
    ask = COMMAND + "--delete-offsets --topic t --group orders\n"
    found = answered(ask + tool.ERRORS[error], tmp_path)
    (answer,) = found.answers
    assert (answer.group, answer.health) == ("orders", "unknown")
    kinds = {f.cause.kind for f in answer.diagnosis.causes}
    assert kinds == ({"admin_on_live_group"} if "in use" in error else set())
    assert [r.format for r in found] == ["consumer-groups"]
    if "no such group" in error:
        assert [f.cause.kind for f in answer.diagnosis.candidates] == ["group_unknown"]
    elif "in use" not in error:
        assert "the command could not" in str(found)


@pytest.mark.parametrize("version", tool.DELETE_SOME)
def test_a_format_that_is_named_is_obeyed(version: str, tmp_path: Path) -> None:
    text = tool.DELETE_SOME[version]
    for name in ("consumer-groups", None):
        found = answered(text, tmp_path, name)
        assert [r.format for r in found] == ["consumer-groups"]
        assert sorted(a.group for a in found.answers) == ["audit", "orders", "stock"]
    for name in ("java-client", "events"):
        (nothing,) = answered(text, tmp_path, name)
        assert name in nothing.reason and nothing.format == "unknown"


def test_a_table_among_lines_of_a_client_is_read_alone_where_its_format_is_named(
    tmp_path: Path,
) -> None:
    expired = "[Consumer clientId=c, groupId=g] consumer poll timeout has expired."
    text = f"{expired}\n{tool.MEMBERS['2.4']}"
    read = {name: [r.format for r in answered(text, tmp_path, name)]
            for name in (None, "java-client", "consumer-groups")}  # fmt: skip
    both = ["java-client", "consumer-groups"]
    assert read == {None: both, "java-client": both[:1], "consumer-groups": both[1:]}
    assert [a.group for a in answered(text, tmp_path, "consumer-groups").answers] == ["orders"]


@pytest.mark.parametrize("name", ["broker", "broker-scala", "request-log", "offsets-dump"])
def test_tables_and_events_are_left_out_where_another_format_is_named(
    name: str, tmp_path: Path
) -> None:
    event = '{"schema": "groupcheck.event/1", "event": "fatal", "group": "e", "client": "c"}'
    text = f"{event}\n{tool.MEMBERS['2.4']}"
    assert [a.group for a in answered(text, tmp_path).answers] == ["e", "orders"]
    assert [a.group for a in answered(text, tmp_path, name).answers] == []


def test_a_log_without_a_line_of_the_named_format_says_so(tmp_path: Path) -> None:
    expired = "[Consumer clientId=c, groupId=g] consumer poll timeout has expired."
    (nothing,) = answered(expired, tmp_path, "broker-scala")
    assert nothing.format == "unknown" and "broker-scala" in nothing.reason


def test_the_lines_of_the_command_are_not_a_clients() -> None:
    for texts in (tool.DELETE_SOME, tool.RESET_SOME, tool.ERRORS):
        for text in texts.values():
            assert [*ClientLog().statements(enumerate(text.splitlines(), 1))] == []
