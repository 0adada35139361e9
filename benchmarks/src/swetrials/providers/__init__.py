"""Where models are hosted: one file per hosting path."""
