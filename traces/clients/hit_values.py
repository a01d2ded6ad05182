"""The values in a statement: what a layout prints behind the message is cut off, the coordinator's
broker is told, and what a line says twice is said once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupcheck.traces.clients.frames import message_end
from groupcheck.traces.clients.sentences import Hit

_NODE = re.compile(r"\(id: (\d{1,10})\b|\bnodeId=(\d{1,10})\b")
_LAST_NODE = 2**31 - 1
"""The connection to a coordinator has this number, less the broker's."""
_BROKERS = 1_000_000
"""So many numbers of brokers, at most."""


def fields_of_hit(hit: Hit) -> Mapping[str, Any]:
    """The fields of a hit, ready for a statement."""
    fields = dict(hit.fields)
    last = hit.sentence.template.last
    if last is not None:
        fields[last] = message_end(str(fields[last]))
    for name, kind in hit.sentence.template.kinds.items():
        if kind == "partitions":
            fields[name] = fields[name].strip(" []")
    if "coordinator" in fields and (node := _NODE.search(str(fields["coordinator"]))):
        number = int(node[1] or node[2])
        fields["broker"] = _LAST_NODE - number if number > _LAST_NODE - _BROKERS else number
    return fields


def merge_hits(hits: list[Hit]) -> list[Hit]:
    """The hits of one line, in order; of those that say the same kind of thing and do not
    contradict each other only the first, with the fields of all.
    """
    if len(hits) < 2:
        return hits
    out: list[Hit] = []
    for hit in hits:
        for i, other in enumerate(out):
            same = hit.sentence.kind == other.sentence.kind
            if same and all(other.fields.get(k, v) == v for k, v in hit.fields.items()):
                out[i] = evolve(other, fields={**hit.fields, **other.fields})
                break
        else:
            out.append(hit)
    return out
