"""Consumer groups of KIP-848 under the clock.

`group` cuts a step where a message travels: with an explicit wire, each message is a rule of the
model, so a run is a sequence of whole steps. `coordinator` and `members` are the two sides,
`drives` says when each rule fires.
"""
