"""Without Ray: the line that installs it, and nothing else of the package is missing."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def test_without_ray_the_install_line_is_shown() -> None:
    code = """
        import sys
        sys.modules["ray"] = None
        import autobct
        try:
            import autobct.integrations.ray
        except ImportError as missing:
            print(missing.name, missing)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ray AutoBCTSearch")
    assert "pip install 'autobct[ray]'" in done.stdout
