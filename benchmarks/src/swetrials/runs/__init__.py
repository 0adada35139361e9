"""Pre-flight and the whole way from dataset to report."""
