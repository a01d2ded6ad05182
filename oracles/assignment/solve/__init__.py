"""An assignment that keeps promises and constraints, or why there is none: HiGHS and z3."""
