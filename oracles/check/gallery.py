"""The gallery of known bugs as one page: no script, no network; every text is escaped by the
template.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.check.bugs import BugResult
from groupcheck.oracles.check.score import Score
from groupcheck.oracles.museum.performing import Performance
from groupcheck.oracles.museum.showing import said
from groupcheck.oracles.show.pages import render
from groupcheck.oracles.show.report import walk_command
from groupcheck.oracles.show.swimlane import NARROW, draw


def page(found: Sequence[BugResult], score: Score, real: Sequence[Performance] = ()) -> str:
    """A whole page: each bug with its story, which promise finds which bug, and what real releases
    did, if they were asked.
    """
    shown = {one.exhibit.mutation: one for one in real}
    cards = [
        {
            "found": one,
            "walk": walk_command(one.result.subject, one.explanation.key)
            if one.explanation
            else "",
            "real": shown.get(one.mutation.id),
            "wide": draw(one.explanation.story) if one.explanation else None,
            "narrow": draw(one.explanation.story, NARROW) if one.explanation else None,
        }
        for one in found
    ]
    fell = sum(one.fell for one in found)
    return render(
        "bugs.html",
        title=f"{fell} of {len(found)} known bugs found",
        verdict="holds" if fell == len(found) else "violated",
        cards=cards,
        score=score,
        real=real,
        said=said,
    )
