"""Reads what a program's --help says, and that of all its commands, into values."""

import dataclasses
import re
import subprocess


@dataclasses.dataclass
class Option:
    names: list  # "-o", "--output"
    kind: str  # what follows the names, as in "INT=1 Excludes: --batch-name"; empty for a flag
    text: str


@dataclasses.dataclass
class Command:
    name: str  # "compiler build"
    summary: str
    usage: str
    positionals: list  # of Option
    options: list  # of Option
    commands: list  # of Command
    footer: list  # lines


def entries(lines):
    """The (left, right) columns of a section of the help. A long left column has its text on the next line."""
    found = []
    for line in lines:
        if line.startswith(" " * 28):
            left, text = found[-1]
            found[-1] = (left, f"{text} {line.strip()}".strip())
            continue
        left, _, text = line.strip().partition("  ")
        found.append((left, text.strip()))
    return found


def option_of(left, text):
    names, _, kind = left.partition(" ")
    return Option(names.split(","), kind, text)


def parse(name, help_text):
    """A Command without those below it, and the names of these."""
    sections, current, footer = {}, None, []
    lines = help_text.splitlines()
    usage = next(line for line in lines if line.startswith("Usage: "))
    for line in lines[lines.index(usage) + 1:]:
        heading = re.fullmatch(r"(Positionals|Options|Subcommands):", line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif not line:
            current = None
        elif current is not None:
            current.append(line)
        else:
            footer.append(line)
    command = Command(
        name=name,
        summary=" ".join(lines[:lines.index(usage)]).strip(),
        usage=usage.removeprefix("Usage: "),
        positionals=[option_of(*entry) for entry in entries(sections.get("Positionals", []))],
        options=[option_of(*entry) for entry in entries(sections.get("Options", []))],
        commands=[],
        footer=footer)
    return command, [left for left, _ in entries(sections.get("Subcommands", []))]


def read(program, words=()):
    """The Command of `program WORDS…`, with all commands below it."""
    name = " ".join([program.name, *words])
    text = subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
    command, below = parse(name, text)
    command.commands = [read(program, (*words, word)) for word in below]
    return command
