"""Judged inputs: what the rule may know of a task before anybody works on it."""
