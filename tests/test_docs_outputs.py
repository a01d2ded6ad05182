"""What the pages quote is what the commands print: every `console` block is run, except those whose
title says why not. `python docs/generate/outputs.py --write` quotes anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import outputs
import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
QUOTING = [page for page in PAGES if outputs.quotes(page.read_text("utf-8"))]
SLOW = ("advise",)  # simulates weeks of a group; `test_advice.py` asks by day what it would tell

EXAMPLE = """\
```python title="three.py"
print(1 + 2)
```

```console
$ python three.py
3
$ ls three.py; echo "  run  1.5 s, 7 rows"
three.py
  run  0.2 s, 4 states/s, 7 rows
```

```console title="takes an hour"
$ sleep 3600
```
"""


@pytest.fixture(scope="module")
def printed_by() -> Iterator[Callable[[str], list[str]]]:
    """What the commands of a page print, as copies of a lean process: a copy of the process of all
    tests costs more than most commands do.
    """
    command = [sys.executable, outputs.__file__, "--serve"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=ROOT) as server:
        assert server.stdin and server.stdout

        def answer(page: str) -> list[str]:
            print(json.dumps(page), file=server.stdin, flush=True)
            line = server.stdout.readline()
            assert line, "it has ended; its error is on stderr"
            return json.loads(line)

        yield answer


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.night] * (p.stem in SLOW)) for p in QUOTING],
    ids=lambda path: path.stem,
)
def test_the_page_quotes_what_its_commands_print(page, printed_by):
    text = page.read_text("utf-8")
    quoted = [(q.command, outputs.timeless(q.output)) for q in outputs.quotes(text)]
    commands = [command for command, _ in quoted]
    printed = [outputs.timeless(said) for said in printed_by(text)]
    assert quoted == list(zip(commands, printed, strict=True))


def test_each_tutorial_quotes_at_least_two_commands():
    tutorials = list(ROOT.glob("docs/tutorials/*.md"))
    assert len(tutorials) == 4
    assert [t for t in tutorials if len(outputs.quotes(t.read_text("utf-8"))) < 2] == []


def test_times_may_differ_and_titled_blocks_are_not_run():
    assert [q.command for q in outputs.quotes(EXAMPLE)] == [
        "python three.py",
        'ls three.py; echo "  run  1.5 s, 7 rows"',
    ]
    assert outputs.written(EXAMPLE) == EXAMPLE


def test_a_quote_that_is_not_true_is_found_and_mended():
    wrong = EXAMPLE.replace("\n3\n", "\n4\n")
    assert outputs.written(wrong) == EXAMPLE


def test_a_command_that_fails_by_a_mistake_is_never_quoted():
    with pytest.raises(RuntimeError, match="NameError"):
        outputs.written(EXAMPLE.replace("1 + 2", "nobody"))
