#!/usr/bin/env python3
"""Runs the commands of a documentation page, so that the page cannot go stale.

    run_page.py PAGE.md --bin FOLDER [--minutes M]

The fenced blocks of a page run in order, in one shell, in an empty folder:

    ```sh            run; a command that fails ends the page
    ```sh daemon     each line runs in the background until the page ends
    ```sh not-run: REASON    shown to readers only

Every other fence (text, c, cmake, …) is left alone, except ```LANGUAGE file=NAME, which is written to NAME.
`--minutes N` in a command becomes `--minutes M`, so that a page can show a realistic time budget. The page runs in a
network namespace of its own: its fixed ports cannot collide with anything. Exit codes: 0 ok, 1 a command failed,
77 skipped because this user may not make a network namespace.
"""

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77
DAEMON_START_S = 30
# What a daemon prints once it can be used.
READY = re.compile(r"listening on|serves the tracker at")


@dataclass
class Block:
    line: int
    indent: int  # of a block inside a list
    language: str
    options: str
    text: str


def blocks_of(page):
    """The fenced blocks of a page, in order."""
    blocks, current = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = line.lstrip()
        if not fence.startswith("```"):
            if current is not None:
                current.text += line[current.indent:] + "\n"
        elif current is not None:
            blocks.append(current)
            current = None
        else:
            language, _, options = fence[3:].partition(" ")
            current = Block(number, len(line) - len(fence), language, options.strip(), "")
    if current is not None:
        sys.exit(f"{page}:{current.line}: this block is never closed")
    return blocks


def in_own_network():
    """Runs this script again in a network namespace that has only a loopback device."""
    enter = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode != 0:
        print("skipped: this user may not make a network namespace")
        sys.exit(SKIPPED)
    command = shlex.join([sys.executable, *sys.argv, "--in-own-network"])
    os.execvp(enter[0], [*enter, "sh", "-c", f"ip link set lo up && exec {command}"])


class Page:
    def __init__(self, path, minutes, folder, environment):
        self.path, self.minutes, self.folder, self.environment = path, minutes, folder, environment
        self.daemons = []

    def run(self):
        for block in blocks_of(self.path):
            if written := re.fullmatch(r"file=(\S+)", block.options):
                (self.folder / written[1]).write_text(block.text)
            elif block.language != "sh":
                continue
            elif not block.options:
                self.run_commands(block)
            elif block.options == "daemon":
                for line in self.commands_of(block).splitlines():
                    self.start_daemon(block, line)
            elif not re.fullmatch(r"not-run: \S.*", block.options):
                sys.exit(f"{self.path}:{block.line}: '{block.options}' is not an option of a block; it takes "
                         "daemon, or not-run: REASON")

    def commands_of(self, block):
        return re.sub(r"--minutes \S+", f"--minutes {self.minutes}", block.text)

    def run_commands(self, block):
        print(f"== {self.path}:{block.line}", flush=True)
        # The shell's own state, such as the path, lasts from block to block, as it does for a reader.
        script = ("set -e; [ ! -f .shell-state ] || . ./.shell-state\nset -x\n" + self.commands_of(block) +
                  "\n{ set +x; export -p >.shell-state; } 2>/dev/null")
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            self.show_daemons()
            sys.exit(f"{self.path}:{block.line}: a command of this block failed with exit code {done.returncode}")

    def start_daemon(self, block, line):
        if not line.split("#")[0].strip():
            return
        print(f"== {self.path}:{block.line} (in the background)\n+ {line}", flush=True)
        log = self.folder / f".daemon{len(self.daemons)}.log"
        process = subprocess.Popen(["bash", "-c", "exec " + line], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=log.open("w"), stderr=subprocess.STDOUT)
        self.daemons.append((line, process, log))
        deadline = time.monotonic() + DAEMON_START_S
        while not READY.search(log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                self.show_daemons()
                sys.exit(f"{self.path}:{block.line}: this did not start: {line}")
            time.sleep(0.1)

    def show_daemons(self):
        for line, _, log in self.daemons:
            print(f"-- {line}\n{log.read_text()}", flush=True)

    def stop(self):
        for _, process, _ in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--bin", type=Path, required=True, help="the folder of the programs")
    parser.add_argument("--minutes", default="0.3", help="what --minutes N becomes [0.3]")
    parser.add_argument("--in-own-network", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.in_own_network:
        in_own_network()
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PATH=f"{options.bin.resolve()}:{os.environ['PATH']}", HOME=folder,
                           XDG_STATE_HOME=f"{folder}/state")
        page = Page(options.page, options.minutes, Path(folder), environment)
        try:
            page.run()
        finally:
            page.stop()
    print(f"{options.page}: all commands ran")


main()
