"""A judgement as one HTML page, each shortest schedule as a picture with a lane for each member."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.model.protocol.story import Lane, Message, Note, Story
from groupcheck.model.protocol.story import Line as StoryLine
from groupcheck.oracles.judge.report.document import schedule_part
from groupcheck.oracles.judge.report.schedules import GROUP, Line
from groupcheck.oracles.judge.report.verdicts import Judgement, by_root
from groupcheck.oracles.printable import as_text
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.pages import render
from groupcheck.oracles.show.swimlane import NARROW, draw

SOMEBODY = "somebody"


def page(side: str, told: Judgement) -> str:
    """The whole page."""
    roots = []
    for k, (root, some) in enumerate(by_root(told.remarks).items()):
        story = story_of(some[0].lines, "coordinator" if side == "client" else side)
        pictures = {"wide": draw(story), "narrow": draw(story, NARROW)}
        # The schedules of clients are carried out in another way.
        again = as_text(printed(schedule_part(some[0]))) if side == "broker" else ""
        about = {"root": root, "rows": some, "first": some[0], "name": f"r{k}"}
        roots.append({**about, **pictures, "schedule": again})
    return render("judge.html", told=told, roots=roots, side=side)


def story_of(lines: Sequence[Line], other: str) -> Story:
    """What happened, as lanes and arrows. `other`: what the judged side is called."""
    names = list(dict.fromkeys(line.who or SOMEBODY for line in lines if line.kind != "waits"))
    lanes = [Lane(name, name, k) for k, name in enumerate(names)] + [Lane(GROUP, other)]
    events: list[Message | Note] = []
    told: list[StoryLine] = []
    step = 0
    for line in lines:
        who = line.who or SOMEBODY
        if line.kind in ("asks", "waits") or not step:
            step += 1
            told.append(StoryLine(step, GROUP if line.kind == "waits" else who, line.text))
        if line.kind == "asks":
            events.append(Message(step, who, GROUP, f"{line.number}. {line.text}"))
        elif line.kind == "answers":
            events.append(Message(step, GROUP, who, f"{line.number} <- {line.text}"))
        else:
            events.append(Note(step, GROUP, line.text, "timer"))
    return Story(tuple(lanes), tuple(told), tuple(events))
