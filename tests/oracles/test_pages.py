"""Templates are filled in with every text escaped, and one with a name that nobody gave is not
drawn at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from groupcheck import __version__
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
        "groupcheck.oracles.check.run, groupcheck.oracles.replay.report,"
        " groupcheck.oracles.assignment.assign_command, groupcheck.oracles.sweep.folder"
    )
    said = subprocess.run(
        [sys.executable, "-c", f"import sys, {doors}; print('jinja2' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert said.stdout.strip() == "False"
