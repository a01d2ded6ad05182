"""Which partition of __consumer_offsets keeps a group, as a command and beside a replay."""

from __future__ import annotations

import json

import pytest
from click import Option

from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.command_line.cli_lookup import connect_rounds, offsets_partition
from groupcheck.oracles.connect.played import ROUNDS, WORKERS
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.show.offsets_partition import PARTITIONS, places


def java_hash(text: str) -> int:
    """String.hashCode, from its documentation: over UTF-16 units, as a signed number."""
    units = text.encode("utf-16-be")
    out = 0
    for at in range(0, len(units), 2):
        out = (31 * out + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return out - (1 << 32) if out >> 31 else out


@pytest.mark.parametrize(
    "group", ["my-group", "orders", "G1", "polygenelubricants", "grüße 😀", "a b"]
)
@pytest.mark.parametrize("partitions", [1, 7, PARTITIONS])
def test_the_partition_is_that_of_javas_hash(group: str, partitions: int) -> None:
    (place,) = places([group], partitions).groups
    assert place.hash == java_hash(group)
    assert place.partition == (abs(place.hash) if place.hash != -(2**31) else 0) % partitions


def test_the_command_prints_a_line_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offsets-partition", "my-group", "polygenelubricants"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["__consumer_offsets-12", "my-group"]
    assert second.split()[0] == "__consumer_offsets-0" and "no absolute value" in second
    assert run(["offsets-partition", "my-group", "--partitions", "7", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "groupcheck.offsets-partition/1"
    assert (document["partitions"], document["groups"][0]["group"]) == (7, "my-group")


def test_a_replay_of_one_group_says_where_it_is_kept() -> None:
    (note,) = replay(["sample:zombie"], group="g1").notes
    (place,) = places(["g1"], PARTITIONS).groups
    assert f"__consumer_offsets-{place.partition} keeps the group g1" in note
    assert note.endswith("(another number: `offsets-partition --partitions N`)")
    assert replay(["sample:zombie"]).notes == ()


def test_the_help_of_small_commands_shows_the_defaults_that_they_take() -> None:
    shown = {o.name: o.show_default for o in connect_rounds.params if isinstance(o, Option)}
    assert (shown["workers"], shown["rounds"]) == (" ".join(WORKERS), " ".join(ROUNDS))
    (partitions,) = (o for o in offsets_partition.params if o.name == "partitions")
    assert partitions.default == PARTITIONS
