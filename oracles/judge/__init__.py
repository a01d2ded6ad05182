"""`groupcheck judge`: other people's brokers and clients, over the wire. `following` keeps the
model's states that fit what was seen, for both sides; `broker` and `client` are the two sides;
`report` says what came out. `live` is `conform --live`, which follows a broker in the same way.
"""
