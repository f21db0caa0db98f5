#!/usr/bin/env python3
"""Writes the generated pages of docs/reference, or says which of them are out of date.

    reference.py --bin build/release/bin            writes the pages
    reference.py --bin build/release/bin --check    exits with 1 and a diff if a page differs

One function for each page; each returns the page's text. Needs Python 3.9 and nothing else.
"""

import argparse
import difflib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

import python_page

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTE = "<!-- Written by docs/generate/reference.py. Change its sources, then run docs/update.sh. -->\n"


def source(path):
    return (ROOT / path).read_text()


def page(title, intro, body):
    return f"{NOTE}\n# {title}\n\n{intro.strip()}\n\n{body.strip()}\n"


def table(header, rows):
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *escaped]
    return "\n".join("|" + "|".join(f" {cell} " if cell != "---" else cell for cell in line) + "|" for line in lines)


def string_value(literals):
    """The text of adjacent C++ string literals."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


# --- cli.md: every command's --help.

PROGRAMS = ["compiler", "tuner", "tracker", "device_agent"]


def help_text(binaries, command):
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/home/user", "LC_ALL": "C.UTF-8"}
    answer = subprocess.run([binaries / command[0], *command[1:], "--help"], capture_output=True, text=True,
                            env=environment, timeout=60)
    if answer.returncode != 0:
        sys.exit(f"`{' '.join(command)} --help` ended with {answer.returncode}: {answer.stderr.strip()}")
    return "\n".join(line.rstrip() for line in answer.stdout.strip().replace("/home/user", "~").split("\n"))


def subcommands(text):
    section = re.search(r"\nSubcommands:\n((?:  .*\n?)+)", text)
    return re.findall(r"^  (\S+)", section.group(1), re.MULTILINE) if section else []


def commands_below(binaries, command):
    text = help_text(binaries, command)
    yield command, text
    for name in subcommands(text):
        yield from commands_below(binaries, command + [name])


def present_section(program):
    """What the page in the tree has for a program that is not built here."""
    path = ROOT / "docs/reference/cli.md"
    found = re.search(rf"^## {program}\n.*?(?=^## |\Z)", path.read_text() if path.exists() else "", re.DOTALL | re.MULTILINE)
    print(f"{program} is not built: cli.md keeps what it says of it", file=sys.stderr)
    return found.group(0).strip() if found else f"## {program}"


def cli(binaries):
    sections = []
    for program in PROGRAMS:
        if not (binaries / program).exists():
            sections.append(present_section(program))
            continue
        for command, text in commands_below(binaries, [program]):
            sections.append(f"{'##' if len(command) == 1 else '###'} {' '.join(command)}\n\n```text\n{text}\n```")
    intro = """The output of `--help` for every program and command. Results go to stdout, everything else to stderr. [Exit
codes](exit-codes.md) are the same everywhere."""
    return page("Command line", intro, "\n\n".join(sections))


# --- exit-codes.md: the enumerators of base/cli/exit_code.h and their comments.


def exit_codes(_):
    body = re.search(r"enum ExitCode : int \{(.*?)\};", source("base/cli/exit_code.h"), re.DOTALL).group(1)
    rows = []
    for line in body.strip().split("\n"):
        match = re.match(r"\s*(kExit\w+) = (\d+),\s*// (.*)", line)
        if match:
            rows.append([match.group(2), f"`{match.group(1)}`", match.group(3)])
        else:
            rows[-1][2] += " " + line.strip().removeprefix("//").strip()
    return page("Exit codes", "Every command ends with one of these codes (`base/cli/exit_code.h`).",
                table(["code", "name", "meaning"], rows))


# --- onnx-operators.md: the importer's tables of rules, and the forms that a rule refuses.

def function_bodies(text):
    """By name, the bodies of a file's functions that take a NodeReader or a Formula."""
    found = re.findall(r"^[\w:<>,*& ]+ (\w+)\((?:NodeReader& node|Formula& f)\b[^)]*\) \{\n(.*?)\n\}$", text,
                       re.DOTALL | re.MULTILINE)
    return dict(found)


def reached_bodies(bodies, name, seen):
    """The body of a rule and of the functions of the same file that it calls."""
    if name in seen or name not in bodies:
        return ""
    seen.add(name)
    calls = re.findall(r"(\w+)(?:<[\w:]+>)?\((?:node|f)\b", bodies[name])
    return bodies[name] + "".join(reached_bodies(bodies, call, seen) for call in calls)


