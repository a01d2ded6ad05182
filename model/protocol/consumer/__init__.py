"""Consumer groups of KIP-848: the coordinator plans, and members report with heartbeats.

`memory` is what the coordinator remembers, with epochs that are relative to each other, so that
nothing bounds a run; `reconciliation` takes one member towards its target; `heartbeats`, `targets`
and `timers` are the coordinator's rules, `scope` its readings, `releases` what differs between
versions of Kafka. `commits` and `offsets` are the
feature of that name. `client` is a simple member, and `client_faults` its faults.
"""
