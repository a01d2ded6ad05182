"""`make browser`: the page of `explore`, walked in a headless Chromium. Pictures go to
build/browser.
"""

from __future__ import annotations

import json
import runpy
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, Page

from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.server import Server
from groupcheck.oracles.explore.walk import Walk

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "browser"
BUG = "keeps_partitions_when_lost"
PHONE = {"width": 390, "height": 844, "mobile": True}
HURT = "window.hurt=1"
HOSTILE = f"</script><img src=x onerror={HURT}><svg/onload={HURT}>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@contextmanager
def served(desk: Desk) -> Iterator[Server]:
    with Server(desk) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def counterexample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("from") / "verdict.json"
    path.write_text(json.dumps(check("classic", mutation=BUG, engine="plain").document()))
    return path


@pytest.fixture(scope="module")
def bug(counterexample: Path) -> Iterator[Server]:
    def asked() -> Subject:
        raise AssertionError("the document says it")

    with served(Desk(walk_from(str(counterexample), "classic", asked, False))) as server:
        yield server


def until(page: Page, condition: str) -> Any:
    """Waits for something to become true on the page."""
    for _ in range(500):
        if found := page.run(f"(() => {{ try {{ return {condition}; }} catch {{ }} }})()"):
            return found
        time.sleep(0.02)
    raise AssertionError(f"never true: {condition}; {page.errors}")


def opened(browser: Chromium, address: str, **more: Any) -> Page:
    page = browser.open(address, **more)
    until(page, "document.body.dataset.ready")
    return page


def where(page: Page) -> str:
    return str(page.run("document.querySelector('#where').textContent"))


def press(page: Page, key: str) -> None:
    """A key, and the answer to it."""
    before = page.run("document.body.dataset.ready")
    text = {"text": key} if len(key) == 1 else {}
    page.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
    page.call("Input.dispatchKeyEvent", type="keyUp", key=key)
    until(page, f"document.body.dataset.ready !== '{before}'")


def click(page: Page, selector: str) -> None:
    page.run(f"document.querySelector(`{selector}`).click()")


def test_a_counterexample_is_walked_and_parts_from_the_healthy_model_where_it_matters(
    browser: Chromium, bug: Server, tmp_path: Path
) -> None:
    page = opened(browser, bug.address, width=1280, height=1000)
    assert where(page).startswith("After 13 steps: the coordinator completes the append")
    assert "hand_off is broken" in page.run("document.querySelector('#alarm').textContent")
    page.picture(PICTURES / "explore.png")
    click(page, "#beside button")
    told = until(page, "document.querySelector('.parting').textContent")
    assert told.startswith("They part at step 9.") and f"The bug {BUG} changes send join" in told
    assert page.run("document.querySelector('#compared td').textContent") == "client[0].owned"
    page.picture(PICTURES / "explore-beside.png")  # the picture of docs/explore.md
    click(page, ".parting button")
    until(page, "document.querySelector('#where').textContent.startsWith('After 9 steps')")
    # One step before, both still go together.
    press(page, "ArrowLeft")
    until(page, "document.querySelector('#compared').textContent.includes('takes the same 8')")
    for _ in range(5):
        press(page, "ArrowRight")
    assert where(page).startswith("After 13 steps")
    click(page, "[data-export=py]")
    until(page, "document.querySelector('#exported textarea') !== null")
    test = tmp_path / "test_walk.py"
    test.write_text(page.run("document.querySelector('#exported textarea').value"))
    runpy.run_path(str(test))["test_hand_off_breaks"]()
    assert page.errors == []


def test_numbers_take_steps_and_the_address_holds_the_walk(browser: Chromium) -> None:
    about = subject("classic", members=2, any_faults=1)
    with served(Desk(Walk(about))) as server:
        page = opened(browser, server.address)
        assert where(page).startswith("At the beginning")
        words = page.run(
            "document.querySelectorAll('#choices button')[1].childNodes[2].textContent"
        )
        press(page, "2")
        assert where(page) == f"After 1 step: {words}."
        changed = "[...document.querySelectorAll('.field.changed')].map(e => e.textContent)"
        assert any("UNJOINED" in text for text in page.run(changed))
        press(page, "Home")
        press(page, "1")
        click(page, "#tree summary")
        until(page, "document.querySelectorAll('#tree li').length === 3")
        press(page, "r")
        depth = int(where(page).split()[1])
        assert depth > 1
        link = page.run("location.href")
        again = opened(browser, link)
        assert where(again) == where(page) and again.errors == []
        page.run("history.back()")
        until(page, "document.querySelector('#where').textContent.startsWith('After 1 step')")
        page.run("document.querySelector('#wanted').value = 'core.generation == 2'")
        click(page, "#seek button")
        until(page, "document.querySelector('#sought').textContent.includes('is true after')")
        until(page, "!document.querySelector('#where').textContent.startsWith('After 1 step')")
        page.run("document.querySelector('#wanted').value = 'core.nothing == 2'")
        click(page, "#seek button")
        until(page, "document.querySelector('#error').textContent.includes('has no nothing')")
        assert page.errors == []


