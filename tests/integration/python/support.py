"""What tests of the Python module share: a folder for each test, and small networks."""

import re
import subprocess
import tempfile
import time
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


class LoopbackFarm:
    """A tracker, an agent with the key "desk" and a tuner on this machine: `with` gives the tuner's HOST:PORT."""

    def __init__(self, folder):
        self._folder = folder
        self._processes = []

    def _start(self, program, *arguments):
        log = self._folder / f"{program}.log"
        with log.open("w") as out:
            self._processes.append(subprocess.Popen([tf.programs.folder() / program, *arguments], cwd=self._folder, stdout=out,
                                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))
        return log

    def _wait_for(self, pattern, text, what):
        deadline = time.monotonic() + 30
        while not (found := re.search(pattern, text())):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: {text()}")
            time.sleep(0.05)
        return found[1]

    def __enter__(self):
        try:
            return self._begin()
        except BaseException:
            self.__exit__()
            raise

    def _begin(self):
        listens = r"listening on (127\.0\.0\.1:\d+)"
        log = self._start("tracker", "serve", "--listen", "127.0.0.1:0", "--state", "tracker.db")
        tracker = self._wait_for(listens, log.read_text, "the tracker does not start")
        self._start("device_agent", "--tracker", tracker, "--key", "desk", "--state-dir", "agent", "--without-sandbox", "missing")
        log = self._start("tuner", "serve", "--db", "farm.db", "--tracker", tracker, "--listen", "127.0.0.1:0")
        tuner = self._wait_for(listens, log.read_text, "the tuner does not start")
        self._wait_for("(desk)", lambda: tf.programs.run("tracker", "devices", "--tracker", tracker), "the agent does not register")
        return tuner

    def __exit__(self, *error):
        for process in reversed(self._processes):
            process.terminate()
            process.wait()