def refused_forms(body):
    """The first string of each `unsupported(…)`; values that are put in read …"""
    forms = []
    for call in re.findall(r'unsupported\((.*?)\);', body, re.DOTALL):
        pieces = re.split(r',(?![^"]*"(?:[^"]*"[^"]*")*[^"]*$)', call.replace("absl::StrCat(", "", 1))
        message = "".join(string_value(piece) if '"' in piece else "…" for piece in pieces)
        forms.append(" ".join(message.split()).strip())
    return list(dict.fromkeys(form for form in forms if form))


def onnx_operators(_):
    importer = source("compiler/frontends/onnx/import.cpp")
    oldest, newest = (re.search(rf"k{which}Opset = (\d+)", importer).group(1) for which in ("Oldest", "Newest"))
    sections = []
    operators = set()
    for path in sorted((ROOT / "compiler/frontends/onnx/rules").rglob("*.cpp")):
        text = path.read_text()
        # What the file says of itself, up to the first colon or full stop.
        title = re.split(r"[:.]", " ".join(re.findall(r"^// (.*)", text.split("\n#")[0], re.MULTILINE)))[0]
        bodies = function_bodies(text)
        rows = []
        for operator, rule in re.findall(r'Named(?:List)?Rule\{"([\w.]+)",\s*([\w:<>]+)\}', text):
            forms = refused_forms(reached_bodies(bodies, rule.split("<")[0], set()))
            rows.append([f"`{operator}`", "; ".join(forms)])
        if not rows:
            continue
        operators.update(row[0] for row in rows)
        sections.append(f"## {title}\n\n{table(['operator', 'refused forms, by message'], sorted(rows))}")
    intro = f"""The {len(operators)} operators that `compiler` imports, of ONNX operator sets {oldest} to {newest} (domain `ai.onnx`) and of domain `com.microsoft`. Other
operators are refused by name. The second column lists the messages for forms of an operator that are not supported, with … for
values. Element types: bool, i8, u8, i32, i64, f16, bf16, f32, f64, i16, u16, u32, u64, as far as the operator's ONNX definition takes
them."""
    return page("ONNX operators", intro, "\n\n".join(sections))


# --- configuration.md: the messages of proto/config.


def config_messages(text):
    """(name, comment, [(field, type, comment)]) for each message."""
    messages, comment = [], []
    for line in text.split("\n"):
        stripped = line.strip()
        start = re.match(r"message (\w+) \{", stripped)
        field = re.match(r"((?:repeated |optional )?[\w<>, ]+?) (\w+) = \d+;\s*(?://\s*(.*))?$", stripped)
        if start:
            messages.append((start.group(1), " ".join(comment), []))
            comment = []
        elif field and messages:
            before = " ".join(comment)
            messages[-1][2].append([field.group(2), field.group(1), f"{before} {field.group(3) or ''}".strip()])
            comment = []
        elif stripped.startswith("//"):
            comment.append(stripped[2:].strip())
        else:
            comment = []
    return messages


def configuration(_):
    sections = []
    for name, comment, fields in config_messages(source("proto/config/v1/farm.proto")):
        rows = [[f"`{field}`", f"`{kind}`", text] for field, kind, text in fields]
        sections.append(f"## {name}\n\n{comment}\n\n{table(['field', 'type', 'meaning'], rows)}")
    intro = """The fields of a `--config FILE`. The file is in protobuf's text format, as in `listen: "0.0.0.0:7190"`. Flags override it. A field that
is left out has the default that `--help` shows ([command line](cli.md))."""
    return page("Configuration", intro, "\n\n".join(sections))


# --- metrics.md: the families that the daemons declare.

METRIC_SOURCES = [("tracker serve", ["tracker/service/metrics.cpp"]),
                  ("tuner serve", ["tuner/service/daemon.cpp", "tuner/measure/counted_runner.cpp", "tuner/web/web_server.cpp",
                                    "tuner/web/http/listener.cpp"]),
                  ("device_agent", ["device_agent/agent/device_agent_main.cpp"])]
LITERALS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'


def metric_rows(text):
    rows = []
    for kind, name, what in re.findall(r"\b(gauge|counter|histogram)\(\s*" + LITERALS + r",\s*" + LITERALS, text):
        name, what = string_value(name), string_value(what)
        label = re.search(r'by_label\(\s*(?:tf::)?rpc::\w+\(\s*"' + re.escape(name) + r'".*?\),\s*"(\w+)"', text, re.DOTALL)
        rows.append([f"`{name}{{{label.group(1)}}}`" if label else f"`{name}`", kind, what])
    for prefix, what in re.findall(r"\.families\(\s*" + LITERALS + r",\s*" + LITERALS, text):
        prefix, what = string_value(prefix), string_value(what)
        rows += tally_rows(prefix, what)
    return rows


