"""The type of a line of the log that `groupcheck coordinator --log` writes."""

from __future__ import annotations

from typing import Annotated, Any

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count
from groupcheck.oracles.wire.exchange_log import What


@frozen(kw_only=True)
class ServedLine:
    """One line of `groupcheck coordinator --log FILE`: a connection opens or ends, a request comes,
    an answer goes.
    """

    at_s: Annotated[Amount, "Seconds since the server began."]
    what: Annotated[
        What,
        "`cut`: the server broke the connection; `hung_up`: the client did; `refused`: it sent what"
        " is no request, or none that is offered, and was cut.",
    ]
    node: Annotated[Count, "The node, from 1 on."]
    connection: Annotated[Count, "The number of the connection, from 1 on."]
    number: Annotated[Count, "The number of the request, which its answer has too; 0: of none."]
    api: Annotated[str, "Kafka's name of the API, such as JoinGroup; empty: of none."]
    version: Annotated[Count, "The version of the request."]
    client: Annotated[str, "The client id in the request."]
    values: Annotated[
        dict[str, Any],
        "The fields of the request or the answer, with Kafka's names; bytes are in hexadecimal. A"
        " field that is missing has its default.",
    ]
    why: Annotated[str, "Why it was cut or refused."]
