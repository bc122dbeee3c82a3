"""Check wheel and sdist in a folder: what they hold, and that all versions, and the tag's, are one.

python .ci/check_release.py dist [--tag v0.2.0]
"""

import argparse
import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]


def faults(dist: Path, tag: str | None) -> list[str]:
    """What is wrong, a sentence each."""
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        return [f"{dist} holds {len(wheels)} wheels and {len(sdists)} sdists; one of each is needed."]
    out = []
    package = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src").rglob("*.py")}
    with zipfile.ZipFile(wheels[0]) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
        about = next(name for name in inside if name.endswith(".dist-info/METADATA"))
        version = Parser().parsestr(archive.read(about).decode("utf-8"))["Version"]
    code = {name for name in inside if ".dist-info/" not in name}
    out += [f"the wheel lacks {name}." for name in sorted((package | {"dominantsets/py.typed"}) - code)]
    out += [
        f"the wheel holds {name}, which is not of the package."
        for name in sorted(code - package - {"dominantsets/py.typed"})
    ]
    if not any(name.endswith("licenses/LICENSE") for name in inside):
        out.append("the wheel lacks the licence.")
    with tarfile.open(sdists[0]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = ["pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "tests/conftest.py"]
    wanted += [f"src/{name}" for name in package]
    out += [f"the sdist lacks {name}." for name in sorted(set(wanted) - names)]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    recipe = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
    conda = re.search(r'^  version: "(.+)"$', recipe, re.M)
    for where, said in (("CITATION.cff", cited), ("recipe/recipe.yaml", conda)):
        if said is None or said[1] != version:
            out.append(f"{where} names version {said and said[1]}, the wheel is {version}.")
    if tag is not None and tag != f"v{version}":
        out.append(f"the tag is {tag}, the version {version}: tag v{version}, or change __version__.")
    if tag is not None and list((ROOT / "changes").glob("+*.md")):
        out.append("changes/ still holds fragments: run towncrier build first.")
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--tag")
    found = faults(**vars(parser.parse_args()))
    print(*found, sep="\n", file=sys.stderr)
    sys.exit(bool(found))
