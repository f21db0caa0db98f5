#!/usr/bin/python3
"""Every architecture of torchvision, built by `compiler build` and compared with ONNX Runtime; see README.md."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
import torchvision
from onnx import numpy_helper

import layers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FAMILIES = ["classification", "quantization", "segmentation", "video", "optical_flow", "detection"]

FIGURES = ["cpu_seconds", "memory_mib", "difference", "steps", "layer_steps"]


class Failed(Exception):
    """A step that did not succeed; the message is the row's remark."""


def family(name):
    module = torchvision.models.get_model_builder(name).__module__
    return next((known for known in FAMILIES if f".{known}" in module), "classification")


def run(step, command, timeout, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{step}: takes over {timeout} s") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|error)\b", line)]
        errors = errors or lines or [f"exit status {done.returncode}"]
        raise Failed(f"{step}: {errors[-1].strip()[:240]}")
    return done.stdout


def ask_onnx_runtime(arguments, folder):
    """Writes its outputs for the model and the inputs in `folder`, an ONNX backend test."""
    environment = dict(os.environ, NODE_PATH=str(ROOT / "build/peers/node_modules"))
    command = ["node", ROOT / "tests/support/onnxruntime/serve.js", "all"]
    said = run("ONNX Runtime", command, arguments.timeout, env=environment, input=f"{folder}\n").strip()
    if said != "ok":
        raise Failed(f"ONNX Runtime: {said}")


def output_step(graph, name):
    """What one step of a stored integer is worth in an output that is dequantized, else none."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    node = makers[name]
    if node.op_type != "DequantizeLinear":
        return None
    return float(numpy_helper.to_array(constants[node.input[1]]))


def difference(graph, wanted, folder):
    """The largest difference of an output, as a share of its scale or in steps; whether the largest classes agree."""
    result = {"difference": 0.0, "steps": None, "largest_agree": True}
    for i, (name, right) in enumerate(wanted.items()):
        ours = np.load(folder / f"output_{i}.npy")
        if ours.shape != right.shape:
            raise Failed(f"output {name} has the shape {list(ours.shape)}, not {list(right.shape)}")
        if not right.size:
            continue
        if not np.isfinite(right).all():
            raise Failed(f"ONNX Runtime's output {name} is not finite")
        if right.dtype.kind != "f":
            if (ours != right).any():
                raise Failed(f"output {name} differs in {(ours != right).sum()} of {right.size} elements")
            continue
        if right.std() <= 1e-3 * np.abs(right).max() and right.size > 100:
            raise Failed(f"output {name} is nearly constant, which shows nothing")
        gap = float(np.abs(ours.astype(np.float64) - right).max())
        step = output_step(graph, name)
        if step:
            result["steps"] = max(result["steps"] or 0, round(gap / step))
        scaled = gap / float(np.abs(right).max() or 1)
        result["difference"] = max(result["difference"], scaled)
        if right.ndim > 1:
            # The chosen class is right if ONNX Runtime gives it nearly its own choice's value: a tie is none.
            chosen = np.take_along_axis(right, np.expand_dims(ours.argmax(1), 1), 1)
            allowed = step or 1e-4 * np.abs(right).max()
            result["largest_agree"] &= bool((right.max(1, keepdims=True) - chosen <= allowed).all())
    return result


def build(arguments, model, folder, *options):
    command = [sys.executable, HERE / "timed.py", f"{arguments.bin}/compiler", "build", model, "-o", folder, *options]
    return json.loads(run("build", command, arguments.timeout))


def run_ours(arguments, graph, built, data, folder, *options):
    command = [f"{arguments.bin}/compiler", "run", built, "-o", folder, *options]
    for i, value in enumerate(graph.input):
        command += ["--input", f"{value.name}={data}/input_{i}.pb"]
    run("run", command, arguments.timeout)


def steps_by_layer(arguments, model, work):
    """The most steps by which a quantized value differs, if ONNX Runtime has our values before it."""
    data, cut_data = work / "test_data_set_0", work / "layers/test_data_set_0"
    names = layers.quantized_values(model.graph)
    expose = [word for name in names for word in ("--expose", name)]
    build(arguments, work / "model.onnx", work / "exposed", *expose)
    run_ours(arguments, model.graph, work / "exposed", data, work / "ours")
    count, given = len(model.graph.output), len(model.graph.input)
    ours = [onnx.load_tensor(work / f"ours/output_{count + i}.pb") for i in range(len(names))]
    shutil.copytree(data, cut_data, dirs_exist_ok=True)
    shapes = {name: list(tensor.dims) for name, tensor in zip(names, ours)}
    onnx.save(layers.apart(model, shapes), cut_data.parent / "model.onnx")
    for i, tensor in enumerate(ours):
        onnx.save_tensor(tensor, cut_data / f"input_{given + i}.pb")
    ask_onnx_runtime(arguments, cut_data.parent)
    most = 0
    for i, tensor in enumerate(ours):
        right = numpy_helper.to_array(onnx.load_tensor(cut_data / f"output_{count + i}.pb")).astype(int)
        most = max(most, int(np.abs(numpy_helper.to_array(tensor) - right).max()))
    return most


def verdict(row):
    if "layer_steps" in row:
        return None if row["layer_steps"] <= 1 else f"a quantized value differs by {row['layer_steps']} steps"
    if row["difference"] <= 1e-4 or ("exact" in row and row["exact"][0] <= 2 * row["exact"][1]):
        return None
    return f"differs by {row['difference']:.1e} of the scale"


def from_exact(arguments, name, wanted, work):
    """How far the first output is from double precision as a share of the scale: ours, ONNX Runtime's."""
    run("export", [sys.executable, HERE / "export.py", name, work, "--exact"], arguments.timeout)
    exact = np.load(work / "exact.npy")
    both = np.load(work / "run/output_0.npy"), next(iter(wanted.values()))
    return [float(np.abs(one - exact).max() / np.abs(exact).max()) for one in both]


