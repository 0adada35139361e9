"""Runs one rehearsed trial, has its tests run, and prints what came out: ``python run_a_trial.py FOLDER``."""

import sys

import swetrials

folder = sys.argv[1]
[trial] = swetrials.run(provider="rehearsal", tasks=["word-tally"], output_dir=folder, yes=True)
print(f"{trial.task}: {trial.outcome.kind}, {trial.usage.headline.usage.total} tokens, ${trial.cost.amount_usd:.2f}")
[evaluation] = swetrials.judge(folder, judges=["tests"])
print(f"tests passed: {evaluation.tests.passed}")
