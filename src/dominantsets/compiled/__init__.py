"""Code compiled by Numba: one idea per file, and no file calls another (see :mod:`.jit`)."""
