"""The router: a rule that picks a model for a task, and the models that it picks from."""
