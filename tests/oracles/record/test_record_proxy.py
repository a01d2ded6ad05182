"""A proxy hands on every byte, and closes a connection on which none was sent for a while."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from groupcheck.oracles.record.proxy import Proxy

HOST = "127.0.0.1"


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    while data := peer.recv(1000):
                        peer.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_bytes_go_both_ways_and_silence_ends_the_connection(echo: int):
    with Proxy(idle_s=0.3) as proxy:
        proxy.target = echo
        with socket.create_connection((HOST, proxy.port), 10) as client:
            began = time.monotonic()
            for word in (b"one", b"two", b"three"):
                time.sleep(0.15)
                client.sendall(word)
                assert client.recv(1000) == word
            assert client.recv(1000) == b""
            assert time.monotonic() - began >= 3 * 0.15 + 0.3
            assert [port for _, port in proxy.cuts] == [client.getsockname()[1]]


def test_a_connection_that_one_side_closes_was_not_cut(echo: int):
    with Proxy(idle_s=30.0) as proxy:
        proxy.target = echo
        with socket.create_connection((HOST, proxy.port), 10) as client:
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1000) == b""
        assert proxy.cuts == []


def test_without_a_broker_a_client_is_turned_away():
    with Proxy(idle_s=30.0) as proxy, socket.create_server((HOST, 0)) as taken:
        proxy.target = taken.getsockname()[1]
        taken.close()
        with socket.create_connection((HOST, proxy.port), 10) as client:
            assert client.recv(1000) == b""
