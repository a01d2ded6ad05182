"""Many checks from one file: `groupcheck sweep` (docs/sweep.md).

`reading` and `growing` make cells, `running` checks one, `here` and `on_spark` check all, `folder`
keeps results, `forecast` estimates, `rows` and `page` show.
"""
