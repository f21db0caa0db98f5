"""What tests of the Python module share: a folder for each test, and small networks."""

import tempfile
import unittest
from pathlib import Path

import tunefarm as tf


class TestInFolder(unittest.TestCase):
    """Each test has an empty folder of its own, self.folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def network(self, name="mlp"):
        """The path of a network of the zoo."""
        return tf.zoo(name, self.folder / f"{name}.onnx")
