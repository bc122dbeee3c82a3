"""From cores to a label for each object, and for new ones."""
