"""Which steps of the classic group happen in the end, and which nobody has to take.

Each of these rules is weakly fair for each member by itself: where it stays possible from some
moment on, it happens.

- Members poll and heartbeat. A consumer is obliged to poll (`max.poll.interval.ms`), and its
  heartbeat thread runs by itself. So it joins, syncs, takes over its share, fetches its offset,
  processes and commits. An application that stops polling is the fault `hang`. The heartbeat thread
  of a static member whose application hangs falls silent in the end.
- Messages arrive: TCP delivers them or ends the connection, and a member that gives up a request
  connects again. A late request arrives as well, or it would not be late but lost.
- The coordinator reads the next request of a connection when it has answered the last.
- An append commits, that of a static member's new id as well, unless it fails: the coordinator
  waits for either (`offsets.commit.timeout.ms` bounds it).
- A coordinator that loads the group has loaded it in the end, and a former one learns that it is
  no longer the coordinator. From then on whoever looks for the coordinator finds it.
- The initial delay ends, and timers fire that wait for nobody or for somebody who will never come.

Not fair, so a run may do without:

- every fault: a crash, a close, a lost message, a timer that fires although its member lives;
- the start of a process that is down: nobody has to start it.
"""

from __future__ import annotations

from groupcheck.model.engine import Fairness, weak

FAIR: tuple[Fairness, ...] = (
    weak("send_join"),
    weak("send_sync"),
    weak("join_complete"),
    weak("fetch_offset"),
    weak("process_record"),
    weak("send_commit"),
    weak("commit_throws"),
    weak("leave"),
    weak("send_heartbeat"),
    weak("request_timeout"),
    weak("read_next"),
    weak("late_request"),
    weak("append_committed"),
    weak("takeover_committed"),
    weak("load_group"),
    weak("former_learns"),
    weak("initial_delay"),
    weak("rebalance_timeout:nobody"),
    weak("rebalance_timeout:rejected"),
    weak("nobody_will_join"),
    weak("nobody_will_sync"),
    weak("session_over"),
    weak("newcomer_gone"),
    weak("poll_over"),
)
