"""One search over many processes: every state belongs to one shard, levels go on together, and a
store keeps what is found.

`distribute` begins a search or goes on with one, `spread` is the driver, `working` what executors
do, `store` keeps blocks, `filesystem` opens URIs, `replica` an executor's tables, `owned` its
states.

Executors hold numbers; the driver holds the model. States are dealt to shards by a hash of the
numbers of their values, which does not change when fields grow. A level is one Spark job without a
shuffle. An executor needs a `Shape` (which tables read which places) and updates (rows, guards,
counts of values); no rule, no value and no code of the model leaves the driver. Where a row is
missing, the task returns an item (a state, and a table or predicates); the driver completes the
items in its own log with the same kernels. A task changes only its own cache and files with names
of their own, so it may be repeated, run twice at once or lost. The rows that a task asked for are
forgotten when the next task begins, because its answer may have been lost.
"""
