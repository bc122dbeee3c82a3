"""The command ``dominantsets``, also as ``python -m dominantsets``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say in one sentence what it needs."""
    try:
        from dominantsets.app import cli
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(
            "dominantsets: the command line needs the extra 'cli'; "
            'install it with: pip install "dominantsets[cli]"\n'
        )
        sys.exit(2)
    try:
        cli.app()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
