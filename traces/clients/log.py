"""A client's log as a stream of statements, in the order of its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from attrs import Factory, define, evolve

from groupcheck.traces.clients.frames import plain, process_of
from groupcheck.traces.clients.said import TEXT_CHARS, Said
from groupcheck.traces.clients.sentences import Sentences, all_sentences
from groupcheck.traces.clients.who import names
from groupcheck.traces.timestamps import parse_time

MOST_CHARS = 20_000
"""Of a line: what stands behind is not looked at."""
TIME_CHARS = 300
NAMES = ("group", "client", "member", "instance")


@define
class ClientLog:
    """The statements of one log, and how its lines were understood."""

    sentences: Sentences = Factory(all_sentences)
    # How many lines hold a statement.
    understood: int = 0
    # Library -> how many lines show that it wrote them.
    libraries: Counter[str] = Factory(Counter)
    # The time of the last line that had one.
    _time: int | None = None

    def statements(self, lines: Iterable[tuple[int, str]]) -> Iterator[Said]:
        """What the lines, as (number, text), say."""
        for number, line in lines:
            text = plain(line[:MOST_CHARS])
            time = parse_time(text[:TIME_CHARS])
            self._time = time if time is not None else self._time
            said = names(text)
            hits = self.sentences.in_line(text, said.library)
            if said.library:
                self.libraries[said.library] += 1
            if not hits:
                continue
            self.understood += 1
            process = process_of(line)
            for hit in hits:
                found = {k: str(v) for k, v in hit.fields.items() if k in NAMES and v}
                mine = evolve(said, **found)
                yield Said(
                    kind=hit.sentence.kind,
                    line=number,
                    text=line.strip()[:TEXT_CHARS],
                    time=self._time,
                    library=mine.library or self._library(hit.sentence.libraries),
                    process=process,
                    group=mine.group,
                    client=mine.client,
                    member=mine.member,
                    instance=mine.instance,
                    fields={k: v for k, v in hit.fields.items() if k not in NAMES},
                )

    def _library(self, some: tuple[str, ...]) -> str:
        """Which of the libraries that print a sentence wrote it, judged by the lines before."""
        if len(some) == 1:
            return some[0]
        for name, _ in self.libraries.most_common():
            if not some or name in some:
                return name
        return ""
