"""pip installs the package into an environment of its own, from a build folder, without a network."""

import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import TestInFolder

_SOURCE = Path(os.environ["TF_SOURCE_DIR"]) / "compiler" / "python"
_BUILD = Path(os.environ["TF_BINARY_DIR"])


@unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "venv", "setuptools", "wheel"))),
                     "there is no pip, venv, setuptools or wheel for this Python")
class Pip(TestInFolder):
    def test_installs_a_package_that_finds_its_programs(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        environment["TUNEFARM_BUILD"] = str(_BUILD)

        def run(*command):
            done = subprocess.run(command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            return done.stdout

        run(sys.executable, "-m", "venv", "--system-site-packages", "env")
        python = self.folder / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", _SOURCE)
        printed = run(python, "-c", "import tunefarm as tf; print(tf.__file__, tf.__version__); print(tf.compile(tf.zoo('mlp', 'mlp.onnx')))")
        self.assertIn(str(self.folder), printed)
        self.assertIn("f32[1, 784]", printed)
        version = run(_BUILD / "bin" / "compiler", "--version").split()[1]
        self.assertIn(f"/__init__.py {version}\n", printed)
        files = run(python, "-m", "pip", "show", "--files", "tunefarm")
        self.assertIn("tunefarm/py.typed", files)
        self.assertIn("tunefarm/_core.pyi", files)


if __name__ == "__main__":
    unittest.main()
