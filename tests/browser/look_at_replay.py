"""`make browser`: the page of a replay, looked at in a headless Chromium. `make test` does not run
this, since it needs Chromium. Pictures of the pages go to build/browser.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from answered import answer, busy, found
from chromium import Chromium, Page

import groupcheck
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.page import page as page_of

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "browser"
DATA = ROOT / "tests" / "data"
ZOMBIE = DATA / "requests" / "live-zombie.log.gz"
PHONE = {"width": 390, "height": 844, "mobile": True}
HURT = "window.hurt=1"
HOSTILE = (
    f"</script><script>{HURT}</script>",
    f"<img src=x onerror={HURT}>",
    f"\"'><svg/onload={HURT}>",
    "a\u202egnp.exe\u2066\x00\x1b[31m\u2028end",
    "<!--<script>",
    f"javascript:{HURT}//`${{{HURT}}}`{{{{{HURT}}}}}",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page about a real request log, as `replay --html` writes it."""
    path = tmp_path_factory.mktemp("plain") / "page.html"
    path.write_text(groupcheck.replay([str(ZOMBIE)]).html(), encoding="utf-8")
    return path


def written(folder: Path, *answers: Answer) -> Path:
    path = folder / "page.html"
    path.write_text(page_of([], answers), encoding="utf-8")
    return path


