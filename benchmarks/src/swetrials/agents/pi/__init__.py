"""pi: how it is started, told of its model, and read."""
