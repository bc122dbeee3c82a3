"""The command ``dominantsets``, also as ``python -m dominantsets``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

INTERRUPTED = 130  # the exit code after Ctrl-C


def main() -> None:
    """Run the command line, or say in one sentence what it needs.

    Ctrl-C ends the process at once while Python imports, where there is nothing to keep: extensions in C turn
    a KeyboardInterrupt into other errors. Commands catch it while they work.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from dominantsets.app import cli
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
    except SystemExit as done:
        if done.code == INTERRUPTED:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(INTERRUPTED)  # to take down all that was imported takes longer than one waits
        raise


if __name__ == "__main__":
    main()
