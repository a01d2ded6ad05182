"""The server of Kafka's messages: order, bounds, and peers that do what no client does."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import Factory, define

from groupcheck.oracles.wire import loop
from groupcheck.oracles.wire.serving import (
    LOOPBACK,
    Arrival,
    Bounds,
    LogEntry,
    Server,
    in_background,
)
from groupcheck.traces.messages.apis import api, request_bytes, response_values

HEARTBEAT, VERSIONS = api("Heartbeat"), api("ApiVersions")
OFFERED = {HEARTBEAT.key: (0, 4), VERSIONS.key: (0, 3)}
PATIENCE_S = 10.0


@define(eq=False)
class Handler:
    """Answers when it is told to; each request says in its member id what is to be done."""

    arrivals: list[Arrival] = Factory(list)
    held: list[Arrival] = Factory(list)

    def arrived(self, request: Arrival) -> None:
        self.arrivals.append(request)

    def handle(self, request: Arrival) -> None:
        what = request.values.get("memberId", "")
        if what == "held":
            self.held.append(request)
        elif what == "cut":
            request.cut("as told")
        else:
            request.answer({"errorCode": 7})


class Peer:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((LOOPBACK, port), PATIENCE_S)

    def send(self, *members: str, first: int = 1) -> Peer:
        some = enumerate(members, first)
        self.socket.sendall(b"".join(request(number, member) for number, member in some))
        return self

    def receive(self) -> tuple[int, int] | None:
        """The number and the error of the next answer; None at the end."""
        head = self._read(8)
        if not head:
            return None
        size, number = struct.unpack(">ii", head)
        return number, response_values(HEARTBEAT, 4, self._read(size - 4))["errorCode"]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                chunk = self.socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return b""
            data += chunk
        return data


def log_of(server: Server) -> list[LogEntry]:
    return server.call(lambda: list(server.log))


def request(number: int, member: str) -> bytes:
    return request_bytes(HEARTBEAT, 4, number, "test", {"groupId": "g", "memberId": member})


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
def serve(handler: Handler) -> Iterator[Callable[..., Server]]:
    """Starts servers in threads."""
    running = []

    def start(**options: object) -> Server:
        context = in_background(Server(handler, OFFERED, **options))  # type: ignore[arg-type]
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)


def test_requests_are_noted_when_they_arrive_and_answered_in_their_order(serve, handler):
    server = serve()
    peer = Peer(server.ports[1]).send("held", "next", "last")
    other = Peer(server.ports[1]).send("next")
    assert other.receive() == (1, 7)
    # The first one holds up the others, which have arrived nevertheless.
    assert [one.values["memberId"] for one in handler.arrivals[:3]] == ["held", "next", "last"]
    server.call(lambda: handler.held.pop().answer({"errorCode": 5}))
    assert [peer.receive() for _ in range(3)] == [(1, 5), (2, 7), (3, 7)]
    assert [noted.what for noted in log_of(server) if noted.connection == 1] == [
        "opened",
        *["request"] * 3,
        *["answer"] * 3,
    ]


def test_what_a_peer_sent_before_it_hung_up_is_handled(serve, handler):
    server = serve()
    peer = Peer(server.ports[1]).send("held", "next")
    peer.socket.shutdown(socket.SHUT_WR)
    Peer(server.ports[1]).send("next").receive()
    server.call(lambda: handler.held[0].answer({"errorCode": 5}))
    assert [peer.receive() for _ in range(3)] == [(1, 5), (2, 7), None]


def test_an_answer_that_is_given_before_its_turn_is_sent_when_it_is(serve, handler):
    server = serve()
    peer = Peer(server.ports[1]).send("held", "never asked", "next")
    Peer(server.ports[1]).send("next").receive()
    behind = next(one for one in handler.arrivals if one.values["memberId"] == "never asked")
    server.call(lambda: behind.answer({"errorCode": 9}))
    server.call(lambda: handler.held[0].answer({"errorCode": 5}))
    assert [peer.receive() for _ in range(3)] == [(1, 5), (2, 9), (3, 7)]


def test_a_request_whose_connection_is_gone_is_lost_and_its_answer_does_no_harm(serve, handler):
    server = serve()
    peer = Peer(server.ports[1]).send("held")
    Peer(server.ports[1]).send("next").receive()
    server.call(lambda: server.shut(1))
    assert peer.receive() is None
    assert handler.held[0].lost
    server.call(lambda: handler.held[0].answer({"errorCode": 5}))
    server.call(lambda: server.open(1))
    assert Peer(server.ports[1]).send("next").receive() == (1, 7)


def test_a_cut_breaks_one_connection_with_all_that_waits_on_it(serve):
    server = serve()
    other = Peer(server.ports[1])
    assert Peer(server.ports[1]).send("cut", "next").receive() is None
    assert other.send("next").receive() == (1, 7)
    assert [noted.why for noted in log_of(server) if noted.what == "cut"] == ["as told"]


HOSTILE = {
    "a page of the web": b"GET / HTTP/1.0\r\n\r\n",
    "a length below the least": struct.pack(">i", 7) + bytes(7),
    "a negative length": struct.pack(">i", -1),
    "a length beyond the bound": struct.pack(">i", 1 << 20),
    "an API that is not offered": struct.pack(">ihhi", 8, 3, 0, 1),
    "a version that is not offered": struct.pack(">ihhi", 8, 12, 99, 1),
    "a body that ends early": struct.pack(">i", 20) + request(1, "next")[4:24],
    "a length inside that is too long": struct.pack(">ihhih", 10, 12, 0, 1, 32_000),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_bytes_that_are_no_request_end_only_their_connection(serve, raw):
    server = serve(bounds=Bounds(request_bytes=1 << 16))
    other = Peer(server.ports[1]).send("held")
    peer = Peer(server.ports[1])
    peer.socket.sendall(raw)
    assert peer.receive() is None
    assert [noted.connection for noted in log_of(server) if noted.what == "refused"] == [2]
    server.call(lambda: server._handler.held[0].answer({"errorCode": 5}))
    assert other.receive() == (1, 5)


def test_an_unknown_version_of_api_versions_reaches_the_handler(serve, handler):
    server = serve()
    peer = Peer(server.ports[1])
    peer.socket.sendall(struct.pack(">ihhi", 8, VERSIONS.key, 99, 1))
    peer.send("next", first=2)
    peer._read(4)
    assert handler.arrivals[0].unknown_version and handler.arrivals[0].api is VERSIONS


def test_connections_waiting_requests_and_the_log_are_bounded(serve, handler):
    bounds = Bounds(connections=2, waiting=3, noted=10)
    server = serve(bounds=bounds)
    waiting, other = Peer(server.ports[1]), Peer(server.ports[1])
    other.send("next").receive()
    assert Peer(server.ports[1]).receive() is None
    waiting.send("held", *["next"] * 3)
    assert waiting.receive() is None
    for number in range(20):
        assert other.send("next", first=number).receive() == (number, 7)
    log = log_of(server)
    assert len(log) == 10 and server.log.forgotten > 20
    assert server.requests == 24


def test_a_peer_that_reads_nothing_is_cut_before_its_answers_fill_the_memory(serve, handler):
    server = serve(bounds=Bounds(kept_bytes=1 << 20))
    peer, other = Peer(server.ports[1]).send("held"), Peer(server.ports[1])
    other.send("next").receive()
    server.call(lambda: handler.held[0].answer_bytes(bytes(8 << 20)))
    assert other.send("next").receive() == (1, 7)
    assert [noted.why for noted in log_of(server) if noted.what == "refused"] == [
        "too many bytes in memory"
    ]
    assert handler.held[0].lost
    peer.socket.close()


def test_nodes_have_ports_of_their_own_and_a_port_that_is_taken_is_an_error(serve, handler):
    server = serve(nodes=3)
    assert len(set(server.ports.values())) == 3
    assert Peer(server.ports[3]).send("next").receive() == (1, 7)
    assert handler.arrivals[0].node == 3
    with pytest.raises(Exception, match="cannot listen"):
        Server(handler, OFFERED, port=server.ports[2])


def test_what_the_handler_raises_is_raised_at_the_end(handler):
    def fails() -> None:
        raise ValueError("a bug of ours")

    with (
        pytest.raises(ValueError, match="a bug of ours"),
        in_background(Server(handler, OFFERED)) as server,
    ):
        server.post(fails)
        with pytest.raises(RuntimeError, match="has ended"):
            server.call(lambda: None)


def test_who_asks_a_server_that_ends_meanwhile_is_told_so(handler, monkeypatch):
    monkeypatch.setattr(loop, "IDLE_S", 0.01)
    monkeypatch.setattr(loop, "STOP_S", 0.0)
    busy, done = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as others:
        with in_background(Server(handler, OFFERED)) as server:
            server.post(lambda: (busy.set(), done.wait(PATIENCE_S)))
            assert busy.wait(PATIENCE_S)
            asked = others.submit(server.call, lambda: None)
            while server._posted.empty():
                pass
        done.set()
        with pytest.raises(RuntimeError, match="has ended"):
            asked.result(PATIENCE_S)
