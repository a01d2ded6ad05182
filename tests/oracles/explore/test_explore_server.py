"""Who the server of `explore` answers, and what it refuses."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from groupcheck import UserError
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.page import page
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.explore.server import LARGEST, Server, names_of
from groupcheck.oracles.explore.walk import Walk

BUG = "keeps_partitions_when_lost"
QUESTION = {"ask": "state", "key": "gc1-0"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Desk(Walk(subject("classic", mutation=BUG)))) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def asked(
    server: Server, method: str, path: str, question: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    usual = {"Host": server.name, "Origin": f"http://{server.name}"}
    usual |= {"Content-Type": "application/json"} if question is not None else {}
    told = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
    body = question if isinstance(question, bytes | None) else json.dumps(question).encode()
    connection.request(method, path, body, {n: v for n, v in told.items() if v})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.headers), content


def test_the_page_and_an_answer(server: Server) -> None:
    status, headers, content = asked(server, "GET", f"/{server.token}/", Origin="")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert b"keeps_partitions_when_lost" in content
    status, _, content = asked(server, "POST", f"/{server.token}/ask", QUESTION)
    assert status == 200 and json.loads(content)["key"] == "gc1-0"


def test_each_run_has_an_address_of_its_own_on_this_machine_alone(server: Server) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{24}/", server.address)
    with Server(server.desk) as other:
        assert other.token != server.token
        assert other.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("path", ["/", "/ask", "/{}", "/{}/other", "/{}x/", "/{}/ask"])
def test_whoever_does_not_know_the_address_gets_nothing(server: Server, path: str) -> None:
    assert asked(server, "GET", path.format(server.token))[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", " "])
def test_another_name_of_this_machine_leads_nowhere(server: Server, host: str) -> None:
    assert asked(server, "GET", f"/{server.token}/", Host=host)[0] == 421
    assert asked(server, "POST", f"/{server.token}/ask", QUESTION, Host=host)[0] == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_question_from_elsewhere_is_refused(server: Server, headers: dict[str, str]) -> None:
    path = f"/{server.token}/ask"
    assert asked(server, "POST", path, QUESTION, **headers)[0] == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"[]", 400), (b"{", 400), (b"[" * 50_000, 400), (b" " * (LARGEST + 1), 413)],
    ids=["empty", "list", "cut", "deep", "long"],
)
def test_what_is_no_question_is_refused(server: Server, body: bytes, status: int) -> None:
    assert asked(server, "POST", f"/{server.token}/ask", body)[0] == status


@pytest.mark.parametrize("length", ["0000000001000000000", "9" * 5_000, "-1", "1e3", "\u0661"])
def test_a_length_that_is_no_small_number_is_refused_unread(server: Server, length: str) -> None:
    told = {"Content-Length": length.encode()}
    assert asked(server, "POST", f"/{server.token}/ask", b"{}", **told)[0] == 413


@pytest.mark.parametrize(
    ("host", "port", "names"),
    [
        ("127.0.0.1", 8080, ["127.0.0.1:8080", "localhost:8080"]),
        ("127.0.0.1", 80, ["127.0.0.1", "localhost"]),
        ("MyHost.Example", 8080, ["myhost.example:8080"]),
        ("MyHost", 80, ["myhost"]),
    ],
)
def test_a_server_knows_its_names_as_browsers_write_them(
    host: str, port: int, names: list[str]
) -> None:
    assert names_of(host, port) == names


def test_a_name_in_capitals_is_answered_by_what_a_browser_makes_of_it(server: Server) -> None:
    with Server(server.desk, "LOCALHOST") as other:
        assert other.address.startswith("http://localhost:")
        thread = threading.Thread(target=other.handle_request)
        thread.start()
        status, _, _ = asked(other, "POST", f"/{other.token}/ask", QUESTION)
        thread.join()
        assert status == 200


def test_one_subject_beside_is_kept_and_not_each_that_was_asked_for() -> None:
    desk = Desk(Walk(subject("consumer", members=1)))
    for name in ("k3=mended", "k3=as_kafka", "k3=mended"):
        desk.answer({"ask": "beside", "key": "gc1-0", "other": name})
    kept = desk._other
    assert kept is not None and kept[0] == "k3=mended"
    desk.answer({"ask": "beside", "key": "gc1-0", "other": "k3=mended"})
    assert desk._other is kept


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ({}, "ask is not a text"),
        ({"ask": "shell", "key": "gc1-0"}, "unknown question 'shell'"),
        ({"ask": "state", "key": "gc1-0.99"}, "the key does not fit at step 1"),
        ({"ask": "state", "key": 1}, "key is not a text"),
        ({"ask": "state", "key": "gc1-0" + ".0" * 9_000}, "key is not a text of up to"),
        ({"ask": "random", "key": "gc1-0", "steps": 10**6, "seed": 0}, "steps is not a whole"),
        ({"ask": "random", "key": "gc1-0", "steps": True, "seed": 0}, "steps is not a whole"),
        ({"ask": "seek", "key": "gc1-0", "wanted": "__import__('os')"}, "can call nothing else"),
        ({"ask": "beside", "key": "gc1-0", "other": "../x.py:y"}, "unknown variant or mutation"),
        ({"ask": "export", "key": "gc1-0", "kind": "../x"}, "unknown kind of export"),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_in_a_sentence(
    server: Server, question: dict[str, Any], what: str
) -> None:
    status, _, content = asked(server, "POST", f"/{server.token}/ask", question)
    assert status == 200 and what in json.loads(content)["error"]


def test_the_command_prints_the_address_and_ends_with_0_at_ctrl_c() -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "groupcheck", "explore", "classic", "--members", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout
    title, address = started.stdout.readline().split(" at ")
    assert title == "classic"
    with urllib.request.urlopen(address.strip(), timeout=20) as answer:
        assert answer.status == 200
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=60)[1] == "groupcheck: Ctrl-C ends it\n"
    assert started.returncode == 0


def test_a_mistake_of_ours_is_told_on_the_page(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: Desk, question: Any) -> dict[str, Any]:
        raise AssertionError("<b>")

    monkeypatch.setattr(Desk, "answer", wrong)
    status, _, content = asked(server, "POST", f"/{server.token}/ask", QUESTION)
    told = json.loads(content)["error"]
    assert status == 200 and told.startswith("a bug in groupcheck itself") and "<b>" in told


def test_a_port_that_is_taken_is_the_user_s_error(server: Server) -> None:
    with pytest.raises(UserError, match="cannot listen"):
        Server(server.desk, port=server.server_address[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_a_page_has_one_address_of_this_machine(server: Server, host: str) -> None:
    with pytest.raises(UserError, match="name one address"):
        Server(server.desk, host)


def test_the_policy_of_the_page_names_its_one_script() -> None:
    first = Desk(Walk(subject("classic"))).first()
    first["title"] = "</script><script>alert(1)</script>"
    text = page(first)
    assert text.count("<script") == 2 and "<script>alert" not in text
    assert re.search(
        r"default-src 'none'; .*script-src 'sha256-[\w+/=]+'; connect-src 'self'", text
    )
