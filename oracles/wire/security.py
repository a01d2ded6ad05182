"""How a connection to a broker is secured: TLS, and SASL with PLAIN or SCRAM (RFC 5802, RFC 7677,
KIP-12, KIP-84).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine import UserError
from groupcheck.traces.messages.apis import Api, api, request_bytes, response_values
from groupcheck.traces.messages.message_bytes import Malformed

LARGEST = 1 << 16  # of an answer while somebody logs in
FEWEST, MOST = 1, 1 << 20  # iterations that a broker may ask for
CLIENT = "groupcheck"


@frozen
class Security:
    """What a connection needs before the first request."""

    tls: bool = False
    # Certificates that are trusted in place of the system's.
    trusted: Path | None = None
    # Are certificate and name of the broker looked at?
    verified: bool = True
    # PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; empty: nobody logs in.
    mechanism: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    def connection(self, host: str, port: int, patience_s: float) -> socket.socket:
        """A connection over which requests may be sent. Raises `OSError` if there is none, and
        `Malformed` for what is no answer of Kafka's.
        """
        plain = socket.create_connection((host, port), patience_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = plain
            if self.tls:
                connection = _context(self).wrap_socket(plain, server_hostname=host)
            if self.mechanism:
                _log_in(connection, self)
        except BaseException:
            plain.close()
            raise
        return connection


@cache
def _context(security: Security) -> ssl.SSLContext:
    """Made once, because the certificates are read from files. Connections may share it."""
    try:
        context = ssl.create_default_context(cafile=security.trusted and str(security.trusted))
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"{security.trusted} holds no certificates: {error}", where="--ca", do="give a PEM file"
        ) from None
    if not security.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


PLAINTEXT = Security()


class LoginError(OSError):
    """The broker does not let the user in, or does not know the password itself."""


def _log_in(connection: socket.socket, security: Security) -> None:
    answer = _ask(connection, api("SaslHandshake"), 1, {"mechanism": security.mechanism})
    if answer["errorCode"]:
        offers = ", ".join(map(str, answer["mechanisms"])) or "nothing"
        raise LoginError(f"the broker does not offer {security.mechanism}, but {offers}")
    if security.mechanism == "PLAIN":
        _token(connection, f"\0{security.user}\0{security.password}".encode())
        return
    scram = Scram(security.mechanism, security.user, security.password)
    server_first = _token(connection, scram.first)
    server_final = _token(connection, scram.proof(server_first))
    scram.check(server_final)


def _token(connection: socket.socket, token: bytes) -> bytes:
    answer = _ask(connection, api("SaslAuthenticate"), 0, {"authBytes": token})
    if answer["errorCode"]:
        raise LoginError(f"the broker does not let the user in: {answer['errorMessage']}")
    return bytes(answer["authBytes"])


def _ask(
    connection: socket.socket, api: Api, version: int, values: Mapping[str, Any]
) -> dict[str, Any]:
    connection.sendall(request_bytes(api, version, 0, CLIENT, values))
    (size,) = struct.unpack(">i", _exactly(connection, 4))
    if not 4 <= size <= LARGEST:
        raise Malformed(f"an answer of {size} bytes to {api.name}")
    return response_values(api, version, _exactly(connection, size)[4:])


def _exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        chunk = connection.recv(count - len(read))
        if not chunk:
            raise OSError("the connection is closed while somebody logs in")
        read += chunk
    return read


class Scram:
    """One login with SCRAM: the client's first message, its proof, and the check of the broker's
    signature. The names and steps are those of RFC 5802.
    """

    def __init__(self, mechanism: str, user: str, password: str, nonce: str = "") -> None:
        self._hash = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self.first = f"n,,{self._bare}".encode()
        self._signature = b""

    def proof(self, server_first: bytes) -> bytes:
        """The client's final message. Raises `LoginError` for an answer that is none."""
        said = _attributes(server_first)
        try:
            nonce, salt, count = said["r"], base64.b64decode(said["s"]), int(said["i"])
        except (KeyError, ValueError):
            raise LoginError("the broker's answer is none of SCRAM") from None
        if not nonce.startswith(self._nonce) or not FEWEST <= count <= MOST:
            raise LoginError("the broker answers to another login, or asks for too many rounds")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, count)
        client_key = self._mac(salted, b"Client Key")
        without_proof = f"c=biws,r={nonce}"
        auth = ",".join([self._bare, server_first.decode(), without_proof]).encode()
        stored = hashlib.new(self._hash, client_key).digest()
        signed = self._mac(stored, auth)
        proof = bytes(a ^ b for a, b in zip(client_key, signed))
        self._signature = self._mac(self._mac(salted, b"Server Key"), auth)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Raises `LoginError` if the broker does not know the password, either."""
        told = _attributes(server_final).get("v", "")
        if not hmac.compare_digest(told.encode(), base64.b64encode(self._signature)):
            raise LoginError("the broker does not prove that it knows the password")

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise LoginError("the broker's answer is none of SCRAM") from None
    return dict(part.split("=", 1) for part in parts if "=" in part)
