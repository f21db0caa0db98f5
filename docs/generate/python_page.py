"""The page of the Python module: signatures and docstrings of its public names, read from the sources without running them."""

import ast
import inspect
import re

SECTIONS = [
    ("Networks", ["compile", "Model", "TensorInfo", "empty", "aligned", "zoo"]),
    ("Tuning on this machine", ["tune", "Tuned", "Progress"]),
    ("Records", ["records", "best"]),
    ("Farms", ["Farm", "Job"]),
    ("Tensor expressions", ["placeholder", "constant", "compute", "reduce_axis", "sum", "prod", "max", "min", "select", "minimum",
                            "maximum", "clip", "Expr", "Tensor", "Reduction", "dtype_name", "numpy_dtype"]),
    ("Workloads and schedules", ["Workload", "tasks", "Task", "Schedule", "Stage", "Loop", "Kernel", "Measurement"]),
    ("Recipes", ["recipe", "choice", "tune_kernel", "Recipe", "Choice", "TunedKernel"]),
]

MADE_BY_USERS = {"Farm", "Recipe", "Workload"}  # others come from functions


def signature(node, text):
    """`name(parameters)` as it stands in the source, in one line, without private parameters."""
    lines = text.split("\n")[node.lineno - 1:node.body[0].lineno - 1]
    found = re.match(r"\s*def (\w+)\((.*)\):$", " ".join(line.strip() for line in lines))
    parts = re.split(r",\s+(?![^(\[]*[)\]])", found[2])
    return f"{found[1]}({', '.join(part for part in parts if part not in ('self', 'cls') and not re.match(r'_', part))})"


def doc(node):
    return inspect.cleandoc(ast.get_docstring(node, clean=False) or "")


def is_property(node):
    return any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)


def class_text(node, text):
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    start = next((one for one in methods if one.name == "__init__"), None)
    head = f"```python\n{node.name}{signature(start, text)[len('__init__'):]}\n```\n\n" if node.name in MADE_BY_USERS else ""
    parts = [f"### {node.name}\n\n{head}```text\n{doc(node)}\n```"]
    rows = []
    for method in methods:
        if method.name.startswith("_"):
            continue
        name = method.name if is_property(method) else signature(method, text)
        rows.append(f"{name}\n{''.join('    ' + line + chr(10) if line else chr(10) for line in doc(method).split(chr(10)))}")
    if rows:
        parts.append("```text\n" + "\n".join(rows).rstrip() + "\n```")
    return "\n\n".join(parts)


def body(folder):
    """The page below its introduction. KeyError for a name of SECTIONS that no file defines."""
    found, functions = {}, []
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = class_text(node, text)
            elif isinstance(node, ast.FunctionDef):
                found[node.name] = f"### {node.name}\n\n```python\n{signature(node, text)}\n```\n\n```text\n{doc(node)}\n```"
            elif isinstance(node, ast.Assign) and "_of_floats" in ast.dump(node.value):
                name, count, says = (argument.value for argument in node.value.args)
                functions.append(f"| `{name}({', '.join('xyz'[:count])})` | {says.replace('|', chr(92) + '|')} |")
    sections = [f"## {title}\n\n" + "\n\n".join(found[name] for name in names) for title, names in SECTIONS]
    table = "\n".join(["| function of floats | gives |", "|---|---|", *functions])
    return "\n\n".join([*sections, f"## Functions of expressions\n\n{table}"])
