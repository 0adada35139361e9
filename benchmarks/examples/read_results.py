"""Prints the leaderboard of a results tree, and what two of its models allow to be claimed.

``python read_results.py TREE MODEL MODEL``
"""

import sys

import swetrials

tree, first, second = sys.argv[1:]
trials = swetrials.read_results(tree)
for standing in swetrials.leaderboard(trials).standings:
    print(f"{standing.model}: score {standing.score.value:.1f}, ${standing.cost_usd.value:.2f} a task")
claim = swetrials.compare(
    [trial for trial in trials if trial.model == first], [trial for trial in trials if trial.model == second]
)
print(f"{first} against {second}: {claim.score.difference.value:+.1f} points, {claim.score.verdict}")
