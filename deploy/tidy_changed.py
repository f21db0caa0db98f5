#!/usr/bin/env python3
"""Runs clang-tidy on the lines that differ from the upstream branch.

Usage: tidy_changed.py SECONDS

Upstream is origin/main, or the commit before if that is this commit. Files are checked one after another until SECONDS have
passed; those that are left are named and do not fail. Needs a configured build/release. Exit code 1: it found something.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True).stdout.strip()


def upstream():
    base = git("merge-base", "HEAD", "origin/main")
    return base if base and base != git("rev-parse", "HEAD") else "HEAD~1"


def changed_lines(base):
    """Path -> list of [first, last], of .cpp files and headers."""
    changes, path = {}, None
    for line in git("diff", "-U0", "--diff-filter=d", base, "--", "*.cpp", "*.h").splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if count > 0:
                changes.setdefault(path, []).append([first, first + count - 1])
    return changes


def write_commands(folder):
    """A compilation command for each file: a unity build has one for several. Returns the files that have one.

    Options that only GCC knows are left out, and so are its precompiled headers.
    """
    entries = []
    for entry in json.loads(pathlib.Path("build/release/compile_commands.json").read_text()):
        command = re.sub(r" (--param=\S+|-fno-ipa-icf|-Winvalid-pch|-include \S*cmake_pch\S*)", "", entry["command"])
        files = [entry["file"]]
        if "/Unity/" in entry["file"]:
            files = re.findall(r'#include "(.*)"', pathlib.Path(entry["file"]).read_text())
        entries += [{**entry, "file": file, "command": command.replace(entry["file"], file)} for file in files]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return {entry["file"] for entry in entries}


def main():
    end = time.monotonic() + float(sys.argv[1])
    base = upstream()
    changes = changed_lines(base)
    line_filter = json.dumps([{"name": path, "lines": lines} for path, lines in changes.items()])
    failed, left, checked = False, [], 0
    with tempfile.TemporaryDirectory() as folder:
        known = write_commands(pathlib.Path(folder))
        for path in sorted(path for path in changes if path.endswith(".cpp")):
            file = str(pathlib.Path(path).absolute())
            if file not in known:
                continue
            command = ["clang-tidy", "--quiet", "-p", folder, "--warnings-as-errors=*", "--line-filter=" + line_filter,
                       "--extra-arg=-Wno-unknown-warning-option", file]
            try:
                remaining = end - time.monotonic()
                result = subprocess.run(command, capture_output=True, text=True, timeout=max(remaining, 0.001))
            except subprocess.TimeoutExpired:
                left.append(path)
                continue
            checked += 1
            if result.returncode != 0:
                failed = True
                print(result.stdout, file=sys.stderr)
    print(f"tidy: {checked} files that differ from {git('rev-parse', '--short', base)} were checked")
    if left:
        print(f"tidy: no time for {' '.join(left)}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
