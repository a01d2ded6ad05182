"""The logs that people give to `replay`: files, folders, archives and standard input, each log a
`Source` of lines that can be read again and again.

`finding` lists the files, `archives` unpacks members, `rotation` joins the files of one process,
`unpacking` opens a file, `lines` cuts it into lines, `log` keeps the tallies of a parser.
"""

from groupcheck.traces.reading.lines import ALTERED, JITTER_MS, LINE_CAP, Notes, Part, TraceError
from groupcheck.traces.reading.log import SAMPLE_CHARS, SAMPLES, Log
from groupcheck.traces.reading.source import Piece, Source, place_of, source_of

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
