"""One search over many processes: every state belongs to one shard, levels go on together, and a
store keeps what is found.

`distribute` begins a search or goes on with one, `spread` is the driver, `working` what executors
do, `store` keeps blocks, `filesystem` opens URIs, `replica` an executor's tables, `owned` its
states.
"""
