"""Many dominant sets of one similarity, and which of them count."""
