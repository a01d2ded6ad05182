"""A replay as one HTML page: the answer about each group, its time line, its rounds and members.

Nothing is loaded from a network. The only script is `templates/timeline.js`: the page's policy
names its digest, so that a browser runs nothing else. Every text is escaped by the templates.

Texts reach the script as JSON in which `<` is an escape, and the page as `textContent`.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from attrs import frozen
from markupsafe import Markup

from groupcheck.oracles.printable import as_json
from groupcheck.oracles.replay.answers import Answer, worst
from groupcheck.oracles.replay.claims import (
    KEEP,
    NOT_TOLD,
    WORDS,
    AnswerInWords,
    Claim,
    headline,
    in_words,
    split_calm,
)
from groupcheck.oracles.replay.handovers import HANDOVER_COLUMNS, handover_rows
from groupcheck.oracles.replay.lanes import ITEMS_SHOWN, picture
from groupcheck.oracles.replay.rounds import COLUMNS, began, fold_cells, folded
from groupcheck.oracles.replay.stories import (
    OWNED_COLUMNS,
    SEEN,
    member_sentences,
    owned_rows,
    seen_cell,
)
from groupcheck.oracles.replay.text import MUST_SEE, file_facts, group_facts
from groupcheck.oracles.show.pages import PAGE, render
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.findings.report import FileReport, GroupReport
from groupcheck.traces.formats import OF_COORDINATORS, WALKED
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.story.moments import Moment

GROUPS_SHOWN = 200
PICTURES_SHOWN = 12
WHOLE = 3
"""So many groups, the worst, are shown with all that a page can hold; of the others, less."""
ROWS, FEW_ROWS = 2000, 60
"""Of a table of rebalances or members."""
FEW_ITEMS = 2_000
"""Of a picture."""
DATED = {23: "full", 18: "day"}
"""Characters of a time -> how much of its date is known."""


@frozen
class Section:
    """The content of the page about one group."""

    told: AnswerInWords
    # The id of its time line on the page; empty without a picture.
    name: str
    # The picture as JSON for the script.
    picture: Markup
    # How many things the picture leaves out.
    left_out: int
    # How many rows its tables have at most.
    rows: int
    # What to type to walk its lines through the model; empty where that is not possible.
    walk: str = ""


def page(reports: Sequence[FileReport], answers: Sequence[Answer], layout: str = PAGE) -> str:
    """The whole page, or with the layout `FRAGMENT` a part of a notebook."""
    single, calm = split_calm(answers)
    script = _script()
    return render(
        "replay.html",
        layout,
        reports=reports,
        health=worst(answers),
        words=WORDS,
        headline=headline(answers),
        alone=in_words(single[0], reports) if len(single) == 1 and not calm else None,
        sections=list(_sections(reports, single[:GROUPS_SHOWN], layout == PAGE)),
        not_shown=len(single[GROUPS_SHOWN:]),
        calm=calm,
        whole=layout == PAGE,
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        must_see=MUST_SEE,
        members_shown=ROWS,
        columns=("line", *COLUMNS, SEEN),
        handovers=handover_rows,
        handover_columns=HANDOVER_COLUMNS,
        owned=owned_rows,
        owned_columns=OWNED_COLUMNS,
        member_sentences=member_sentences,
        file_facts=file_facts,
        group_facts=group_facts,
        rounds=_rounds,
        settings=_settings,
        when=_when,
    )


@cache
def _script() -> str:
    return (files("groupcheck.oracles") / "templates" / "timeline.js").read_text(encoding="utf-8")


def _sections(
    reports: Sequence[FileReport], shown: Sequence[Answer], drawn: bool
) -> Iterator[Section]:
    for k, answer in enumerate(shown):
        rows, items = (ROWS, ITEMS_SHOWN) if k < WHOLE else (FEW_ROWS, FEW_ITEMS)
        found = picture(
            answer.shown,
            _statements(answer) if k < PICTURES_SHOWN else (),
            answer.diagnosis.causes,
            answer.story,
            items,
        )
        if not (drawn and found.drawn and k < PICTURES_SHOWN):
            yield Section(in_words(answer, reports), "", Markup(""), 0, rows, _walk(answer))
            continue
        begin = show_time(found.begin)
        document = {**found.document(), "dated": DATED.get(len(begin), "none")}
        # Inside a script element only `<` could end the data.
        text = as_json(document).replace("<", "\\u003c")
        told = in_words(answer, reports)
        name = f"picture{k + 1}"
        yield Section(told, name, Markup(text), found.left_out, rows, _walk(answer))


def _walk(answer: Answer) -> str:
    """What to type to walk a group's lines; empty for one whose lines no walk follows: it is no
    classic one, it has static members, or no log of its coordinator is there.
    """
    for seen in answer.seen:
        is_static = any(m.instance for m in seen.group.timeline.members.values())
        is_walked = seen.group.protocol in WALKED and not is_static
        if is_walked and seen.file.format in OF_COORDINATORS:
            words = ["groupcheck", "explore", "--from", seen.file.path, "--group", answer.group]
            return shlex.join(words)
    return ""


def _statements(answer: Answer) -> list[Statement]:
    """The statements of clients about the group; what brokers' logs show is in their reports."""
    said = answer.evidence.all()
    return [s for s in said if s.library != BROKER] if answer.seen else said


def _rounds(g: GroupReport, story: GroupStory, most: int) -> Iterator[tuple[str, ...]]:
    """The rows of the table of rebalances."""
    for fold in folded(g.timeline.rounds[-most:]):
        at = began(fold.rounds[0])
        yield ("" if at is None else str(at.line), *fold_cells(fold), seen_cell(fold.rounds, story))


def _settings(claim: Claim) -> Iterator[tuple[str, str, str]]:
    """The rows of the table of settings."""
    for s in claim.settings:
        yield s.name, s.present or NOT_TOLD, s.wanted or KEEP


def _when(moment: Moment | None) -> str:
    return "" if moment is None else show_time(moment.time)
