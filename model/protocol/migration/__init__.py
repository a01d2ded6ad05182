"""Online migration of a group between the classic protocol and KIP-848 (KIP-848, "Migration").

The group is a consumer group with the same rules (`consumer`), in which members may also use the
classic protocol (`classic_requests`), and which becomes a classic group and comes back
(`conversions`). The rounds of a classic group go step by step (`rounds`, `round_walks`). Its
requests come from members (`classic_member`, `round_members`), or `anybody` sends every request
that some client could send.
"""
