"""One trial from checkout to record, and many of them."""
