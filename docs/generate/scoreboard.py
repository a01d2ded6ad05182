"""Judges every broker and every client library that can be had here, and writes
docs/judge/scoreboard.md from their documents: which rules each keeps and breaks.

scoreboard.py [--only NAME] [--folder FOLDER] [--table]

Each is judged with default options, one after the other. Documents stay in a folder of FOLDER
(build/scoreboard) for each commit, so that a stopped run goes on and a later commit judges anew.
The page has this commit's documents, and the newest ones of whoever was not judged at it; of whom
there is none, it keeps what it says. --table writes it without judging anybody.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groupcheck.oracles.judge.broker.rules import RULES as OF_BROKERS
from groupcheck.oracles.judge.client.rules import RULES as OF_CLIENTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "judge" / "scoreboard.md"
BROKERS = ("kafka", "kfake", "tansu", "librdkafka-mock")
LIBRARIES = (
    "java",
    "confluent-kafka",
    "kafka-python",
    "aiokafka",
    "franz-go",
    "sarama",
    "kafka-go",
    "kafkajs",
    "@platformatic/kafka",
    "krafka",
)
CHANGED = "-dirty"  # of the commit of a checkout in which files were changed
RULES = {"broker": [r.name for r in OF_BROKERS], "client": [r.name for r in OF_CLIENTS]}
LIMIT_S = 1_800  # the first use installs what is judged
Document = Mapping[str, Any]
HEAD = """\
# Scoreboard

For whoever chooses a client library or a test broker, or maintains one. At the end you know which
promises of the group protocol each of them kept and broke when it was judged last.

`make nightly NIGHTLY="--only scoreboard"` judges each broker and each client library that can be
had as a package, with default options, and writes this page from what they print. Apache Kafka's
broker and its Java client are the controls. A rule is *broken* if its shortest schedule shows it
three times of three and Kafka's own does otherwise, if it was shown on Apache Kafka itself, or if
a broker has ended; *unsteady* is what showed less often. What a short run does not reach says
nothing. Each row is what was found on the day that it names: a rule that is newer than that run is
*not judged*, and one whose sentence has changed since was judged as it stood then.

[How brokers are judged](your_broker.md) and [how clients are judged](your_client.md) explain the
rules; [Findings](../../FINDINGS.md) has each defect with its evidence.
"""


def command(side: str, name: str) -> list[str]:
    """The command that judges it."""
    groupcheck = str(Path(sys.executable).parent / "groupcheck")
    which = ["--start", name] if side == "broker" else ["--library", name]
    return [groupcheck, "judge", side, *which, "--json"]


def commit() -> str:
    """The commit of the checkout; with a mark if files were changed since, besides the page."""
    page = f":(exclude){PAGE.relative_to(ROOT)}"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", page)
    return _git("rev-parse", "--short=12", "HEAD") + (CHANGED if changed else "")


def _git(*words: str) -> str:
    asked = ["git", "-C", str(ROOT), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def place(folder: Path, side: str, name: str) -> Path:
    """The file of its document."""
    plain = name.strip("@").replace("/", "-")
    return folder / f"{side}-{plain}.json"


def newest(folder: Path, side: str, name: str) -> Path | None:
    """Its document of this commit's folder, or else the newest one of another."""
    own = place(folder, side, name)
    others = folder.parent.glob(f"*/{own.name}")
    latest = max(others, key=lambda one: one.stat().st_mtime, default=None)
    return own if own.exists() else latest


def judged(folder: Path, side: str, name: str) -> str:
    """Judges it, keeps its document, and says what became of it."""
    ended = subprocess.run(command(side, name), capture_output=True, text=True, timeout=LIMIT_S)
    if not ended.stdout:
        return f"no answer, exit code {ended.returncode}: {ended.stderr.strip()[-300:]}"
    place(folder, side, name).write_text(ended.stdout)
    return str(json.loads(ended.stdout)["verdict"])


def table(side: str, found: Mapping[str, Document], before: str) -> Iterator[str]:
    """One row for each. `found`: name -> its document; `before`: the page with those of others."""
    columns = ("keeps", "breaks", "unsteady", "not_judged")
    titles = " | ".join(columns).replace("_", " ")
    yield f"| {side} | version | judged | verdict | {titles} | broken |"
    yield "|---|---|---|---|" + "---:|" * len(columns) + "---|"
    for name in BROKERS if side == "broker" else LIBRARIES:
        if name not in found:
            yield from (line for line in before.splitlines() if line.startswith(f"| {name} |"))
            continue
        one = found[name]
        became = {rule["name"]: rule["verdict"] for rule in one["rules"]}
        of_today = [became.get(rule, "not_judged") for rule in RULES[side]]
        numbers = " | ".join(str(of_today.count(column)) for column in columns)
        broken = ", ".join(f"`{r}`" for r, verdict in became.items() if verdict == "breaks")
        about = f"{one['subject']} | {one['day']} | {one['verdict']}"
        yield f"| {name} | {about} | {numbers} | {broken or 'none'} |"


def harm(found: Mapping[str, Document], before: str) -> Iterator[str]:
    """What was shown on Apache Kafka itself."""
    for name in LIBRARIES:
        if name not in found:
            yield from (line for line in before.splitlines() if line.startswith(f"- {name} "))
            continue
        one = found[name]
        for remark in one["differs"]:
            if ". On Apache Kafka " in remark["detail"] and remark["verdict"] == "breaks":
                yield f"- {one['subject']}: {remark['detail']}."


def read(file: Path) -> Document:
    """A document, with the day on which it was written."""
    day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
    return {**json.loads(file.read_text()), "day": day}


def page(folder: Path, before: str = "") -> str:
    """The page, from the documents that are there, and from the page that was there `before`."""
    known = {
        side: {
            name: read(document)
            for name in names
            if (document := newest(folder, side, name)) is not None
        }
        for side, names in (("broker", BROKERS), ("client", LIBRARIES))
    }
    lines = [HEAD]
    for side, title in (("broker", "Brokers"), ("client", "Clients")):
        lines += [f"## {title}\n", *table(side, known[side], before), ""]
    lines += [
        "## Shown on Apache Kafka itself\n",
        *dict.fromkeys(harm(known["client"], before)),
        "",
    ]
    lines += ["## Rules\n", "| rule | what must be true | source |", "|---|---|---|"]
    lines += [f"| `{r.name}` | {r.sentence} | {r.source} |" for r in OF_BROKERS]
    lines += [f"| `{r.name}` | {r.words} | {r.source} |" for r in OF_CLIENTS]
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command. Exits with 1 if one could not be judged."""
    parser = argparse.ArgumentParser(description="the scoreboard of brokers and clients")
    parser.add_argument("--only", metavar="NAME", help="judge this one, again")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "scoreboard")
    parser.add_argument("--table", action="store_true", help="judge nobody")
    asked = parser.parse_args()
    at = commit()
    folder = asked.folder / at
    folder.mkdir(parents=True, exist_ok=True)
    every = [("broker", name) for name in BROKERS] + [("client", name) for name in LIBRARIES]
    chosen = [one for one in every if asked.only in (None, one[1])]
    failed = 0
    for side, name in [] if asked.table else chosen:
        goes_on = asked.only is None and not at.endswith(CHANGED)
        if goes_on and place(folder, side, name).exists():
            continue
        try:
            told = judged(folder, side, name)
        except subprocess.TimeoutExpired:
            told = f"no answer within {LIMIT_S:,} s"
        failed += told.startswith("no answer")
        print(f"{side:8}{name:24}{told}", flush=True)
    PAGE.write_text(page(folder, PAGE.read_text() if PAGE.exists() else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