def tally_rows(prefix, what):
    """The families of a rpc::WorkTally, read from rpc/metrics/metric.cpp."""
    body = re.search(r"WorkTally::families\(.*?\n\}\n", source("rpc/metrics/metric.cpp"), re.DOTALL).group(0)
    rows = []
    for kind, suffix, text in re.findall(r'(gauge|counter|histogram)\(prefix \+ "(\w+)", ((?:what|[+ ]|"[^"]*")+),', body):
        words = "".join(what if piece.strip() == "what" else string_value(piece) for piece in text.split(" + "))
        label = re.search(r'by_label\(\w+\(prefix \+ "' + suffix + r'",[^)]*\), "(\w+)"', body)
        rows.append([f"`{prefix}{suffix}{{{label.group(1)}}}`" if label else f"`{prefix}{suffix}`", kind, words])
    return rows


def metrics(_):
    sections = []
    for program, files in METRIC_SOURCES:
        rows = [row for file in files for row in metric_rows(source(file))]
        sections.append(f"## {program}\n\n{table(['metric', 'kind', 'what'], sorted(rows))}")
    intro = """The metrics that a daemon exports at `/metrics` with `--metrics HOST:PORT`, in addition to the `process_…` metrics of every
Prometheus client. Names in braces are labels. [Operate a farm](../how-to/operate-a-farm.md#health-metrics-logs) says how to use them."""
    return page("Metrics", intro, "\n\n".join(sections))


# --- database-schema.md: the migrations, applied.


def migration_comments(texts):
    """For each table, the comments that stand before the statements on it."""
    comments, renamed = {}, {}
    for text in texts:
        pending = []
        for line in text.split("\n"):
            statement = re.match(r"(?:CREATE TABLE|ALTER TABLE|CREATE (?:UNIQUE )?INDEX \w+ ON) (\w+)", line)
            rename = re.match(r"ALTER TABLE (\w+) RENAME TO (\w+)", line)
            if line.startswith("--"):
                pending.append(line[2:].strip())
            elif rename:
                renamed[rename.group(1)] = rename.group(2)
            elif statement and pending:
                comments.setdefault(statement.group(1), []).append(" ".join(pending))
                pending = []
            elif line and not line.startswith(" "):
                pending = []
    for old, new in renamed.items():
        comments.setdefault(new, []).extend(comments.pop(old, []))
    return comments


def database_schema(_):
    files = sorted((ROOT / "database/migrations").glob("*.sql"))
    texts = [file.read_text() for file in files]
    database = sqlite3.connect(":memory:")
    for text in texts:
        database.executescript(text)
    comments = migration_comments(texts)
    objects = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL "
                               "AND name NOT LIKE 'sqlite_%' ORDER BY tbl_name, type DESC, name").fetchall()
    sections = []
    for name in [name for kind, name, _, _ in objects if kind == "table"]:
        text = "\n".join(f"- {comment}" for comment in comments.get(name, []))
        statements = [sql for kind, _, of, sql in objects if of == name and kind == "table"]
        statements += [sql for kind, _, of, sql in objects if of == name and kind != "table"]
        code = "\n\n".join(sql.strip() + ";" for sql in statements)
        sections.append("\n\n".join(part for part in (f"## {name}", text, f"```sql\n{code}\n```") if part))
    intro = f"""The tables of a database file after all {len(files)} migrations of `database/migrations`. The list under each name has the
comments of the migrations that made or changed the table, oldest first. [database](../../database/README.md) says what the rows mean."""
    return page("Database schema", intro, "\n\n".join(sections))


# --- python.md: the docstrings of the module's public names.


def python(_):
    intro = """After `import tunefarm as tf`, each name on this page is `tf.NAME`, and `help(tf.NAME)` prints the same text. All functions raise `Error` (a
RuntimeError) if Tunefarm cannot do what was asked, `IllegalStep` (a ValueError) for an illegal step of a schedule, and ValueError or TypeError for
invalid arguments. The [tutorial](../tutorials/python.md) shows how to use them together."""
    return page("Python", intro, python_page.body(ROOT / "compiler/python/tunefarm"))


PAGES = {"cli.md": cli, "exit-codes.md": exit_codes, "onnx-operators.md": onnx_operators,
         "configuration.md": configuration, "metrics.md": metrics, "database-schema.md": database_schema, "python.md": python}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the built programs")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    arguments = parser.parse_args()
    stale = False
    for name, generate in PAGES.items():
        path = ROOT / "docs/reference" / name
        text = generate(arguments.bin.resolve())
        old = path.read_text() if path.exists() else ""
        if not arguments.check:
            path.write_text(text)
        elif text != old:
            stale = True
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True),
                                                       f"docs/reference/{name}", f"docs/reference/{name} (generated)"))
    if stale:
        sys.exit("\nThe pages above are out of date. Build the programs, run docs/update.sh and commit docs/reference.")


if __name__ == "__main__":
    main()