def compare(arguments, name, work):
    row = {"name": name, "family": family(name)}
    data = work / "test_data_set_0"
    try:
        export = [sys.executable, HERE / "export.py", name, work]
        row.update(json.loads(run("export", export, arguments.timeout).splitlines()[-1]))
        model = onnx.load(work / "model.onnx", load_external_data=False)
        graph = model.graph
        row["nodes"] = len(graph.node)
        row["operators"] = len({node.op_type for node in graph.node})
        ask_onnx_runtime(arguments, work)
        wanted = {
            output.name: numpy_helper.to_array(onnx.load_tensor(data / f"output_{i}.pb"))
            for i, output in enumerate(graph.output)
        }
        row["outputs"] = [list(array.shape) for array in wanted.values()]
        row.update(build(arguments, work / "model.onnx", work / "built"))
        run_ours(arguments, graph, work / "built", data, work / "run", "--npy")
        row.update(difference(graph, wanted, work / "run"))
        if row["steps"] is not None:
            row["layer_steps"] = steps_by_layer(arguments, model, work)
        elif row["difference"] > 1e-4 and len(wanted) == 1:
            row["exact"] = from_exact(arguments, name, wanted, work)
        if verdict(row):
            row["failed"] = verdict(row)
    except Failed as failure:
        row["failed"] = str(failure).replace(f"{work}/", "")
    return row


def write_page(rows, missing):
    def cell(row, key, form):
        return form.format(row[key]) if row.get(key) is not None else ""

    def steps(row):
        return f"{row['steps']} steps, {row.get('layer_steps', '?')} in a layer"

    facts = {"torch": torch.__version__, "torchvision": torchvision.__version__, "all": len(rows)}
    facts["good"] = sum("failed" not in row for row in rows)
    facts["missing"] = ", ".join(missing) or "none"
    lines = (HERE / "page.md.in").read_text().format(**facts).splitlines()
    lines += ["", "| architecture | input | weights | nodes | operators | build | memory | difference | result |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for row in sorted(rows, key=lambda row: (FAMILIES.index(row["family"]), row["name"])):
        shapes = ", ".join("×".join(map(str, shape)) for shape in row.get("inputs", []))
        apart = steps(row) if row.get("steps") is not None else cell(row, "difference", "{:.0e}")
        result = row.get("failed") or ("equal" if row["largest_agree"] else "equal, but another largest element")
        if "exact" in row:
            result += "; from double precision {:.0e}, ONNX Runtime {:.0e}".format(*row["exact"])
        weights = f"{row['weights'] / 1e6:.1f} M" if "weights" in row else ""
        cells = [row["name"], shapes, weights, cell(row, "nodes", "{}"), cell(row, "operators", "{}")]
        cells += [cell(row, "cpu_seconds", "{:.1f} s"), cell(row, "memory_mib", "{:.0f} MiB"), apart]
        lines.append("| " + " | ".join([*cells, result.replace("|", "\\|")]) + " |")
    (ROOT / "docs/reference/torchvision.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="architectures or families [all]")
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"), help="folder of the programs")
    parser.add_argument("--rows", default=str(ROOT / "build/torchvision"), help="folder of the finished rows")
    parser.add_argument("--again", choices=["failed", "all"], help="repeat these finished rows, too")
    parser.add_argument("--keep", help="folder in which the files of each network stay")
    parser.add_argument("--timeout", type=int, default=1200, help="seconds of each step")
    parser.add_argument("--list", action="store_true", help="print the architectures and stop")
    parser.add_argument("--page", action="store_true", help="write docs/reference/torchvision.md from the rows")
    arguments = parser.parse_args()
    every = torchvision.models.list_models()
    names = [n for n in every if not arguments.names or n in arguments.names or family(n) in arguments.names]
    if arguments.list:
        print("\n".join(f"{family(name)} {name}" for name in names))
        return
    rows = pathlib.Path(arguments.rows)
    rows.mkdir(parents=True, exist_ok=True)
    for name in [] if arguments.page else names:
        file = rows / f"{name}.json"
        if file.exists():
            done = json.loads(file.read_text())
            if arguments.again is None or (arguments.again == "failed" and "failed" not in done):
                continue
        folder = tempfile.mkdtemp(prefix="torchvision-")
        if arguments.keep:
            os.rmdir(folder)
            folder = f"{arguments.keep}/{name}"
            os.makedirs(folder, exist_ok=True)
        row = compare(arguments, name, pathlib.Path(folder))
        if not arguments.keep:
            shutil.rmtree(folder)
        file.write_text(json.dumps(row, indent=1) + "\n")
        figures = [f"{key}={row[key]:.2g}" for key in FIGURES if row.get(key) is not None]
        print(f"{name}: {row.get('failed', 'equal')}", *figures, flush=True)
    if arguments.page:
        done = [name for name in every if (rows / f"{name}.json").exists()]
        missing = [name for name in every if name not in done]
        write_page([json.loads((rows / f"{name}.json").read_text()) for name in done], missing)


main()
