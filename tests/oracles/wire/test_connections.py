"""Connections to brokers that say anything: each wait is bounded, each answer read or refused, and
no two members share a connection.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.wire.connections import (
    LARGEST,
    Closed,
    Connections,
    Unreadable,
    announced,
    host_and_port,
)
from groupcheck.oracles.wire.security import LoginError, Scram, Security
from groupcheck.oracles.wire.sockets import free_ports
from groupcheck.traces.messages.apis import api

HEARTBEAT = api("Heartbeat")
Reply = Callable[[int, bytes], bytes | None]  # (number of the connection, request) -> bytes


LOCALHOST = Path(__file__).with_name("localhost.pem")  # a certificate, and its key


@contextmanager
def peer(reply: Reply, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that answers each request with these bytes; None closes the connection."""

    def serve(number: int, plain: socket.socket) -> None:
        connection = tls.wrap_socket(plain, server_side=True) if tls else plain
        with connection:
            while head := connection.recv(4):
                (size,) = struct.unpack(">i", head)
                said = reply(number, connection.recv(size))
                if said is None:
                    return
                connection.sendall(said)

    def accept() -> None:
        for number in range(100):
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(number, connection), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def framed(request: bytes, body: bytes) -> bytes:
    """An answer to the request."""
    return struct.pack(">i", 4 + len(body)) + request[4:8] + body


def asked(address: str, whose: int = -1) -> object:
    connections = Connections(address)
    number = connections.send(HEARTBEAT, 0, {"groupId": "g"}, whose=whose)
    answer = connections.gather(5.0, number).get(number)
    connections.close()
    return answer


def test_an_answer_comes_as_its_fields():
    with peer(lambda number, request: framed(request, b"\0\x19")) as address:
        assert asked(address) == {"errorCode": 25}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (lambda r: framed(r, b"\0"), ""),
        (lambda r: framed(r, b"\0\0\0"), "too many"),
        (lambda r: struct.pack(">i", LARGEST + 1), f"an answer of {LARGEST + 1} bytes"),
        (lambda r: struct.pack(">i", -1), "an answer of -1 bytes"),
        (lambda r: struct.pack(">iih", 6, 99, 0), "an answer to request 99, where 1 waits"),
        (lambda r: framed(r, b"\0\0") + b"more", "4 bytes behind the answer"),
    ],
)
def test_bytes_that_are_no_answer_are_said_to_be_so(said: Callable[[bytes], bytes], why: str):
    with peer(lambda number, request: said(request)) as address:
        answer = asked(address)
    assert isinstance(answer, Unreadable) and why in answer.why


def test_a_connection_that_is_closed_stands_in_for_the_answer():
    with peer(lambda number, request: None) as address:
        answer = asked(address)
    assert answer == Closed()
    (port,) = free_ports(1)
    answer = asked(f"127.0.0.1:{port}")
    assert isinstance(answer, Closed) and answer.why.startswith("no connection")


def test_silence_ends_with_the_wait():
    with peer(lambda number, request: b"") as address:
        connections = Connections(address)
        number = connections.send(HEARTBEAT, 0, {"groupId": "g"})
        assert connections.gather(0.05, number) == {} and connections.waiting == 1
        connections.close()
        assert connections.waiting == 0


def test_each_member_has_connections_of_its_own():
    came: list[tuple[int, bytes]] = []

    def reply(number: int, request: bytes) -> bytes:
        came.append((number, request[10 : 10 + 12]))
        return b"" if b"waits" in request else framed(request, b"\0\0")

    with peer(reply) as address:
        connections = Connections(address)

        def ask(whose: int, group: str) -> None:
            number = connections.send(HEARTBEAT, 0, {"groupId": group}, whose=whose)
            connections.gather(5.0 if group == "g" else 0.05, number)

        for whose, group in ((0, "g"), (1, "g"), (0, "g"), (0, "waits"), (0, "g"), (1, "g")):
            ask(whose, group)
        connections.close()
    assert [number for number, _ in came] == [0, 1, 0, 0, 2, 1]
    assert {name for number, name in came if number == 1} == {b"groupcheck-1"}


