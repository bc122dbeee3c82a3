"""Print pip's constraints for the lowest versions that pyproject.toml allows, one package a line."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
asked = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
for requirement in sorted(set(asked)):
    if not requirement.startswith("dominantsets["):
        name, lowest = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
        print(f"{name}=={lowest}")
