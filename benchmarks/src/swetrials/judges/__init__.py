"""What scores a trial: the dataset's own tests, and a rubric judge."""
