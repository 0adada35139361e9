"""Environments: what an agent's and a verification's commands run in, and what they can reach from there."""
