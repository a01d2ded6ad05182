"""The tables of an archive: every column with its type, unit and meaning (docs/archive.md says the
same, and a test compares).

`file`, `group` and `coordinator` together name a row of `verdicts`; the other tables refer to it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attrs import frozen

from groupcheck.oracles.show import parquet

if TYPE_CHECKING:
    import pyarrow

TEXT, WHOLE, SHARE, TIME = "string", "int64", "double", "timestamp[ms]"
TEXTS, COUNTS = "list<string>", "map<string, int64>"
SAMPLES = "list<struct<line: int64, text: string>>"
EPOCHS = "list<struct<epoch: int64, what: string, time: timestamp[ms], line: int64>>"


@frozen
class Column:
    """One column of a table."""

    name: str
    # as Arrow names it
    type: str
    meaning: str
    # "" without one
    unit: str = ""


FILE = Column("file", TEXT, "the log's path, absolute")
GROUP = Column("group", TEXT, "the group's id")
COORDINATOR = Column(
    "coordinator", WHOLE, "id of the broker that wrote the lines; null if the log does not tell"
)
FILES = (
    FILE,
    Column("size", WHOLE, "of the file when it was read", "bytes"),
    Column("modified", TIME, "when the file was last written to, UTC"),
    Column("error", TEXT, "why the file could not be read or replayed; null if it was"),
    Column(
        "format",
        TEXT,
        "`broker-scala`, `broker-java`, `request-log`, the name of what is not replayed yet, or"
        " `unknown`",
    ),
    Column("verdict", TEXT, "`holds`, `violated` or `unknown`: the worst of its groups"),
    Column("reason", TEXT, "of the verdict, in a sentence"),
    Column("lines", WHOLE, "in the file", "lines"),
    Column(
        "lines_understood",
        WHOLE,
        "lines of a coordinator (answers of a group API) that were read",
        "lines",
    ),
    Column("lines_of_others", WHOLE, "lines that no coordinator wrote", "lines"),
    Column(
        "lines_not_understood",
        WHOLE,
        "lines of a coordinator that no version is known to print",
        "lines",
    ),
    Column("not_understood", SAMPLES, "the first of those"),
    Column("versions", TEXTS, "versions of Kafka that print such lines, for each broker"),
    Column("notes", TEXTS, "what was remarkable about the file: a torn end, lines that were cut"),
    Column("groups", WHOLE, "rows of this file in `verdicts`", "groups"),
    Column("replayed_by", TEXT, "version of groupcheck"),
)
VERDICTS = (
    FILE,
    GROUP,
    COORDINATOR,
    Column(
        "protocol",
        TEXT,
        "`classic`, `cooperative`, `static`, `consumer`, `share`, `streams` or the protocol type of"
        " what is no consumer",
    ),
    Column(
        "verdict",
        TEXT,
        "`holds`, `violated` (a line that no correct coordinator writes) or `unknown`",
    ),
    Column("reason", TEXT, "of the verdict, in a sentence"),
    Column("begins", TEXT, "what the group's first line leaves open"),
    Column("lines", WHOLE, "about the group", "lines"),
    Column("unexplained", WHOLE, "lines that the model does not explain", "lines"),
    Column(
        "assumed_missing",
        WHOLE,
        "lines that are explained only if others were filtered out of the log",
        "lines",
    ),
    Column("lowest_generation", WHOLE, "that the log names"),
    Column("highest_generation", WHOLE, "that the log names"),
    Column("causes", COUNTS, "rebalances by cause, see `rebalances.cause`", "rebalances"),
    Column(
        "counts", COUNTS, "what happened how often: `joined`, `left`, `expired`, `stabilized`, ..."
    ),
    Column("first", TIME, "time of the first line, of the clock that wrote it"),
    Column("last", TIME, "time of the last line"),
    Column("observed_ms", WHOLE, "from the first line to the last", "ms"),
    Column("preparing_ms", WHOLE, "spent in join phases", "ms"),
    Column("unstable_ms", WHOLE, "from the beginnings of rebalances to their assignments", "ms"),
    Column("unstable_share", SHARE, "of the observed time that was unstable, 0 to 1"),
    Column("median_period_ms", WHOLE, "from one rebalance's beginning to the next's", "ms"),
    Column(
        "most_in_an_hour", WHOLE, "rebalances that began within one hour, at most", "rebalances"
    ),
    Column("rebalances_not_listed", WHOLE, "more than `rebalances` holds", "rebalances"),
    Column("members_not_listed", WHOLE, "more than `members` holds", "member ids"),
    Column("epochs", EPOCHS, "group epochs and target epochs of KIP-848 groups"),
    Column(
        "answers_judged",
        WHOLE,
        "answers that the model was asked about; null unless it is a request log",
        "answers",
    ),
    Column(
        "facts",
        TEXT,
        "what only a request log tells, as the JSON of `replay --json`; null for other logs",
    ),
)
REBALANCES = (
    FILE,
    GROUP,
    COORDINATOR,
    Column(
        "number", WHOLE, "of the rebalance in the group's log, from 1, those not listed included"
    ),
    Column("from_generation", WHOLE, "that ends"),
    Column("to_generation", WHOLE, "that begins; null if it is not shown"),
    Column(
        "cause",
        TEXT,
        "`join`, `leave`, `session_expired`, `sync_timeout`, `leader_rejoin`, `metadata_change`,"
        " `not_told`, ...",
    ),
    Column("member", TEXT, "the first of `members`"),
    Column("members", TEXTS, "member ids that caused it"),
    Column("reason", TEXT, "the coordinator's own words"),
    Column("client_reason", TEXT, "what the client gave as its reason"),
    Column("started", TIME, "when it began"),
    Column("started_line", WHOLE, "where that stands in the file"),
    Column("joined", TIME, "when the join phase ended"),
    Column("ended", TIME, "when the assignment arrived, or the group was empty"),
    Column("ended_line", WHOLE, "where that stands in the file"),
    Column("join_ms", WHOLE, "from `started` to `joined`", "ms"),
    Column("duration_ms", WHOLE, "from `started` to `ended`", "ms"),
    Column(
        "outcome",
        TEXT,
        "`assigned`, `emptied`, `interrupted`, `lost`, `stabilized` (no assignment seen yet) or"
        " `open`",
    ),
    Column("size", WHOLE, "of the new generation", "members"),
    Column("leader", TEXT, "member id of the leader"),
    Column("held_up_by", TEXTS, "member ids that the join phase waited for"),
    Column("waited_for", TEXT, "what ended the wait, in words"),
    Column("members_joined", TEXTS, "member ids"),
    Column("members_left", TEXTS, "member ids"),
    Column("members_expired", TEXTS, "member ids"),
    Column("members_not_rejoined", TEXTS, "member ids"),
)
ANOMALIES = (
    FILE,
    Column("group", TEXT, "the group's id; null if the whole file is meant"),
    COORDINATOR,
    Column(
        "kind",
        TEXT,
        "`rebalance_storm`, `blocked_by_departed_member`, `join_window_missed`, `ghost_members`,"
        " `unexplained_line`, `zombie`, ...",
    ),
    Column("line", WHOLE, "where it shows first; 0 if nowhere in particular"),
    Column("text", TEXT, "what, in a sentence"),
    Column("evidence", TEXTS, "figures and lines to judge it by"),
)
MEMBERS = (
    FILE,
    GROUP,
    COORDINATOR,
    Column("member", TEXT, "the member id"),
    Column("client", TEXT, "the client id (or instance id) inside it"),
    Column("instance", TEXT, "group.instance.id of a static member"),
    Column("first_seen", TIME, "time of the first line that names it"),
    Column("first_line", WHOLE, "where that stands in the file"),
    Column("id_handed_out", TIME, "when it got its id"),
    Column("joined", TIME, "when it joined"),
    Column(
        "gone",
        TEXT,
        "`left`, `expired`, `not_rejoined`, `not_synced`, `never_joined`, `replaced`; null while it"
        " is there",
    ),
    Column("ended", TIME, "when it went"),
    Column("ended_line", WHOLE, "where that stands in the file"),
    Column("client_reason", TEXT, "what the client gave as its reason for leaving"),
    Column("led_generations", WHOLE, "generations that it led", "generations"),
    Column("rebalances_caused", WHOLE, "rebalances that it caused", "rebalances"),
)
EVENTS = (
    FILE,
    Column("group", TEXT, "the group's id; null for lines that name none"),
    COORDINATOR,
    Column("line", WHOLE, "in the file, from 1"),
    Column("time", TIME, "of the line (of an answer: when it had been sent)"),
    Column(
        "kind",
        TEXT,
        "`RebalanceStarted`, `Stabilized`, `MemberExpired`, ...; of a request its API,"
        " `JOIN_GROUP`",
    ),
    Column("member", TEXT, "member id that the line is about"),
    Column("generation", WHOLE, "that the line names"),
    Column("code", WHOLE, "error code of an answer"),
    Column("detail", TEXT, "all else that the line says, as JSON"),
    Column("text", TEXT, "the coordinator's sentence, at most 500 characters; null for requests"),
)
TABLES = {
    "events": EVENTS,
    "rebalances": REBALANCES,
    "anomalies": ANOMALIES,
    "members": MEMBERS,
    "verdicts": VERDICTS,
    "files": FILES,
}
"""In the order in which they are put in place. `verdicts` and `files` come last: a file that they
name has its rows in all other tables.
"""


@cache
def schema(table: str) -> pyarrow.Schema:
    """The table's Arrow schema."""
    return parquet.schema({column.name: column.type for column in TABLES[table]})
