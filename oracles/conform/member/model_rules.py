"""The names of the rules of the group's model that concern a member."""

from __future__ import annotations

from groupcheck.model.protocol.classic import client, client_faults, offsets

SEND_JOIN = client.send_join.name
SEND_SYNC = client.send_sync.name
SEND_COMMIT = client.send_commit.name
SEND_HEARTBEAT = client.send_heartbeat.name
REQUEST_TIMEOUT = client.request_timeout.name
PROCESS_RECORD = offsets.process_record.name
FETCH_OFFSET = offsets.fetch_offset.name
CLOSE = client_faults.close.name
POLL_TIMEOUT = client_faults.poll_timeout.name
LOSE_REQUEST = client_faults.lose_request.name
