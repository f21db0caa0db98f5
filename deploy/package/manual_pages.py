#!/usr/bin/env python3
"""Writes a manual page for each program, from its --help.

Usage: manual_pages.py FOLDER VERSION PROGRAM…

Writes FOLDER/tunefarm.1 and FOLDER/tunefarm-NAME.1 for each PROGRAM, a path. The pages depend on the programs alone: the
same programs give the same bytes.
"""

import pathlib
import sys

import command_help


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def options(listed):
    lines = []
    for option in listed:
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
        kind = f" \\fI{roff(option.kind)}\\fR" if option.kind else ""
        lines += [".TP", names + kind, roff(option.text)]
    return lines


def examples(footer):
    lines = []
    for line in footer:
        lines += [".PP", roff(line)]
    return lines


def command_section(command):
    lines = [f".SS {roff(command.name)}", roff(command.summary), ".PP", f"\\fB{roff(command.usage)}\\fR"]
    lines += options(command.positionals) + options(command.options) + examples(command.footer)
    for below in command.commands:
        lines += command_section(below)
    return lines


def page(name, version, summary, sections):
    lines = [f'.TH "{name.upper()}" "1" "" "Tunefarm {version}" "Tunefarm"', ".SH NAME",
             f"{roff(name)} \\- {roff(summary)}"]
    for title, body in sections:
        if body:
            lines += [f".SH {title}", *body]
    return "\n".join(lines) + "\n"


def program_page(command, version):
    sections = [("SYNOPSIS", [f"\\fBtunefarm {roff(command.usage)}\\fR"]),
                ("OPTIONS", options(command.positionals) + options(command.options)),
                ("COMMANDS", [line for below in command.commands for line in command_section(below)]),
                ("EXAMPLES AND EXIT CODES", examples(command.footer)),
                ("SEE ALSO", ["\\fBtunefarm\\fR(1)"])]
    return page(f"tunefarm-{command.name}", version, command.summary.rstrip("."), sections)


def main_page(programs, version):
    listed = []
    for command in programs:
        listed += [".TP", f"\\fB{roff(command.name)}\\fR", f"{roff(command.summary)} See \\fBtunefarm\\-{roff(command.name)}\\fR(1)."]
    sections = [("SYNOPSIS", ["\\fBtunefarm\\fR \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR…]"]),
                ("DESCRIPTION", ["Runs one of Tunefarm's programs, which are installed in a private folder."]),
                ("PROGRAMS", listed),
                ("EXIT CODES", ["2 if PROGRAM does not exist; otherwise that of the program."])]
    return page("tunefarm", version, "tune neural networks for the devices that run them", sections)


def main():
    folder, version, *paths = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    programs = [command_help.read(pathlib.Path(path)) for path in paths]
    (folder / "tunefarm.1").write_text(main_page(programs, version))
    for command in programs:
        (folder / f"tunefarm-{command.name}.1").write_text(program_page(command, version))


if __name__ == "__main__":
    main()
