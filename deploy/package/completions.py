#!/usr/bin/env python3
"""Writes completions of the `tunefarm` command for bash, zsh and fish, from the programs' --help.

Usage: completions.py FOLDER PROGRAM…

Writes FOLDER/tunefarm.bash, FOLDER/_tunefarm and FOLDER/tunefarm.fish. They complete programs, commands and options; all
else is completed as a file name.
"""

import pathlib
import sys

import command_help

BASH = """# Completion of tunefarm(1) for bash.
_tunefarm() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} path=tunefarm word words
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path $word" in
      {paths}) path="$path $word" ;;
    esac
  done
  case $path in
{words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _tunefarm tunefarm
"""

ZSH = """#compdef tunefarm
# Completion of tunefarm(1) for zsh.
local path_so_far=tunefarm word
for word in "${{(@)words[2,CURRENT-1]}}"; do
  case "$path_so_far $word" in
    {paths}) path_so_far="$path_so_far $word" ;;
  esac
done
local -a choices
case $path_so_far in
{words}
esac
_describe 'tunefarm' choices || _files
"""


def walk(command, path):
    """(path, Command) of the command and all below it."""
    yield path, command
    for below in command.commands:
        yield from walk(below, f"{path} {below.name.split()[-1]}")


def option_words(command):
    return [(name, option.text) for option in command.options for name in option.names]


def words_below(command):
    return [(below.name.split()[-1], below.summary) for below in command.commands]


def all_paths(programs):
    root = command_help.Command(
        name="tunefarm", summary="", usage="", positionals=[],
        options=[command_help.Option(["-h", "--help"], "", "Print the help and exit"),
                 command_help.Option(["--version"], "", "Print the versions of all programs")],
        commands=programs, footer=[])
    return list(walk(root, "tunefarm"))


def bash(paths):
    known = " | ".join(f'"{path}"' for path, _ in paths[1:])
    lines = []
    for path, command in paths:
        words = " ".join(word for word, _ in words_below(command) + option_words(command))
        lines.append(f"    '{path}') words='{words}' ;;")
    return BASH.format(paths=known, words="\n".join(lines))


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(paths):
    known = " | ".join(f'"{path}"' for path, _ in paths[1:])
    lines = []
    for path, command in paths:
        choices = " ".join(quoted(word.replace(":", "\\:") + ":" + text.replace("\n", " "))
                           for word, text in words_below(command) + option_words(command))
        lines.append(f"  '{path}') choices=({choices}) ;;")
    return ZSH.format(paths=known, words="\n".join(lines))


def fish(paths):
    lines = ["# Completion of tunefarm(1) for fish.",
             "# True if the words before the cursor, without options, begin with these.",
             "function __tunefarm_at",
             "  set -l words (commandline -opc | string match -rv '^-')",
             "  set -l count (count $argv)",
             "  test (count $words) -ge $count; and test \"$words[1..$count]\" = \"$argv\"",
             "end"]
    for path, command in paths:
        at = f"-n '__tunefarm_at {path}'"
        for word, text in words_below(command):
            lines.append(f"complete -c tunefarm {at} -a {word} -d {quoted(text)}")
        for option in command.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            takes = " -r" if option.kind else ""
            lines.append(f"complete -c tunefarm {at} {flags}{takes} -d {quoted(option.text)}")
    return "\n".join(lines) + "\n"


def main():
    folder, *programs = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = all_paths([command_help.read(pathlib.Path(path)) for path in programs])
    (folder / "tunefarm.bash").write_text(bash(paths))
    (folder / "_tunefarm").write_text(zsh(paths))
    (folder / "tunefarm.fish").write_text(fish(paths))


if __name__ == "__main__":
    main()
