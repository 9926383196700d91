"""The `autobct` command, also as `python -m autobct`.

Almost nothing is imported here, so that Ctrl-C is answered in one line from the first moment on.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from autobct.cli import app

        app()
    except KeyboardInterrupt:
        print("Interrupted before anything was run.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