def middle(page: Page, selector: str = "canvas") -> tuple[float, float]:
    """The middle of the first such element, scrolled into view."""
    there = page.run(
        f"(() => {{ const e = document.querySelector('{selector}');"
        " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    return there[0], there[1]


def drawn(page: Page) -> dict[str, float]:
    """Frames so far, things drawn in the last one, and the span of time that it shows, in ms."""
    told = page.run("({...document.querySelector('.timeline').dataset})")
    return {name: float(told[name]) for name in ("frames", "drawn", "span")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_draws_its_lanes_without_an_error(
    browser: Chromium, plain: Path, scheme: str
) -> None:
    page = browser.open(plain, scheme=scheme)
    page.picture(PICTURES / f"{scheme}.png")
    lanes = "JSON.parse(document.getElementById('picture1').textContent).lanes.length"
    assert page.run(lanes) == 3
    assert drawn(page)["drawn"] > 3 * 3
    colours = page.run(
        "(() => { const c = document.querySelector('canvas'); const seen = new Set();"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " for (let k = 0; k < d.length; k += 4) seen.add(`${d[k]},${d[k + 1]},${d[k + 2]}`);"
        " return [...seen]; })()"
    )
    paper, owns = {"light": ("255,255,255", "50,115,220"), "dark": ("18,22,28", "110,163,245")}[
        scheme
    ]
    assert paper in colours and owns in colours
    assert page.errors == []


def test_a_broker_and_a_client_share_the_picture(
    browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture of docs/howto/replay.md."""
    shutil.copyfile(DATA / "requests" / "live-poll_timeout.log.gz", tmp_path / "requests.log.gz")
    shutil.copyfile(DATA / "clients" / "poll_timeout.b.log.gz", tmp_path / "client.log.gz")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.html"
    path.write_text(groupcheck.replay(["requests.log.gz", "client.log.gz"]).html())
    page = browser.open(path, width=1000, height=1100)
    page.picture(PICTURES / "replay.png")
    told = page.run("JSON.parse(document.getElementById('picture1').textContent)")
    kinds = {item[3] for item in told["items"]}
    assert {"owns", "joining", "trouble", "said"} <= kinds
    assert {mark[3] for mark in told["marks"]} >= {"cause", "harm"}
    assert page.errors == []


def test_wheel_keys_and_buttons_zoom_and_dragging_moves(browser: Chromium, plain: Path) -> None:
    page = browser.open(plain)
    x, y = middle(page)
    whole = drawn(page)["span"]
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300, modifiers=2)
    page.frame()
    wheeled = drawn(page)["span"]
    assert wheeled < whole / 2
    page.run("document.querySelector('[data-key=\"-\"]').click()")
    page.frame()
    assert drawn(page)["span"] == pytest.approx(wheeled / 0.6, rel=0.01)
    page.run("document.querySelector('canvas').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="0", text="0")
    page.frame()
    assert drawn(page)["span"] == whole
    # A wheel without Ctrl scrolls the page and leaves the picture alone.
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    page.frame()
    assert drawn(page)["span"] == whole
    assert page.errors == []


def test_a_click_tells_the_whole_id_and_the_line(browser: Chromium, plain: Path) -> None:
    page = browser.open(plain)
    x, y = middle(page)
    page.click(x, y)
    ids = page.run("JSON.parse(document.getElementById('picture1').textContent).lanes")
    assert page.run("document.querySelector('.chosen code').textContent") in ids
    told = page.run("document.querySelector('.chosen').textContent")
    assert "owns orders-" in told and "line " in told
    page.run("document.querySelector('.chosen button').click()")
    assert page.run("getSelection().toString()") in ids


def test_a_claim_shows_its_lines_and_its_place_in_the_time_line(
    browser: Chromium, tmp_path: Path
) -> None:
    path = written(tmp_path, answer(causes=[found(quoted=["one", "two"])], seen=[busy(5, 2000)]))
    page = browser.open(path)
    page.picture(PICTURES / "cause.png")
    lines = "document.querySelector('.evidence').open"
    assert page.run(lines) is True
    page.click(*middle(page, ".evidence summary"))
    assert page.run(lines) is False
    assert page.run("document.querySelectorAll('.evidence code').length") == 2
    whole = drawn(page)["span"]
    page.click(*middle(page, "[data-shows]"))
    assert drawn(page)["span"] == pytest.approx(50_000 * 1.6, rel=0.01) and whole > 150_000
    assert page.errors == []


def test_a_phone_scrolls_down_only(browser: Chromium, plain: Path, tmp_path: Path) -> None:
    long = "x" * 400
    asked = answer(
        group=long, causes=[found(text=long, who=[long], quoted=[long])], seen=[busy(30, 900, long)]
    )
    for name, path in (("phone", plain), ("phone-long", written(tmp_path, asked))):
        page = browser.open(path, **PHONE)
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.frame()
        page.picture(PICTURES / f"{name}.png")
        assert page.run("document.documentElement.scrollWidth") == PHONE["width"]
        assert page.run("document.querySelector('canvas').getBoundingClientRect().width") > 300
        assert page.errors == []


def test_hostile_names_and_lines_do_nothing(browser: Chromium, tmp_path: Path) -> None:
    answers = []
    for k, text in enumerate(HOSTILE):
        cause = found(text=text, who=[text], quoted=[text], decide=text)
        group = busy(2, 40, text.replace("{", "{{").replace("}", "}}"))
        answers.append(
            answer(f"{k}{text}", causes=[cause], candidates=[cause], hints=[text], seen=[group])
        )
    page = browser.open(written(tmp_path, *answers))
    for k in range(len(HOSTILE)):
        page.run(f"document.querySelectorAll('canvas')[{k}].scrollIntoView({{block: 'center'}})")
        x, y = page.run(
            f"(() => {{ const r = document.querySelectorAll('canvas')[{k}].getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height - 20]; })()"
        )
        page.click(x, y)
    assert page.run("document.querySelectorAll('.chosen code').length") == len(HOSTILE)
    page.picture(PICTURES / "hostile.png")
    assert page.run("window.hurt") is None
    assert page.run("document.querySelectorAll('img, svg, iframe').length") == 0
    scripts = "document.querySelectorAll('script:not([type])').length"
    assert page.run(scripts) == 1
    shown = page.run("document.body.innerText")
    assert HOSTILE[0] in shown and "\\u202e" in shown and "\u202e" not in shown
    assert page.errors == []


def test_the_policy_forbids_every_script_but_the_page_s_own(browser: Chromium, plain: Path) -> None:
    page = browser.open(plain)
    page.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hurt = 1';"
        " document.body.append(s); })()"
    )
    assert page.run("window.hurt") is None
    assert any("Content Security Policy" in error for error in page.errors)


def test_ten_thousand_events_are_drawn_once_a_frame(browser: Chromium, tmp_path: Path) -> None:
    page = browser.open(written(tmp_path, answer(seen=[busy(100, 10_000)])))
    page.picture(PICTURES / "busy.png")
    x, y = middle(page)
    page.frame()
    before = drawn(page)
    # However many events come between two frames, the picture is drawn once for each frame.
    frames = page.run(
        "new Promise((done) => { const c = document.querySelector('canvas'); let frames = 0;"
        " const step = () => { for (let k = 0; k < 50; k += 1) c.dispatchEvent(new WheelEvent("
        f"'wheel', {{deltaY: -2, ctrlKey: true, clientX: {x}, clientY: {y}, cancelable: true}}));"
        " frames += 1; if (frames < 10) requestAnimationFrame(step); else"
        " requestAnimationFrame(() => requestAnimationFrame(() => done(frames))); };"
        " requestAnimationFrame(step); })"
    )
    after = drawn(page)
    assert after["span"] < before["span"] / 10
    assert after["frames"] - before["frames"] <= frames + 1
    # Level of detail: what is drawn is bounded by the pixels and lanes that are seen.
    assert before["drawn"] < 10_000
    assert page.errors == []


def test_no_word_in_the_figures_of_simulations_is_broken_where_there_is_room(
    browser: Chromium, tmp_path: Path
) -> None:
    file = tmp_path / "curve.html"
    asked = ["curve", "session-ratio", "--members", "2", "--at", "9", "--replications", "2"]
    assert cli.run([*asked, "--html", str(file)]) == 0
    page = browser.open(file, width=1280)
    page.picture(PICTURES / "curve.png")
    cells = "[...document.querySelectorAll('tbody td')]"
    assert page.run(f"{cells}.filter(e => e.clientHeight > 40).map(e => e.innerText)") == []
    table = "document.querySelector('.scroll')"
    assert page.run(f"{table}.scrollWidth - {table}.clientWidth") == 0
