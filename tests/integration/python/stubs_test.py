"""The type stubs say what the package has: every public name, with the parameters that it takes."""

import ast
import inspect
import unittest
from pathlib import Path

import tunefarm as tf

_FOLDER = Path(tf.__file__).parent


def declared(name):
    return ast.parse((_FOLDER / name).read_text()).body


def parameters_of(function):
    arguments = function.args
    names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    names += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    return names + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])


def parameters_at_run_time(function):
    prefix = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [prefix.get(parameter.kind, "") + name for name, parameter in inspect.signature(function).parameters.items()
            if not (name.startswith("_") and name != "_")]


class Stubs(unittest.TestCase):
    def compare(self, where, body, owner):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found = inspect.getattr_static(owner, node.name, None)
                self.assertIsNotNone(found, f"{where}.{node.name} is in the stub only")
                if isinstance(found, property):
                    continue
                found = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
                if node.name.startswith("__r") or (node.name == "__init__" and "__init__" not in vars(owner)):
                    continue
                self.assertEqual(parameters_of(node), parameters_at_run_time(found), f"{where}.{node.name}")

    def test_of_the_package_match_it(self):
        nodes = declared("__init__.pyi")
        self.compare("tunefarm", nodes, tf)
        classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        for name, node in classes.items():
            self.compare(name, node.body, getattr(tf, name))
        functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        public = {name for name in dir(tf) if not name.startswith("_") and not inspect.ismodule(getattr(tf, name))}
        self.assertEqual(public, functions | set(classes))

    def test_of_the_extension_name_what_it_has(self):
        for node in declared("_core.pyi"):
            if isinstance(node, ast.ClassDef):
                owner = getattr(tf._core, node.name)
                names = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
                self.assertTrue(all(hasattr(owner, name) for name in names), node.name)
                has = {name for name in vars(owner) if not name.startswith("_")}
                if not issubclass(owner, Exception):
                    self.assertEqual(has, {name for name in names if not name.startswith("_")}, node.name)
            elif isinstance(node, ast.FunctionDef):
                self.assertTrue(callable(getattr(tf._core, node.name)))

    def test_and_every_public_name_has_a_docstring(self):
        for name in dir(tf):
            value = getattr(tf, name)
            if name.startswith("_") or inspect.ismodule(value):
                continue
            self.assertTrue(inspect.getdoc(value), name)
            for member, method in vars(value).items() if inspect.isclass(value) else ():
                if not member.startswith("_") and (inspect.isfunction(method) or isinstance(method, (property, classmethod))):
                    self.assertTrue(inspect.getdoc(getattr(value, member)), f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
