"""Why a mutant that no test kills is none that a test could kill, or what it would take.

By file, then by ``function: change``; True where the changed code does the same for every input.
"""

from __future__ import annotations

REASONS: dict[str, dict[str, tuple[bool, str]]] = {}
