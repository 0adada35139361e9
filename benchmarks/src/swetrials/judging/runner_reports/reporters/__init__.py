"""Programs that run inside of a test runner; :mod:`swetrials.judging.runner_reports.reporting` hands them out."""
