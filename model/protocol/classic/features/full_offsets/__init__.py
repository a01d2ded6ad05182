"""A feature of the classic group: what the coordinator keeps of offsets, in full (protocol.md 1.10,
1.15, 2.6; KIP-211, KIP-447, KIP-496): commits from outside, transactions, expiry, and what an
administrator does to offsets and groups.

`kept` has the values, `commits` what the coordinator answers to members, `transactions` how a
producer's transaction ends, `admin` what comes from outside the group, `members` the application
with its reset policy and its transactions; `feature.keeping` puts the parts together.

Whether the end of a transaction replaces the committed offset depends on which record is behind
which. So records have a rank, which counts only while a transaction is open and begins anew with
the first one; states stay few.
"""
