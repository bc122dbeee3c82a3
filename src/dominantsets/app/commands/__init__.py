"""The commands, one file for each group. They import what they work with only when they are run."""
