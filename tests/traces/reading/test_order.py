"""A log that is not in the order of time as a whole is put in order, and no other is touched."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.reading import Notes, Piece, order, place_of
from groupcheck.traces.reading.finding import find_logs
from groupcheck.traces.reading.order import BACKWARDS

DATA = Path(__file__).parents[2] / "data" / "replay"
WHOLE = (DATA / "kafka41-console-group-scale.log").read_text().splitlines(keepends=True)


def lines(a: int, b: int, width: int = 10) -> list[str]:
    return [
        f"[2024-10-25 {k // 60 % 24:02}:{k % 60:02}:00,000] INFO {'x' * width} {k}\n"
        for k in range(a, b)
    ]


def read(path: Path, text: list[str]) -> list[str]:
    path.write_text("".join(text))
    (one,) = find_logs([str(path)]).sources
    return [f"{line}\n" for _, line in one.lines(Notes())]


@pytest.mark.parametrize("judged", [1 << 20, 0])
@pytest.mark.parametrize("cuts", list(itertools.permutations([(0, 300), (300, 700), (700, 1000)])))
def test_concatenated_files_are_put_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    judged: int,
    cuts: tuple[tuple[int, int], ...],
) -> None:
    monkeypatch.setattr(order, "MOST_JUDGED", judged)
    width = 10 if judged else 500  # so that each file has several blocks
    text = [line for a, b in cuts for line in lines(a, b, width)]
    path = tmp_path / "all.log"
    assert read(path, text) == lines(0, 1000, width)
    parts = replay([path])[0].files
    for number, line in enumerate(lines(0, 1000, width), 1):
        assert place_of(parts, number) == (str(path), text.index(line) + 1)


def test_twelve_files_in_the_order_of_their_names_are_put_in_order(tmp_path: Path) -> None:
    names = sorted(("server.log", *(f"server.log.{k}" for k in range(1, 12))))
    ages = [int(name.rpartition(".")[2]) if name[-1].isdigit() else 0 for name in names]
    text = [line for age in ages for line in lines((11 - age) * 50, (12 - age) * 50)]
    assert read(tmp_path / "f.log", text) == lines(0, 600)


def test_a_replay_of_concatenated_files_is_that_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "whole.log").write_text("".join(WHOLE))
    at = max(
        range(1, len(WHOLE)), key=lambda k: WHOLE[k][1:20] > WHOLE[k - 1][1:20]
    )  # where time moves on
    (tmp_path / "wrong.log").write_text("".join(WHOLE[at:] + WHOLE[:at]))
    whole, wrong = (replay([tmp_path / f"{n}.log"])[0] for n in ("whole", "wrong"))
    assert [g.timeline.rounds for g in wrong.groups] == [g.timeline.rounds for g in whole.groups]
    assert (wrong.verdict, wrong.anomalies) == ("holds", whole.anomalies)


@pytest.mark.parametrize(
    "text",
    [
        lines(0, 100) + lines(50, 150),
        lines(0, 100) + lines(50, 60),
        [*lines(0, 50), "no time\n", *lines(49, 100)],
        [line for k in range(0, 1000, 10) for line in lines(k + 5, k + 10) + lines(k, k + 5)],
    ],
    ids=["overlap", "inside", "a small step", "many jumps"],
)
def test_lines_of_several_processes_stay_as_they_are(tmp_path: Path, text: list[str]) -> None:
    assert read(tmp_path / "f.log", text) == text


@pytest.mark.parametrize("count", [3, 5, 2000])
def test_an_export_that_begins_with_the_newest_line_is_read_backwards(
    tmp_path: Path, count: int
) -> None:
    records = [[line, "\tat a.b.C\n", "\tat a.b.D\n"] for line in lines(0, count)]
    newest_first = [line for record in reversed(records) for line in record]
    path = tmp_path / "f.log"
    assert read(path, newest_first) == [line for record in records for line in record]
    assert any(BACKWARDS in note for note in replay([path])[0].notes)


def test_records_of_json_tell_their_time_in_any_key(tmp_path: Path) -> None:
    """An export of a log service, with its keys sorted: the time stands last, and the braces around
    each record are cut off. What KafkaJS says of a join is read in the order of what happened.
    """
    id = "c-7f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d"
    records = [
        f'{{"duration":32,"groupId":"g","memberAssignment":{{"t":[{k}]}},"memberId":"{id}",'
        f'"message":"[ConsumerGroup] Consumer has joined the group",'
        f'"timestamp":"2022-05-16T12:1{k}:43.734Z"}}}}\n'
        for k in range(4)
    ]
    path = tmp_path / "f.log"
    assert read(path, records[::-1]) == records
    found = replay([path])
    assert any(BACKWARDS in note for r in found for note in r.notes)
    (answer,) = found.answers
    assert answer.health == "calm" and {f.sort for f in answer.facts} == {"steps"}
    assert [r.took_ms for r in answer.story.members[0].rounds] == [32] * 4


def test_a_log_with_its_newest_line_first_is_explained(tmp_path: Path) -> None:
    (tmp_path / "f.log").write_text("".join(reversed(WHOLE)))
    (report,) = replay([tmp_path / "f.log"])
    assert (report.verdict, len(report.anomalies)) == ("holds", 0)


@given(
    st.lists(st.text("ab ", max_size=9)),
    st.integers(0, 12),
    st.one_of(st.none(), st.integers(0, 12)),
    st.booleans(),
)
def test_some_lines_of_a_file_are_those_lines(
    tmp_path_factory: pytest.TempPathFactory,
    some: list[str],
    left_out: int,
    most: int | None,
    ends: bool,
) -> None:
    text = "x" + "\n".join(some) + ("\n" if ends else "")
    path = tmp_path_factory.getbasetemp() / "some.log"
    path.write_text(text)
    with Piece("some", str(path), left_out, most).opened() as stream:
        got = stream.read().decode()
    kept = text.splitlines(keepends=True)[left_out:]
    assert got == "".join(kept if most is None else kept[:most])
