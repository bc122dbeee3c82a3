"""Where feature rows are: in memory, in Dask chunks, or on a device."""
