"""The order of the examples: from first steps to what few need; those not named come last."""

from __future__ import annotations

NAMES = [
    "first_steps",
    "shapes",
    "noise_dial",
    "new_objects",
    "compare",
    "hierarchy",
    "along_the_shift",
    "proven_best",
    "stream",
    "large",
    "topics",
    "topics_bertopic",
    "words",
    "evidence",
    "audit_four_methods",
    "deduplicate",
    "communities",
    "photograph",
    "scribbles",
]


class Order:
    """A sort key of sphinx-gallery."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> tuple[int, str]:
        name = filename.removesuffix(".py")
        return (NAMES.index(name) if name in NAMES else len(NAMES)), name
