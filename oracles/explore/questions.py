"""What the page asks, and the answers: plain JSON in, plain JSON out, without a server. Every text
of an answer is plain text, which the page writes as text and never as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import attrs
from attrs import define

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.protocol.story import Mark, Story
from groupcheck.model.variants.registry import load, names
from groupcheck.oracles.explain.explanation import paragraph, rows
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.explore.beside import HEALTHY, beside, other_of
from groupcheck.oracles.explore.exports import KINDS, command_lines
from groupcheck.oracles.explore.picture import picture
from groupcheck.oracles.explore.scene import NARROW as NARROW_SCENE
from groupcheck.oracles.explore.scene import Scene, scene
from groupcheck.oracles.explore.scene_words import legend
from groupcheck.oracles.explore.seek import seek
from groupcheck.oracles.explore.walk import Said, Walk, goals_here, held_here, promises_here
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.report import scope_words
from groupcheck.oracles.show.swimlane import NARROW, Picture, Shape, draw
from groupcheck.oracles.show.walk_links import address

SOUGHT_S = 8.0  # seconds that a search for the page may take
SOUGHT_STATES = 150_000
MOST_RANDOM = 200
MOST_STARTS = 500  # initial states that can be chosen
BRANCHES_SHOWN = 400
MOST_ASKED = 600  # characters of a text in a question

View = Callable[[Any], str]


@define(slots=False)
class Desk:
    """Answers questions about one subject, one after the other."""

    walk: Walk
    # What draws a state of the user's own spec as SVG: `view(state)`, and its name.
    view: View | None = None
    view_name: str = ""

    def __attrs_post_init__(self) -> None:
        # The subject that was asked for last beside this one, and its name. No more are kept: a
        # page can ask for any number of them.
        self._other: tuple[str, Walk] | None = None

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question: `ask` says what, `key` where. Raises `UserError` for a question
        that cannot be answered.
        """
        asks: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "state": self._state, "path": self._path, "seek": self._seek, "random": self._random,
            "tree": self._tree, "beside": self._beside, "export": self._export,
        }  # fmt: skip
        what = _text(question, "ask")
        if what not in asks:
            raise one_of("question", what, asks, None)
        self.walk.follow(_text(question, "key"))
        return asks[what](question)

    def first(self) -> dict[str, Any]:
        """What the page has to know once."""
        about = self.walk.about
        named = [(p.name, "promise") for p in about.spec.invariants]
        return {
            "title": printable(about.title),
            "scope": printable(scope_words(about)),
            "of": address(about, ""),
            "key": self.walk.key,
            "end": self._end(),
            "note": printable(self.walk.note),
            "starts": [printable(self.walk.start_words(k))
                       for k in range(min(len(self.walk.starts), MOST_STARTS))],
            "goals": [[printable(n), k] for n, k in (*((g.name, "goal") for g in about.spec.goals),
                                                    *named)],
            "example": self._example(),
            "others": self._names_beside(),
        }  # fmt: skip

    def _end(self) -> str:
        """The key of the furthest state on the way that the walk took."""
        node = self.walk.at
        while node.last is not None:
            node = node.last
        return node.key

    def _example(self) -> str:
        """A condition over the spec's own slots, as an example."""
        for name, value in self.walk.see.named(self.walk.at.state).items():
            at, one = (
                (f"{name}[0]", value[0]) if isinstance(value, tuple) and value else (name, value)
            )
            if attrs.has(type(one)):
                for f in attrs.fields(type(one)):
                    if type(getattr(one, f.name)) in (int, str):
                        told = "2" if type(getattr(one, f.name)) is int else '"..."'
                        return f"{at}.{f.name} == {told}"
        return f"{next(iter(self.walk.about.spec.slots))} == 2"

    def _names_beside(self) -> list[str]:
        """What may walk beside: the healthy model; variants that have the same scope, and bugs of
        this variant.
        """
        about = self.walk.about
        if about.mutation is not None:
            return [HEALTHY]
        if about.variant is None:
            return []
        from groupcheck.oracles.explain.subject import every_mutation

        there, fields = {*about.variant.every_family}, attrs.fields(about.variant.scope_type)
        others = [n for n in names() if attrs.fields(load(n).scope_type) == fields]
        bugs = [m.id for m in every_mutation() if m.family in there]
        return [*(n for n in others if n != about.variant.name), *bugs]

    # -- answers

    def _state(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The state as a picture, what can happen next, and what the promises say."""
        walk, node = self.walk, self.walk.at
        before = None if node.parent is None else node.parent.state
        spec = walk.about.spec
        shown = picture(spec, node.state, before, walk.lanes, walk.waiting, node.depth)
        promises, goals = promises_here(walk), goals_here(walk)
        return {
            "key": walk.key,
            "link": address(walk.about, walk.key),
            "depth": node.depth,
            "words": printable(walk.words_of(node)),
            "said": list(map(printable, node.said)),
            "picture": attrs.asdict(shown),
            "scene": {"wide": _scene(scene(shown)), "narrow": _scene(scene(shown, NARROW_SCENE))},
            "legend": legend(shown),
            "svg": self._svg(),
            "viewed": self.view_name,
            "choices": [
                {
                    "number": c.number,
                    "group": printable(c.group),
                    "words": printable(c.words),
                    "changes": list(map(printable, c.changes)),
                    "fault": c.fault,
                    "breaks": list(c.breaks),
                }
                for c in walk.choices
            ],
            "deadlock": walk.is_deadlock(),
            "promises": list(map(_said, promises)),
            "held": printable(held_here(walk, promises)),
            "goals": list(map(_said, goals)),
        }

    def _svg(self) -> str:
        """What the user's own function draws. Raises `UserError` if that is no text."""
        if self.view is None:
            return ""
        named = self.walk.see.named(self.walk.at.state)
        try:
            drawn = self.view(SimpleNamespace(**named))
        except Exception as error:
            what = f"raised {type(error).__name__}: {error}"
            raise UserError(what, where=self.view_name) from error
        if not isinstance(drawn, str):
            what = f"returned {type(drawn).__name__}, not the text of an SVG"
            raise UserError(what, where=self.view_name)
        return drawn

    def _path(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The steps so far: a swim-lane for a wide and for a narrow screen, a table, and prose."""
        path = self.walk.path
        story, trouble = self.walk.about.story(path)
        marks: list[Mark] = [m for t in self.walk.told() if t.invariant for m in t.story.marks[-1:]]
        story = attrs.evolve(story, marks=(*story.marks, *marks))
        return {
            "wide": _shapes(draw(story)),
            "narrow": _shapes(draw(story, NARROW)),
            "rows": _table(story),
            "prose": printable(paragraph(story)),
            "trouble": printable(trouble),
        }

    def _seek(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The shortest way to a goal, a violation or a condition, as the key at its end."""
        limits = Limits(SOUGHT_STATES, SOUGHT_S)
        found = seek(self.walk, _text(question, "wanted"), limits)
        for number in found.numbers or ():
            self.walk.take(number)
        return {
            "words": printable(found.words),
            "found": found.numbers is not None,
            "key": self.walk.key,
        }

    def _random(self, question: Mapping[str, Any]) -> dict[str, Any]:
        steps, seed = _number(question, "steps", MOST_RANDOM), _number(question, "seed", 10**9)
        self.walk.random(steps, seed)
        return {"key": self.walk.key}

    def _tree(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The branches that were tried."""
        walk, told, more = self.walk, list[list[Any]](), 0
        for depth, node, _ in walk.tree():
            if len(told) < BRANCHES_SHOWN:
                told.append([node.branches, depth, node.key, printable(walk.words_of(node))])
            else:
                more += 1
        return {"branches": told, "more": more}

    def _beside(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """How far another subject follows, and its state there."""
        name = _text(question, "other")
        if self._other is None or self._other[0] != name:
            self._other = name, Walk(other_of(self.walk.about, name))
        other = self._other[1]
        found = beside(self.walk, other, name)
        last = tuple(found.states[-1][s] if i is None else found.states[-1][s][i]
                     for s, i in other.see.places)  # fmt: skip
        parting = found.parting
        return {
            "title": printable(found.title),
            "steps": len(found.states) - 1,
            "parting": None if parting is None else parting.step,
            "words": "" if parting is None else printable(parting.words),
            "differences": [] if parting is None
            else [list(map(printable, d)) for d in parting.differences],
            "picture": attrs.asdict(picture(other.about.spec, last, None, other.lanes)),
        }  # fmt: skip

    def _export(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The path for elsewhere, as the text of a file with its name; or as command lines."""
        kind = _text(question, "kind")
        if kind == "commands":
            return {"name": "", "text": "\n".join(command_lines(self.walk))}
        if f".{kind}" not in KINDS:
            raise one_of("kind of export", kind, [k.removeprefix(".") for k in KINDS], None)
        name = f"test_walk.{kind}" if kind == "py" else f"walk.{kind}"
        return {"name": name, "text": KINDS[f".{kind}"].text(self.walk, None)}


def _said(said: Said) -> dict[str, Any]:
    texts = {"name": said.name, "promise": said.promise, "why": said.why, "source": said.source,
             "note": said.note}  # fmt: skip
    return {**{name: printable(text) for name, text in texts.items()}, "true": said.true}


def _shapes(drawn: Picture) -> dict[str, Any]:
    """A picture as lists of numbers and texts, which the page draws."""
    return {
        "width": drawn.width,
        "height": drawn.height,
        "shapes": list(map(_shape, drawn.shapes)),
    }


def _shape(s: Shape) -> list[Any]:
    return [s.kind, s.style, s.x, s.y, s.x2, s.y2, printable(s.text), printable(s.full)]


def _scene(drawn: Scene) -> dict[str, Any]:
    parts = [
        [p.kind, printable(p.label), p.card, p.is_changed, list(map(_shape, p.shapes))]
        for p in drawn.parts
    ]
    return {"width": drawn.width, "height": drawn.height, "parts": parts}


def _table(story: Story) -> list[list[Any]]:
    return [
        [row.steps, printable(row.who), printable(row.words), list(map(printable, row.changes)),
         list(map(printable, row.broken))]
        for row in rows(story)
    ]  # fmt: skip


def _text(question: Mapping[str, Any], name: str) -> str:
    """A text of a question. Raises `UserError` if it is none, or too long."""
    value = question.get(name)
    longest = 16_000 if name == "key" else MOST_ASKED
    if not isinstance(value, str) or len(value) > longest:
        raise UserError(f"{name} is not a text of up to {longest:,} characters", where="question")
    return value


def _number(question: Mapping[str, Any], name: str, most: int) -> int:
    value = question.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise UserError(f"{name} is not a whole number up to {most:,}", where="question")
    return value
