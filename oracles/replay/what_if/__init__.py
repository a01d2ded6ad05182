"""`groupcheck replay LOG --what-if CHANGE`: what happened to the processes of a logged group, under
another protocol or setting.

`outside` reads from the log what happened to the processes themselves, `schedule` makes a course
for the simulator from it, `runs` simulates and tells which event began which round, `answer` runs
what was and what might have been side by side. `change` reads what is asked, `accepted_changes`
refuses groups that are not simulated, `merged_rounds` tells which rounds serve an event, `stopped`
for how long partitions have no reader. `document`, `view` and `plot` show the answer.

Both sides see the same course and the same random numbers. One round may serve several events, and
which of them began it is chance, so a rebalance counts as avoided only if no round serves its
events. What the baseline does not reproduce is not judged: a claim about a rebalance that the
simulation cannot repeat would be worth nothing.
"""
