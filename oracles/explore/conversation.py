"""`explore --text`: commands in words, answered in words. Whoever reads them and writes the answers
stands outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attrs import define
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.explore.beside import HEALTHY, beside, other_of
from groupcheck.oracles.explore.exports import as_link, command_lines, export
from groupcheck.oracles.explore.seek import seek
from groupcheck.oracles.explore.walk import (
    Choice,
    Said,
    Walk,
    goals_here,
    held_here,
    promises_here,
)
from groupcheck.oracles.printable import brief, place, printable
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.text import explanation_view, facts_table
from groupcheck.traces.phrases import plural

HELP = (
    ("NUMBER", "take the step of this number"),
    ("back [N], forward [N]", "undo steps, take them again"),
    ("begin [N]", "go to the beginning, or to initial state N"),
    ("goal NAME", "go the shortest way to a goal, to where a promise breaks, or to where a"
     " condition is true: goal core.generation == 2"),
    ("random [N] [SEED]", "take N random steps (10); the same seed (0) gives the same ones"),
    ("why [NAME]", "what every promise says here, or one promise or goal in full"),
    ("state [SLOT]", "the values of all slots, or of one"),
    ("path", "the steps so far, as a table"),
    ("tree", "the branches that were tried"),
    ("beside NAME", "take the same steps with a known bug, in another variant, or healthy, until"
     " they part; or with another value of a field: beside kafka=4.0.0"),
    ("go KEY", "go where a key ends"),
    ("link", "the walk as a key, as command lines and as a link"),
    ("save FILE", "write the path: .py a test, .svg a picture, .json ITF, .md a ticket, .html a"
     " page, .link a link"),
    ("quit", "end"),
)  # fmt: skip
MOST_STEPS = 1_000  # of `random`


@define
class Conversation:
    """A walk, and what was last said of it."""

    walk: Walk

    def answer(self, line: str) -> RenderableType | None:
        """The answer to a command; None: it ends the conversation. Raises `UserError` for what is
        no command, and for one that is not possible here.
        """
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if not word:
            return Group()
        if word.isdecimal():
            return self._taken(int(word[:9]))
        if word in ("quit", "exit", "q"):
            return None
        commands: dict[str, Callable[[str], RenderableType]] = {
            "back": self._back, "forward": self._forward, "begin": self._begin,
            "goal": self._goal, "random": self._random, "why": self._why, "state": self._state,
            "path": self._path, "tree": self._tree, "beside": self._beside, "go": self._go,
            "link": self._link, "save": self._save, "help": self._help,
        }  # fmt: skip
        if word not in commands:
            raise one_of("command", word, commands, None)
        return commands[word](rest)

    # -- moving

    def _taken(self, number: int) -> RenderableType:
        choices = self.walk.choices
        if not 1 <= number <= len(choices):
            raise UserError(f"there is no step {number} here", do=f"choose 1 to {len(choices)}")
        taken = choices[number - 1]
        self.walk.take(taken.number)
        return Group(_steps([(self.walk.at.depth, taken)]), self.here())

    def _back(self, rest: str) -> RenderableType:
        self.walk.back(_count(rest, 1))
        return self.here()

    def _forward(self, rest: str) -> RenderableType:
        self.walk.forward(_count(rest, 1))
        return self.here()

    def _begin(self, rest: str) -> RenderableType:
        self.walk.begin(_count(rest, 0))
        return self.here()

    def _go(self, rest: str) -> RenderableType:
        self.walk.follow(rest)
        return self.here()

    def _goal(self, rest: str) -> RenderableType:
        if not rest:
            raise UserError("nothing says where to go", where="goal", do="goal NAME or a condition")
        found = seek(self.walk, rest)
        told = Text(printable(found.words), "bold")
        if not found.numbers:
            return told
        begun = self.walk.at.depth + 1
        taken = [(begun + k, self.walk.take(n)) for k, n in enumerate(found.numbers)]
        return Group(told, _steps(taken), self.here())

    def _random(self, rest: str) -> RenderableType:
        words = rest.split()
        steps, seed = (_count(w, d) for w, d in zip((*words, "", "")[:2], (10, 0), strict=True))
        if steps > MOST_STEPS or len(words) > 2:
            raise UserError(f"takes up to {MOST_STEPS:,} steps, and a seed", where="random")
        begun = self.walk.at.depth + 1
        taken = self.walk.random(steps, seed)
        return Group(_steps(enumerate(taken, begun)), self.here())

    # -- what is here

    def here(self) -> RenderableType:
        """Where the walk stands, and what can happen next."""
        walk = self.walk
        head = Text(f"after {plural(walk.at.depth, 'step')}", "bold")
        if len(walk.starts) > 1 and not walk.at.depth:
            head.append(f", initial state {walk.at.number} of {len(walk.starts)}", "bold")
        broken = [s for s in promises_here(walk) if s.true is False]
        met = [s.name for s in goals_here(walk) if s.true]
        parts: list[RenderableType] = [head, *(Text(printable(s)) for s in walk.at.said)]
        parts += [Text(f"{s.name} is broken: {printable(s.promise)}", "bold red") for s in broken]
        if met:
            parts.append(Text(f"met: {', '.join(met)}", "green"))
        if not walk.choices:
            rests = "" if walk.is_deadlock() else ": the protocol may rest here"
            return Group(*parts, Text(f"Nothing can happen any more{rests}."))
        return Group(*parts, *self._choices())

    def _choices(self) -> Iterator[RenderableType]:
        group = ""
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        for number, choice in enumerate(self.walk.choices, 1):
            if choice.group != group:
                if group:
                    yield Padding(table, (0, 0, 0, 2))
                table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
                table.add_column(justify="right", no_wrap=True)
                table.add_column(overflow="fold", ratio=3)
                table.add_column(overflow="fold", ratio=2, style="dim")
                group = choice.group
                yield Text(printable(group), "bold")
            words = Text(printable(choice.words))
            for name in choice.breaks:
                words.append(f" (breaks {name})", "bold red")
            if choice.fault:
                words = Text.assemble((f"{choice.fault}: ", "yellow"), words)
            table.add_row(str(number), words, Text("\n".join(map(printable, choice.changes))))
        yield Padding(table, (0, 0, 0, 2))

    def _why(self, rest: str) -> RenderableType:
        promises, goals = promises_here(self.walk), goals_here(self.walk)
        if rest:
            every = {s.name: s for s in (*promises, *goals)}
            if rest not in every:
                raise one_of("promise or goal", rest, every)
            said = every[rest]
            facts = [("says", said.statement), ("source", said.source)]
            return facts_table(
                [(said.name, _said(said, said in goals)), *((n, t) for n, t in facts if t)]
            )
        broken = [s for s in promises if s.true is False]
        facts = [("broken", f"{s.name}: {s.promise}") for s in broken]
        facts.append(("hold", held_here(self.walk, promises)))
        met = [s.name for s in goals if s.true]
        return facts_table([*facts, ("met", ", ".join(met) or f"none of {len(goals)} goals")])

    def _state(self, rest: str) -> RenderableType:
        see, state = self.walk.see, self.walk.at.state
        values = {place(*where): value for where, value in zip(see.places, state, strict=True)}
        slots = {name.partition("[")[0] for name in values}
        if rest and rest not in values and rest not in slots:
            raise one_of("slot", rest, [*slots, *values])
        chosen = [n for n in values if not rest or n == rest or n.partition("[")[0] == rest]
        return facts_table((n, brief(values[n], None)) for n in chosen)

    def _path(self, rest: str) -> RenderableType:
        return Group(*map(explanation_view, self.walk.told()))

    def _tree(self, rest: str) -> RenderableType:
        lines: list[RenderableType] = []
        for depth, node, here in self.walk.tree():
            words = printable(self.walk.words_of(node))
            told = Text(f"{depth} {words}{'  <- here' if here else ''}", "bold" if here else "")
            lines.append(Padding(told, (0, 0, 0, 2 * node.branches)))
        return Group(*lines)

    def _beside(self, rest: str) -> RenderableType:
        name = rest or HEALTHY
        found = beside(self.walk, Walk(other_of(self.walk.about, name)), name)
        if found.parting is None:
            return Text(f"{found.title} takes the same {plural(self.walk.at.depth, 'step')}.")
        parting = found.parting
        head = Text(f"They part at step {parting.step}. {printable(parting.words)}")
        if not parting.differences:
            return head
        table = Table("field", "here", found.title, box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for cells in parting.differences:
            table.add_row(*(Text(printable(cell)) for cell in cells))
        return Group(head, table)

    # -- for elsewhere

    def _link(self, rest: str) -> RenderableType:
        lines = [("key", self.walk.key), *(("command", c) for c in command_lines(self.walk))]
        return facts_table([*lines, ("link", as_link(self.walk).strip())])

    def _save(self, rest: str) -> RenderableType:
        if not rest:
            raise UserError("nothing says where to", where="save", do="save FILE.py")
        path = Path(rest)
        write(path, export(self.walk, path))
        return Text(f"wrote {printable(rest)}")

    def _help(self, rest: str) -> RenderableType:
        return facts_table(HELP)


def _steps(taken: Iterable[tuple[int, Choice]]) -> RenderableType:
    """Steps with their numbers, each folded beside its own."""
    return facts_table((f"{number:>4}", choice.words) for number, choice in taken)


def _said(said: Said, is_goal: bool) -> str:
    if said.true is None:
        return said.note
    if is_goal:
        return "is met here" if said.true else "is not met here"
    return "holds here" if said.true else "is broken here"


def _count(text: str, default: int) -> int:
    """A number of steps. Raises `UserError` for anything else."""
    if not text:
        return default
    if not re.fullmatch("[0-9]{1,9}", text):
        raise UserError(f"{printable(text)[:40]!r} is not a whole number")
    return int(text)
