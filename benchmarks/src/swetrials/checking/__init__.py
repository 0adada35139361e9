"""Controls of a dataset: runs of its tasks' tests whose outcome is known beforehand."""
