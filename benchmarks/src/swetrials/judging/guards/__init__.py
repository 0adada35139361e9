"""What a patch may not decide of its own verdict: files that steer a runner, tests that are there, code that forges."""
