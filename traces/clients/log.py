"""A client's log as a stream of statements, in the order of its lines."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator

from attrs import Factory, define, evolve

from groupcheck.traces.clients.frames import plain, process_of
from groupcheck.traces.clients.said import TEXT_CHARS, Said
from groupcheck.traces.clients.sentences import WORD, Sentences, all_sentences
from groupcheck.traces.clients.who import names, shown_name
from groupcheck.traces.reading import SAMPLE_CHARS, SAMPLES
from groupcheck.traces.timestamps import parse_time

MOST_CHARS = 20_000
"""Of a line: what stands behind is not looked at."""
TIME_CHARS, SHAPE_CHARS = 300, 160
NAMES = ("group", "client", "member", "instance")


_ABOUT_GROUPS = {
    "group", "Group", "groupId", "rebalance", "rebalancing", "Rebalance", "coordinator",
    "Coordinator", "heartbeat", "Heartbeat", "partitions", "assignment", "offsets", "commit",
    "member", "Member", "generation",
}  # fmt: skip
"""Words of lines that a client may have written about its group."""
_SHAPED = re.compile(r"[0-9a-f]{8,}|\d+")
MOST_SHAPES, LOOKED_BACK = 1_000, 8


@define
class ClientLog:
    """The statements of one log, and how its lines were understood."""

    sentences: Sentences = Factory(all_sentences)
    # Lines that hold a statement, and lines of a known library about groups that hold none.
    understood: int = 0
    strange: int = 0
    # The shape of strange lines -> how many there are, and the first one as (number, text).
    shapes: Counter[str] = Factory(Counter)
    _first: dict[str, tuple[int, str]] = Factory(dict)
    # Library -> how many lines show that it wrote them.
    libraries: Counter[str] = Factory(Counter)
    # The last lines, for the time of one that has none of its own.
    _before: deque[str] = Factory(lambda: deque(maxlen=LOOKED_BACK))

    @property
    def samples(self) -> list[tuple[int, str]]:
        """The first line of each of the most frequent shapes of strange lines."""
        return [self._first[shape] for shape, _ in self.shapes.most_common(SAMPLES)]

    def statements(self, lines: Iterable[tuple[int, str]]) -> Iterator[Said]:
        """What the lines, as (number, text), say."""
        words = self.sentences.by_word.keys() | _ABOUT_GROUPS
        for number, line in lines:
            if not words.isdisjoint(WORD.findall(line[:MOST_CHARS])):
                yield from self._line(number, line)
            self._before.append(line)

    def _line(self, number: int, line: str) -> Iterator[Said]:
        text = plain(line[:MOST_CHARS])
        about = names(text)
        hits = self.sentences.in_line(text, about.library)
        if about.library:
            self.libraries[about.library] += 1
        if not hits:
            if about.library:
                self._note_strange(number, text)
            return
        self.understood += 1
        time, process = self._time_of(text), process_of(line)
        for hit in hits:
            told = {k: shown_name(str(v)) for k, v in hit.fields.items() if k in NAMES}
            mine = evolve(about, **{k: v for k, v in told.items() if v})
            yield Said(
                kind=hit.sentence.kind,
                line=number,
                text=line.strip()[:TEXT_CHARS],
                time=time,
                library=mine.library or self._library(hit.sentence.libraries),
                process=process,
                group=mine.group,
                client=mine.client,
                member=mine.member,
                instance=mine.instance,
                fields={k: v for k, v in hit.fields.items() if k not in NAMES},
            )

    def _time_of(self, text: str) -> int | None:
        """The time of a line, or of the closest one before it: one record may have several."""
        for some in (text, *reversed(self._before)):
            time = parse_time(some[:TIME_CHARS])
            if time is not None:
                return time
        return None

    def _note_strange(self, number: int, text: str) -> None:
        self.strange += 1
        shape = _SHAPED.sub("#", text)[:SHAPE_CHARS]
        if shape in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shape] += 1
            self._first.setdefault(shape, (number, text[:SAMPLE_CHARS]))

    def _library(self, some: tuple[str, ...]) -> str:
        """Which of the libraries that print a sentence wrote it, judged by the lines before."""
        if len(some) == 1:
            return some[0]
        for name, _ in self.libraries.most_common():
            if not some or name in some:
                return name
        return ""
