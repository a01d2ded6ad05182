"""The picture: everything stands where the story says, inside the page, and nothing in a text can
get out of it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from groupcheck.model.engine.verdict import Firing, Path, Step
from groupcheck.model.protocol.story import Era, Lane, Line, Mark, Message, Note, Span, Story
from groupcheck.oracles.explain.explanation import Explanation
from groupcheck.oracles.show.html import fragment, image, page
from groupcheck.oracles.show.report import Report
from groupcheck.oracles.show.swimlane import GUTTER, NARROW, WIDEST, draw

LANES = (Lane("c", "coordinator"), Lane("a", "member A", 0), Lane("b", "member B", 1))


def story(*, steps: int = 3, word: str = "does something", **parts: object) -> Story:
    lines = [Line(k, "a", f"member A {word}", (f"x: {word}",)) for k in range(1, steps + 1)]
    return Story(LANES, lines, **parts)  # type: ignore[arg-type]


def told(tale: Story, word: str = "broken") -> Report:
    path = Path((), (), (), tuple(Step(Firing("r", 0, 0), (), ()) for _ in tale.lines))
    explanation = Explanation(
        tale, word, path, "gc1-0.1", word, word, word, word, len(tale.lines), (word,), word
    )
    return Report("violated", word, word, ((word, word),), (explanation,))


def x_of(tale: Story, lane: str) -> float:
    shapes = draw(tale).shapes
    return next(
        s.x
        for s in shapes
        if s.kind == "text" and s.style == "title" and s.text == tale.lane(lane).title
    )


def arrows(tale: Story) -> list:
    return [s for s in draw(tale).shapes if s.style.startswith("message")]


def test_a_message_is_an_arrow_from_its_sender_to_its_receiver():
    tale = story(events=[Message(1, "a", "c", "JoinGroup"), Message(1, "c", "a", "generation 1")])
    there, back = arrows(tale)
    assert there.kind == back.kind == "arrow"
    assert there.x2 < there.x
    assert back.x2 > back.x
    assert abs(there.x - x_of(tale, "a")) < 10
    assert abs(there.x2 - x_of(tale, "c")) < 10
    assert back.y > there.y


def test_a_lost_message_has_no_head_and_does_not_arrive():
    tale = story(events=[Message(2, "b", "c", "Heartbeat", lost=True)])
    [line] = arrows(tale)
    assert line.kind == "line"
    assert x_of(tale, "c") + 20 < line.x2 < line.x
    assert [s.text for s in draw(tale).shapes if s.style == "cross"] == ["✕"]


def test_a_late_message_arrives_in_its_step():
    tale = story(
        events=[Message(1, "a", "c", "JoinGroup", until=3), Note(2, "b", "crashes", "fault")]
    )
    [line] = arrows(tale)
    numbers = {s.text: s.y for s in draw(tale).shapes if s.style == "number"}
    assert line.y < numbers["2"] < line.y2 < numbers["3"]


def test_ownership_is_a_bar_from_its_first_to_its_last_step():
    tale = story(
        spans=[Span("a", 1, 2, "p0"), Span("b", 2, None, "p0"), Span("a", 2, None, "p0", "stale")]
    )
    bars = [
        s for s in draw(tale).shapes if s.kind == "box" and s.style.split()[0] in ("owns", "stale")
    ]
    first, second, stale = bars
    assert first.y + first.y2 == pytest.approx(second.y) == pytest.approx(stale.y)
    assert second.y + second.y2 > draw(tale).height - 60
    assert {s.style.split()[1] for s in bars} == {"hue0"}  # one partition, one colour


def test_two_partitions_stand_side_by_side():
    tale = story(spans=[Span("a", 0, None, "p0"), Span("a", 0, None, "p1")])
    one, other = (s for s in draw(tale).shapes if s.style.startswith("owns"))
    assert one.x + one.x2 <= other.x
    assert one.style != other.style


def test_the_broken_step_is_marked_across_the_picture_and_in_its_lanes():
    tale = story(marks=[Mark(3, ("a", "b"), "one_owner is broken")])
    shapes = draw(tale).shapes
    [box] = [s for s in shapes if s.style == "broken"]
    assert (
        box.y < next(s.y for s in shapes if s.style == "number" and s.text == "3") < box.y + box.y2
    )
    assert [s.x for s in shapes if s.style == "cross"] == [x_of(tale, "a"), x_of(tale, "b")]
    assert any(s.style == "fact" and s.text == "one_owner is broken" for s in shapes)


@pytest.mark.parametrize("widest", [WIDEST, NARROW])
def test_everything_stands_inside_the_picture(widest):
    tale = story(
        steps=25,
        events=[
            *(
                Message(k, "a", "c", "a text that is rather long for an arrow " * 3)
                for k in range(1, 26)
            ),
            Note(9, "b", "x" * 300, "fault"),
        ],
        spans=[Span("b", 3, None, f"p{p}") for p in range(40)],
        eras=[Era(7, "generation 2")],
        marks=[Mark(25, (), "m" * 500)],
    )
    picture = draw(tale, widest)
    assert picture.width < GUTTER + 3 * widest + 30
    for s in picture.shapes:
        right = s.x + s.x2 if s.kind == "box" else max(s.x, s.x2)
        bottom = s.y + s.y2 if s.kind == "box" else max(s.y, s.y2)
        assert 0 <= s.x <= right <= picture.width
        assert 0 <= s.y <= bottom <= picture.height


def test_a_text_that_was_cut_says_it_in_whole_when_pointed_at():
    text = "OffsetCommit of everything that was ever processed"
    [said] = [
        s for s in draw(story(events=[Message(1, "a", "c", text)])).shapes if s.style == "said"
    ]
    assert said.text.endswith("…")
    assert said.full == text


def test_the_same_story_gives_the_same_page():
    tale = story(spans=[Span("a", 0, None, "p0")])
    assert page(told(tale)) == page(told(tale))


HOSTILE = (
    """</title></style></svg><script>alert(1)</script><img src=x onerror="a()">'"&"""
    "\x1b[31m\u202e\ud800]]>-->"
)


