"""`make browser-docs`: the site that `make docs` builds, looked at in a headless Chromium. It is
read from its folder, as offline. Pictures of the pages go to build/browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium, Page

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
PICTURES = ROOT / "build" / "browser"
PAGES = ("index", "howto/replay", "reference/commands", "tutorials/incident", "faq")
OTHERS = (
    "performance.getEntriesByType('resource').map((r) => r.name)"
    ".filter((name) => !/^(file|data|blob):/.test(name))"
)
# Lines of at most 100 characters, as commands print them; a page may quote longer ones.
CUT_OFF = (
    "[...document.querySelectorAll('pre > code')].filter((block) =>"
    " block.scrollWidth > block.clientWidth + 1"
    " && block.textContent.split('\\n').every((line) => line.length <= 100)).length"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_its_blocks_fit(
    browser: Chromium, name: str
) -> None:
    page = browser.open(SITE / f"{name}.html", width=1280, height=1000)
    page.picture(PICTURES / f"site-{name.replace('/', '-')}.png")
    assert page.run(OTHERS) == []
    assert page.run("document.querySelectorAll('pre > code').length") > 0 or name == "faq"
    assert page.run(CUT_OFF) == 0
    assert page.errors == []
    phone = browser.open(SITE / f"{name}.html", width=390, height=844, mobile=True)
    phone.picture(PICTURES / f"site-{name.replace('/', '-')}-phone.png")
    assert phone.run("document.documentElement.scrollWidth") == 390
    assert phone.errors == []


@pytest.fixture(scope="module")
def start(browser: Chromium) -> Page:
    return browser.open(SITE / "index.html", width=1280, height=1000)


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("symmetry", "faq.html"),
        ("what if", "what_if.html"),
        ("own invariant", "howto/invariant.html"),
        ("KIP-848", "tutorials/your_group_under_kip_848.html"),
        ("symetry", "explanation/engine.html"),
        ("asignor", "howto/assignor.html"),
    ],
)
def test_the_search_finds_a_page_among_the_first_also_with_a_letter_wrong(
    start: Page, typed: str, page: str
) -> None:
    found = start.run(
        f"""(async () => {{
            const field = document.querySelector('.md-search__input');
            const items = document.querySelector('.md-search-result__list');
            field.focus();
            field.value = {typed!r};
            items.replaceChildren();
            field.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}}));
            for (let k = 0; k < 200 && !items.children.length; k += 1) {{
                await new Promise((done) => setTimeout(done, 50));
            }}
            const links = items.querySelectorAll('.md-search-result__item > a:first-child');
            return [...links].slice(0, 3).map((link) => link.href);
        }})()"""
    )
    assert any(f"/{page}?" in link for link in found), found
    assert start.errors == []
