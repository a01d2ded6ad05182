"""`make browser-docs`: the service worker of `try/`, with a small folder in place of Python."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import try_it
from chromium import Chromium, Page
from static_host import Host

WORKER = Path(__file__).parents[2] / "docs" / "try" / "sw.js"
KEEP = """(async () => {
    await navigator.serviceWorker.register("sw.js", { updateViaCache: "none" });
    const { active } = await navigator.serviceWorker.ready;
    if (active.state !== "activated") {
        await new Promise((done) => {
            active.onstatechange = () => active.state === "activated" && done();
        });
    }
})()"""
UPDATE = """(async () => {
    const one = await navigator.serviceWorker.getRegistration();
    await one.update();
    const worker = one.installing ?? one.waiting;
    const states = ["installed", "activating", "activated", "redundant"];
    while (worker && !states.includes(worker.state)) {
        await new Promise((done) => setTimeout(done, 20));
    }
    return worker?.state;
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    (tmp_path / "try").mkdir()
    shutil.copyfile(WORKER, tmp_path / "try" / "sw.js")
    publish(tmp_path, "first")
    with Host(tmp_path) as running:
        yield running


def publish(site: Path, version: str) -> None:
    """Writes a page whose title and whose script tell the version."""
    (site / "try" / "index.html").write_text(
        f"<!DOCTYPE html><title>{version}</title><script src='one.js'></script>"
    )
    (site / "try" / "one.js").write_text(f"self.one = {version!r};")
    try_it.put_list(site / "try")


def visit(browser: Chromium, host: Host) -> Page:
    return browser.open(f"{host.address}try/")


def seen(page: Page) -> list[str]:
    told: list[str] = page.run("[document.title, self.one]")
    return told


def test_it_serves_nothing_that_another_has_put_into_its_cache(
    browser: Chromium, host: Host
) -> None:
    page = visit(browser, host)
    page.run(KEEP)
    page.run(
        """(async () => {
            const stolen = () => new Response("<title>stolen</title>", {
                headers: { "Content-Type": "text/html" } });
            for (const name of await caches.keys()) {
                const cache = await caches.open(name);
                for (const path of ["./", "index.html", "more.html"]) {
                    await cache.put(path, stolen());
                }
            }
        })()"""
    )
    page.call("Page.close")
    sent = len(host.sent)
    again = visit(browser, host)
    assert seen(again) == ["first", "first"]
    assert again.run("fetch('more.html').then((told) => told.status)") == 404
    asked = again.run(
        "Promise.all(['./', 'one.js'].map(async (name) => {"
        " const { headers } = await fetch(name);"
        " return [headers.get('Content-Type'), headers.get('Content-Security-Policy')]; }))"
    )
    assert asked == [
        ["text/html; charset=utf-8", try_it.policy()],
        ["text/javascript", try_it.policy()],
    ]
    # The page is kept anew; one.js was never asked for again.
    paths = [path for path, _ in host.sent[sent:] if path not in ("/try/sw.js", "/try/files.js")]
    assert paths == ["/try/", "/try/more.html"]
    again.call("Page.close")


def test_a_new_version_is_taken_though_browsers_keep_files(browser: Chromium, host: Host) -> None:
    page = visit(browser, host)
    page.run(KEEP)
    publish(host.folder, "second")
    assert page.run(UPDATE) == "installed"
    page.call("Page.close")
    later = visit(browser, host)
    if seen(later) == ["first", "first"]:  # the last tab of the old version was still closing
        later.call("Page.close")
        later = visit(browser, host)
    assert seen(later) == ["second", "second"]
    later.call("Page.close")
