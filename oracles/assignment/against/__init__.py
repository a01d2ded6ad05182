"""`groupcheck assign --against`: how other people's assignors break their promises.

Where nobody promises an optimum, an assignor is compared with Kafka's own: `sticks` is broken only
if it loses more claims than Kafka's own in every variant of the group, and more than the optimum.
`fair shares` and `as even` are bounds of the same kind. A finding only informs if Kafka's own
assignor breaks the promise, too.
"""
