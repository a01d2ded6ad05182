"""The model's coordinator of consumer groups (KIP-848) beside Kafka's own: every heartbeat, timer
and fail-over in every memory that they reach, executed in virtual time.

`rows` has the inputs and what the model makes of them, `facts` what both sides are compared by,
`exploring` the search through memories, `comparing` its result, `command` the door.
"""
