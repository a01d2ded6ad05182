"""`connect-rounds`: the example of KIP-415 in its own terms, as text, document and picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.connect.played import TITLE, play, question_of, story
from groupcheck.oracles.show.html import story_image
from groupcheck.oracles.show.swimlane import draw

DELAY_MS = 300_000


def rounds(
    *given: str, workers: tuple[str, ...] = ()
) -> list[tuple[str, dict[str, tuple[str, ...]]]]:
    """(delay in ms, worker -> what it runs then) of each round."""
    found = play(question_of(workers, given, DELAY_MS))
    return [
        (
            ",".join(sorted({str(w.delay_ms) for w in one.workers})),
            {w.worker: tuple(w.runs) for w in one.workers},
        )
        for one in found.rounds
    ]


def test_the_example_reports_answers_and_delays_as_the_kip_tells_it() -> None:
    first, second, third = play(question_of((), (), DELAY_MS)).rounds
    assert [(w.worker, w.reports) for w in first.workers] == [("C1", ["P0", "P3"]), ("C3", ["P2"])]
    assert [(w.worker, w.reports) for w in second.workers] == [
        ("C1", ["P0", "P3"]), ("C2", []), ("C3", ["P2"])]  # fmt: skip
    assert [{w.delay_ms for w in one.workers} for one in (first, second, third)] == [
        {300_000}, {180_000}, {0}]  # fmt: skip
    assigned = [{w.worker: w.assigned for w in one.workers if w.assigned}
                for one in (first, second, third)]  # fmt: skip
    assert assigned == [{}, {}, {"C2": ["P1"]}]
    assert not any(w.revoked for one in (first, second, third) for w in one.workers)
    assert [one.nobodys for one in (first, second, third)] == [["P1"], ["P1"], []]


def test_work_of_a_worker_that_does_not_come_back_goes_to_the_others_after_the_delay() -> None:
    (_, _), (delay, runs) = rounds("0s=C1,C3", "5m=C1,C3")
    assert delay == "0" and sorted(sum(runs.values(), ())) == ["P0", "P1", "P2", "P3"]


def test_a_new_leader_knows_of_no_delay() -> None:
    ((delay, runs),) = rounds("0s=C2,C3")
    assert delay == "0" and sorted(sum(runs.values(), ())) == ["P0", "P1", "P2", "P3"]


def test_what_a_worker_has_too_much_is_revoked_in_one_round_and_given_in_the_next() -> None:
    workers = ("A=a,b,c,d", "B=")
    found = play(question_of(workers, ("0s=A,B", "1s=A,B"), DELAY_MS)).rounds
    assert found[0].workers[0].revoked == ["a", "b"] and not found[0].workers[1].assigned
    assert found[1].workers[1].assigned == ["a", "b"]


def test_the_command_prints_text_and_a_document_and_draws(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / "rounds.svg"
    assert run(["connect-rounds", "--svg", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "300,000 ms" in text and "180,000 ms" in text and "none" in text
    drawn = picture.read_text("utf-8")
    assert drawn.startswith("<svg") and "assigned P1, revoked -, no delay" in drawn
    assert run(["connect-rounds", "--delay", "1m", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "groupcheck.connect-rounds/1"
    assert document["rounds"][0]["workers"][0]["delay_ms"] == 60_000


def test_the_picture_shows_that_c1_and_c3_never_stop() -> None:
    told = story(play(question_of((), (), DELAY_MS)))
    bars = {(s.lane, s.text): (s.since, s.until) for s in told.spans if s.lane != "C2"}
    assert bars == {("C1", "P0"): (0, None), ("C1", "P3"): (0, None), ("C3", "P2"): (0, None)}
    mine = sorted((s.since, s.until) for s in told.spans if s.lane == "C2")
    assert [until for _, until in mine] == [1, None] and draw(told).height > 0


@pytest.mark.parametrize(
    ("workers", "given"),
    [
        (("C1",), ()),
        (("A=t", "A=u"), ()),
        (("A=t", "B=t"), ()),
        ((), ("0s=",)),
        ((), ("0s=C1,C1",)),
        ((), ("5s=C1", "1s=C1")),
        ((), ("soon=C1",)),
    ],
)
def test_what_cannot_be_is_refused(workers: tuple[str, ...], given: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        question_of(workers, given, DELAY_MS)


def test_the_page_shows_the_picture_of_the_example() -> None:
    page = Path(__file__).parents[3] / "docs/explanation/connect_rounds.svg"
    assert story_image(story(play(question_of((), (), DELAY_MS))), TITLE) == page.read_text("utf-8")