def test_a_connection_that_the_broker_has_closed_meanwhile_is_made_anew():
    served = iter((True, False, True))

    def reply(number: int, request: bytes) -> bytes | None:
        return framed(request, b"\0\0") if next(served) else None

    with peer(reply) as address:
        connections = Connections(address)
        found = []
        for _ in range(3):
            number = connections.send(HEARTBEAT, 0, {"groupId": "g"})
            found.append(connections.gather(5.0, number)[number])
        connections.close()
    assert found == [{"errorCode": 0}, Closed(), {"errorCode": 0}]


def test_what_tls_sends_by_itself_is_no_end_of_the_connection(monkeypatch: pytest.MonkeyPatch):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(LOCALHOST)
    connect = Security.connection

    def until_tickets_come(self: Security, *where: Any) -> socket.socket:
        connection = connect(self, *where)
        assert isinstance(connection, ssl.SSLSocket) and connection.version() == "TLSv1.3"
        assert select.select([connection], [], [], 10.0)[0]
        return connection

    monkeypatch.setattr(Security, "connection", until_tickets_come)
    with peer(lambda number, request: framed(request, b"\0\0"), server) as address:
        connections = Connections(address, Security(tls=True, trusted=LOCALHOST))
        for _ in range(2):
            number = connections.send(HEARTBEAT, 0, {"groupId": "g"})
            assert connections.gather(5.0, number) == {number: {"errorCode": 0}}
        connections.close()


@pytest.mark.parametrize(
    ("address", "parts"),
    [("localhost:9092", ("localhost", 9092)), ("[::1]:1", ("::1", 1)), ("h.example:1", None)],
)
def test_an_address_has_a_host_and_a_port(address: str, parts: tuple[str, int] | None):
    assert host_and_port(address) == (parts or ("h.example", 1))


@pytest.mark.parametrize("address", ["localhost", ":9092", "h:", "h:x", "h:70000", "h:-1", ""])
def test_anything_else_is_no_address(address: str):
    with pytest.raises(UserError, match="is not HOST:PORT"):
        host_and_port(address)


def test_a_broker_that_does_not_answer_is_named_with_what_to_do():
    with peer(lambda number, request: b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        connections = Connections(address)
        with pytest.raises(UserError, match="does not answer ApiVersions: an answer of"):
            announced(connections, 5.0)
        connections.close()


# -- logging in; the messages are those of RFC 7677, section 3

NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_login_with_scram_is_that_of_the_rfc():
    scram = Scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert scram.first == b"n,,n=user,r=" + NONCE.encode()
    assert scram.proof(FIRST) == FINAL
    scram.check(SIGNATURE)
    with pytest.raises(LoginError, match="does not prove"):
        scram.check(b"v=AAAA")


@pytest.mark.parametrize(
    "first",
    [b"", b"\xff", b"r=x", FIRST.replace(b"rOpr", b"xxxx"), FIRST.replace(b"4096", b"999999999")],
)
def test_a_broker_that_answers_otherwise_does_not_get_the_proof(first: bytes):
    with pytest.raises(LoginError):
        Scram("SCRAM-SHA-256", "user", "pencil", NONCE).proof(first)


def test_the_password_is_sent_as_plain_says_and_a_refusal_is_said():
    came: list[bytes] = []

    def reply(number: int, request: bytes) -> bytes:
        came.append(request)
        if len(came) == 1:
            return framed(request, b"\0\0" + struct.pack(">i", 1) + b"\0\x05PLAIN")
        return framed(request, b"\0\x3a" + b"\0\x02no" + struct.pack(">i", 0))

    with peer(reply) as address:
        security = Security(mechanism="PLAIN", user="me", password="secret")
        with pytest.raises(LoginError, match="does not let the user in: no"):
            security.connection(*host_and_port(address), 5.0)
    assert came[1].endswith(b"\0me\0secret")
