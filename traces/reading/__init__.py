"""The logs that people give to `replay`: files, folders, archives and standard input, each log a
`Source` of lines that can be read again and again.

`finding` lists the files, `archives` unpacks members, `rotation` joins the files of one process,
`unpacking` opens a file, `lines` cuts it into lines, `tallies` keeps those of a parser.
"""

from groupcheck.traces.reading.lines import ALTERED, JITTER_MS, LINE_CAP, Notes, Part, TraceError
from groupcheck.traces.reading.source import Piece, Source, place_of, source_of
from groupcheck.traces.reading.tallies import SAMPLE_CHARS, SAMPLES, Log

__all__ = [
    "ALTERED",
    "JITTER_MS",
    "LINE_CAP",
    "SAMPLES",
    "SAMPLE_CHARS",
    "Log",
    "Notes",
    "Part",
    "Piece",
    "Source",
    "TraceError",
    "place_of",
    "source_of",
]
