"""Known bugs on real old code: schedules that the model found, carried out by released clients."""