class Reader(HTMLParser):
    """Collects tags, attributes and texts of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def hostile() -> Report:
    lanes = (Lane(HOSTILE, HOSTILE, 0), Lane("c", HOSTILE))
    tale = Story(
        lanes,
        [Line(1, HOSTILE, HOSTILE, (HOSTILE,))],
        [Message(1, HOSTILE, "c", HOSTILE), Note(1, "c", HOSTILE, "fault")],
        [Span("c", 0, None, HOSTILE, "phase"), Span(HOSTILE, 0, None, HOSTILE)],
        [Era(1, HOSTILE)],
        [Mark(1, (), HOSTILE)],
    )
    return told(tale, HOSTILE)


def test_a_hostile_text_stays_a_text():
    for text in (page(hostile()), fragment(hostile())):
        reader = read(text)
        assert not {"script", "img", "iframe", "link", "object", "a"} & set(reader.tags)
        assert not [
            name
            for name, _ in reader.attributes
            if name.startswith("on") or name in ("src", "href", "style")
        ]
        assert "<script>alert(1)</script>" in reader.words
        assert not set("\x1b\u202e\ud800") & set(text)


def test_the_page_needs_no_network_and_no_script():
    text = page(told(story()))
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text
    assert "@import" not in text
    assert "<script" not in text


def test_a_phone_gets_its_own_picture_which_begins_with_the_step_that_breaks():
    text = page(told(story()))
    assert ("content", "width=device-width, initial-scale=1") in read(text).attributes
    assert "figure.breaks { display: flex; flex-direction: column-reverse;" in text
    assert 'class="breaks"' in text and text.count("<svg") == 2


def test_on_a_phone_the_coordinator_and_two_members_stand_side_by_side():
    tale = story(
        events=[
            Message(1, "c", "b", "JoinGroup: 79 MEMBER_ID_REQUIRED"),
            Message(2, "c", "a", "JoinGroup: 79 MEMBER_ID_REQUIRED"),
            Note(3, "c", "session timeout of member A", "timer"),
        ]
    )
    picture = draw(tale, NARROW)
    assert picture.width <= 390 - 2 * 8 - 2  # the page's padding and the frame
    written = [s.text for s in picture.shapes if s.style in ("said", "noted timer")]
    assert "JoinGroup: 79 MEMBER_ID_REQUIRED" in written  # two lanes wide
    assert "JoinGroup: 79" in written and "MEMBER_ID_REQUIRED" in written  # in two lines
    assert "session timeout" in written and "of member A" in written
    rows = [s.y for s in picture.shapes if s.kind == "text" and s.style == "said"]
    assert len(rows) == len(set(rows))


def test_the_picture_is_well_formed():
    text = page(hostile())
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    assert ElementTree.fromstring(svg).tag == "svg"


def test_the_picture_alone_is_a_file_of_its_own():
    [explanation] = hostile().explanations
    root = ElementTree.fromstring(image(explanation))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert root.find("{http://www.w3.org/2000/svg}style") is not None
