"""`python -m autobct` is the `autobct` command."""

from autobct.cli import app

app()
