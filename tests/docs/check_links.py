#!/usr/bin/env python3
"""Checks that every relative link of every Markdown file in the repository leads to a file.

    check_links.py REPOSITORY

Exit codes: 0 ok, 1 with one line for each dead link.
"""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def dead_links(root, page):
    in_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if in_code:
            continue
        for target in LINK.findall(line):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(root)}:{number}: no such file: {target}"


def main():
    root = Path(sys.argv[1])
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], check=True,
                           capture_output=True, text=True)
    dead = [line for name in names.stdout.splitlines() for line in dead_links(root, root / name)]
    print("\n".join(dead) or "all links lead to files")
    sys.exit(1 if dead else 0)


main()
