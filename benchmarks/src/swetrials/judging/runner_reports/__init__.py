"""What a test runner says of each of its tests: the reporters that make it say so, and the readers of each format."""
