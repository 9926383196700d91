"""`python -m tools.docs_prints`: run the pages of the documentation and write down anew what their examples print.

Only for blocks that say ```` ```text title="prints" ````; look at the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs_pages import PRINTS, ROOT, Block, blocks, is_run, pages


def main() -> None:
    """Pages named on the command line, or all that have such a block."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg")
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    named = [Path(name).absolute() for name in sys.argv[1:]]
    for page in named or [page for page in pages() if is_run(page)]:
        if any(block.kind == PRINTS for block in blocks(page)):
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                text = rewritten(page)
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


def rewritten(page: Path) -> str:
    """The page with what its examples print today."""
    lines, shift, printed = page.read_text(encoding="utf-8").split("\n"), 0, ""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.kind == PRINTS:
            first, new = block.line - 1 + shift, printed.rstrip().split("\n")
            old = block.text.count("\n")
            lines[first : first + old] = new
            shift += len(new) - old
        else:
            printed = done(block, names, printed)
    return "\n".join(lines)


def done(block: Block, names: dict[str, object], before: str) -> str:
    """Do what a block says; what it prints, or what was printed before it."""
    if block.kind == "file":
        Path(block.title).write_text(block.text, encoding="utf-8")
        return before
    if block.kind == "run":
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(block.text, "page", "exec"), names)
        return stream.getvalue()
    if block.kind == "shell":
        return subprocess.run(["sh", "-e"], input=block.text, capture_output=True, text=True, check=True).stdout
    return before


if __name__ == "__main__":
    main()
