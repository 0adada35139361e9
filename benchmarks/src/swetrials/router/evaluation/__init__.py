"""The router's evaluation on results: what a rule would have cost and scored."""
