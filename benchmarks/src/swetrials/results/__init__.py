"""What many trials come to."""
