"""Templates are filled in with every text escaped, and one with a name that nobody gave is not
drawn at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import groupcheck
from groupcheck import __version__
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show.pages import render

ORACLES = Path(__file__).parents[2] / "oracles"


def test_a_name_that_nobody_gave_is_an_error_and_not_an_empty_text():
    with pytest.raises(UndefinedError, match="verdict"):
        render("assign.html", title="t", facts=[], core=(), sections=[])


def test_a_value_is_escaped_and_the_version_is_always_there():
    page = render(
        "assign.html",
        verdict="right",
        title="</title></style><script>\x1b[1m",
        facts=[],
        core=(),
        sections=[],
    )
    assert (
        "<title>right: &lt;/title&gt;&lt;/style&gt;&lt;script&gt;\\x1b[1m - groupcheck</title>"
        in page
    )
    assert f'content="groupcheck {__version__}"' in page


def test_a_page_tells_the_browser_to_run_and_load_nothing():
    page = render("assign.html", verdict="right", title="t", facts=[], core=(), sections=[])
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy.split("; ") == ["default-src 'none'", "style-src 'unsafe-inline'"]


def test_jinja_is_imported_in_one_place_and_not_by_those_that_may_draw_a_page():
    importing = [path.name for path in ORACLES.rglob("*.py") if "jinja2" in path.read_text("utf-8")]
    assert importing == ["pages.py"]
    doors = (
        "groupcheck.oracles.check.run, groupcheck.oracles.assignment.judge.command,"
        " groupcheck.oracles.sweep.folder"
    )
    said = subprocess.run(
        [sys.executable, "-c", f"import sys, {doors}; print('jinja2' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert said.stdout.strip() == "False"


PAGES = {
    "check": ("check", "classic", "--mutation", "size_cap_off_by_one"),
    "explain": ("explain", "classic", "--members", "1", "gc1-0.0"),
    "replay": ("replay", "sample:console-group"),
    "assign": ("assign", "sample:printed-range"),
}


class Outline(HTMLParser):
    """Headings, landmarks and focusable parts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.landmarks = 0
        self.scrolling: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.landmarks += tag == "main"
        known = dict(attrs)
        if tag == "figure" or {"scroll", "board"} & {*(known.get("class") or "").split()}:
            self.scrolling.append(known)


@pytest.mark.parametrize("command", PAGES.values(), ids=PAGES)
def test_a_page_has_one_main_headings_in_order_and_boards_for_the_keyboard(
    command, tmp_path, capsys
):
    cli.run([*command, "--html", str(tmp_path / "page.html")])
    capsys.readouterr()
    seen = Outline()
    seen.feed((tmp_path / "page.html").read_text("utf-8"))
    assert seen.landmarks == 1
    assert seen.headings[0] == 1 and seen.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(seen.headings))
    assert all(part["tabindex"] == "0" and part["aria-label"] for part in seen.scrolling)


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    digits = colour.removeprefix("#")
    digits = digits if len(digits) == 6 else "".join(2 * d for d in digits)
    channels = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_texts_and_bars_stand_out_from_the_paper_in_light_and_dark():
    style = (ORACLES / "templates" / "report.css").read_text("utf-8")
    schemes = [
        dict(re.findall(r"--(\w+): (#\w+)", block))
        for block in re.findall(r"\{\s+(--ink[^}]*)", style)
    ]
    assert len(schemes) == 3  # light, dark, print
    for scheme in schemes[:2]:
        for name in (
            "ink",
            "soft",
            "red",
            "green",
            "amber",
            "blue",
            *(f"hue{k}" for k in range(8)),
        ):
            needed = 3.0 if name.startswith("hue") else 4.5
            for paper in ("paper", "shade", "blush") if name in ("ink", "red") else ("paper",):
                darker, lighter = sorted(map(luminance, (scheme[name], scheme[paper])))
                assert (lighter + 0.05) / (darker + 0.05) >= needed, (name, paper)


def test_whole_pages_and_parts_of_a_notebook_show_the_same(capsys):
    picture = re.compile(r'(?s)<div class="timeline".*?</script>\n|<script>.*?</script>\n')
    for result in (
        groupcheck.check("classic", mutation="size_cap_off_by_one", engine="reference"),
        groupcheck.replay(["sample:console-group"]),
    ):
        assert len(repr(result)) < 200 and "\n" not in repr(result)
        part = result._repr_html_()
        assert "<main" not in part and part.count('<div class="groupcheck">') == 1
        body = part[part.index('<div class="groupcheck">') + 25 : part.rindex("</div>")]
        assert body.strip() in picture.sub("", result.html())