def test_an_answer_that_the_page_asked_for_by_itself_takes_no_error_away(
    browser: Chromium, bug: Server
) -> None:
    page = opened(browser, bug.address)
    page.run(
        "(() => { const usual = fetch; self.fetch = async (to, what) => {"
        " if (JSON.parse(what.body).ask === 'path') await new Promise((go) => setTimeout(go, 500));"
        " return usual(to, what); }; })()"
    )
    before = page.run("document.body.dataset.ready")
    click(page, "[data-do=begin]")
    until(page, "document.querySelector('#where').textContent.startsWith('At the beginning')")
    page.run("document.querySelector('#wanted').value = 'core.nothing == 2'")
    click(page, "#seek button")
    until(page, "document.querySelector('#error').textContent.includes('has no nothing')")
    until(page, f"document.body.dataset.ready !== '{before}'")  # the path has come
    assert "has no nothing" in page.run("document.querySelector('#error').textContent")


def test_the_scene_is_read_and_used_by_keyboard(browser: Chromium, bug: Server) -> None:
    page = opened(browser, bug.address, width=1280, height=1000)
    press(page, "ArrowLeft")
    seen = "[...document.querySelectorAll('.scene .part')].filter(p => p.checkVisibility())"
    told = page.run(f"{seen}.map(p => p.ariaLabel)")
    assert told[0].startswith("coordinator: CompletingRebalance; generation 2")
    assert "member B: COMPLETING_REBALANCE; generation 2 (changed)" in told
    assert any(text.startswith("SyncGroup from member B to coordinator") for text in told)
    assert page.run(f"{seen}.every(p => p.tabIndex === 0)")
    assert page.run("document.querySelector('#fields').open") is False
    page.run(f"{seen}.find(p => p.ariaLabel.startsWith('member A')).focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    assert page.run("document.querySelector('#fields').open")
    assert page.run("document.activeElement.textContent") == "client[0]"
    # What was in hand stays in hand after a step.
    page.run(f"{seen}.find(p => p.ariaLabel.startsWith('member B')).focus()")
    press(page, "1")
    assert page.run("document.activeElement.ariaLabel").startswith("member B: STABLE")
    assert page.errors == []


def test_a_log_is_walked_line_by_line(browser: Chromium) -> None:
    def asked() -> Subject:
        raise AssertionError("the log says it")

    with served(Desk(walk_from("sample:zombie:31", None, asked, False))) as server:
        page = opened(browser, server.address)
        said = "document.querySelector('#said').textContent"
        assert page.run(said).startswith("line 31: HEARTBEAT of b-30a5faa8")
        assert "26 of 26 steps that the log tells" in page.run("document.body.textContent")
        press(page, "ArrowRight")
        assert page.run(said) == "" and where(page).startswith("After 12 steps")
        press(page, "Home")
        press(page, "ArrowRight")
        assert "line 1: JOIN_GROUP" in page.run(said)
        assert page.errors == []


def test_a_fold_without_a_title_is_not_there(browser: Chromium, bug: Server) -> None:
    """So that a page that waits for its first answer shows no bare triangles."""
    page = opened(browser, bug.address)
    seen = "document.querySelector('#promises').checkVisibility()"
    assert page.run(seen)
    page.run("document.querySelector('#promises summary').textContent = ''")
    assert not page.run(seen)
    page.call("Page.close")


def test_a_field_says_what_it_means_and_where_that_stands(browser: Chromium, bug: Server) -> None:
    page = opened(browser, bug.address)
    page.run(
        "[...document.querySelectorAll('.field button')].find(b => b.textContent =="
        " 'generation').click()"
    )
    note = page.run("document.querySelector('.note:not([hidden])').textContent")
    assert note.startswith("The last generation that a completed round has begun")
    assert "Kafka: ClassicGroup" in note
    press(page, "ArrowLeft")
    assert page.run("document.querySelectorAll('.field .note:not([hidden])').length") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_down_only_and_everything_has_a_name(
    browser: Chromium, bug: Server, scheme: str
) -> None:
    page = opened(browser, bug.address, scheme=scheme, **PHONE)
    page.picture(PICTURES / f"explore-phone-{scheme}.png")
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.frame()
    assert page.run("document.documentElement.scrollWidth") == PHONE["width"]
    unnamed = (
        "[...document.querySelectorAll('button, input, svg[role=img], img')].filter(e =>"
        " !(e.textContent.trim() || e.ariaLabel || e.alt || e.labels?.length)).length"
    )
    assert page.run(unnamed) == 0
    ink, paper = page.run(
        "(() => { const s = getComputedStyle(document.querySelector('.groupcheck'));"
        " return [s.color, s.backgroundColor]; })()"
    )
    assert (ink, paper) == {
        "light": ("rgb(29, 37, 48)", "rgb(255, 255, 255)"),
        "dark": ("rgb(228, 233, 240)", "rgb(18, 22, 28)"),
    }[scheme]
    assert page.errors == []


def error(page: Page) -> str:
    return str(page.run("document.querySelector('#error').textContent"))


@pytest.mark.parametrize("key", ["gc1-0.99", "nothing"])
def test_a_damaged_link_says_so_and_begins_where_the_command_does(
    browser: Chromium, bug: Server, key: str
) -> None:
    page = opened(browser, f"{bug.address}#{bug.desk.first()['of']}{key}")
    assert where(page).startswith("After 13 steps") and "key" in error(page)
    assert page.run("document.querySelectorAll('#choices button').length") > 0


def test_a_link_about_something_else_gives_a_command_only_if_it_is_harmless(
    browser: Chromium, bug: Server
) -> None:
    honest = "v=1&of=classic&set=pattern=0%2C1&key=gc1-0" + ".0" * 300
    page = opened(browser, f"{bug.address}#{honest}")
    told = "This link is about something else."
    until(page, f"document.querySelector('#error').textContent.startsWith('{told}')")
    assert error(page) == f"{told} Open it with: groupcheck explore --from '{honest}'"
    assert where(page).startswith("After 13 steps")
    for hostile in ("x';curl$IFS;'", "v=1&of=classic&key=$(id)", "v=1" + "&" * 3_000):
        page.run(f"location.hash = {json.dumps(hostile)}")
        until(page, f"document.querySelector('#error').textContent === '{told}'")
    assert page.errors == []


def test_a_link_that_is_not_copied_is_not_said_to_be(browser: Chromium, bug: Server) -> None:
    page = opened(browser, bug.address)
    for clipboard, told in (
        ("undefined", "The address of this page is the link."),
        ("{ writeText: () => Promise.reject(1) }", "The address of this page is the link."),
        ("{ writeText: async () => 1 }", "The link is in the clipboard."),
    ):
        page.run(
            "Object.defineProperty(navigator, 'clipboard',"
            f" {{ configurable: true, value: {clipboard} }})"
        )
        click(page, "[data-do=copy]")
        until(page, f"document.querySelector('#where').textContent === '{told}'")
    assert page.errors == []


def test_keys_in_the_list_of_initial_states_do_not_walk(browser: Chromium) -> None:
    with served(Desk(Walk(subject("triggers")))) as server:
        page = opened(browser, server.address)
        # `dispatchEvent` is true where nobody has taken the key for a step.
        event = "new KeyboardEvent('keydown', { key: '1', bubbles: true, cancelable: true })"
        dispatched = f"document.querySelector('%s').dispatchEvent({event})"
        assert page.run(dispatched % ".tools select") is True
        assert page.run(dispatched % "#next") is False
        assert page.errors == []


def test_hostile_names_and_pictures_do_nothing(browser: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "hostile.py"
    file.write_text(
        "from attrs import frozen\n"
        "from groupcheck.model.engine import Spec, goal, invariant, rule, single\n"
        f"HOSTILE = {HOSTILE!r}\n"
        "@frozen\n"
        "class Word:\n"
        f"    # {HOSTILE}\n"
        "    text: str = HOSTILE\n"
        "@rule\n"
        "def put(word):\n"
        f"    '''Puts {HOSTILE}.'''\n"
        "    yield Word(word.text[1:])\n"
        "@invariant\n"
        "def short(word):\n"
        f"    '''Never {HOSTILE}.'''\n"
        "    return not word.text.startswith('/')\n"
        "spec = Spec(HOSTILE, {'word': single(Word())}, [put], invariants=[short],"
        " deadlock=False)\n"
        "def view(state):\n"
        "    return ('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90\" height=\"20\""
        f" onload=\"{HURT}\"><script>{HURT}</script><circle r=\"9\"/></svg>')\n"
    )  # fmt: skip
    from groupcheck.oracles.explain import own

    desk = Desk(Walk(subject(f"{file}:spec")), own.named(f"{file}:view", (object,), ""), HOSTILE)
    with served(desk) as server:
        page = opened(browser, server.address)
        press(page, "1")
        click(page, "#tree summary")
        for kind in ("md", "svg", "html", "json"):
            click(page, f"[data-export={kind}]")
            until(page, f"document.querySelector('#exported a').download === 'walk.{kind}'")
        page.run("document.querySelectorAll('.field button').forEach((b) => b.click())")
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.frame()
        page.picture(PICTURES / "explore-hostile.png")
        assert page.run("window.hurt") is None
        assert page.run("document.querySelectorAll('img').length") == 1
        assert page.run("document.querySelector('#picture img').naturalWidth") == 90
        assert "onerror" in page.run("document.querySelector('#alarm').textContent")
        assert page.errors == []


def test_the_policy_forbids_other_scripts_and_other_hosts(browser: Chromium, bug: Server) -> None:
    page = opened(browser, bug.address)
    page.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hurt = 1';"
        " document.body.append(s); })()"
    )
    page.run("fetch('http://127.0.0.2:9/').catch(() => 0)")
    assert page.run("window.hurt") is None
    assert len([e for e in page.errors if "Content Security Policy" in e]) >= 2
