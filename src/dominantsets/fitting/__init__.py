"""How a fit goes: one plan for each kind of data, the choice between them, and what they say about it."""
