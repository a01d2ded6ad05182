"""Sets of tasks as bit masks: the lower half has the active ones, the upper half the standbys."""

from __future__ import annotations

from attrs import frozen


@frozen
class Roles:
    """Which bit is which."""

    tasks: int

    @property
    def every(self) -> int:
        """All tasks, in one role."""
        return (1 << self.tasks) - 1

    def active(self, tasks: int) -> int:
        """The tasks that are active in the set."""
        return tasks & self.every

    def standby(self, tasks: int) -> int:
        """The tasks that are standbys in the set."""
        return tasks >> self.tasks

    def either(self, tasks: int) -> int:
        """The tasks of the set, whatever their roles."""
        return self.active(tasks) | self.standby(tasks)

    def both(self, active: int, standby: int) -> int:
        """A set of active tasks and standbys."""
        return active | standby << self.tasks
