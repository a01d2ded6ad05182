"""An assignment that keeps promises and constraints, or why there is none: HiGHS and z3.

Whether an assignment is right is judged without a solver. HiGHS finds an assignment, which is
judged like any other; z3 shows why there is none, with one literal for each promise and constraint,
so that the unsatisfiable core can be put into words. A soft constraint is a row that columns with a
price may break: the price is made as small as possible first, then the number of moves.
"""
