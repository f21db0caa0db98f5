"""Every notebook of examples/python runs as a script."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import LoopbackFarm, TestInFolder

_EXAMPLES = Path(os.environ["TF_SOURCE_DIR"]) / "examples" / "python"
_SMALL = {"TRIALS": "12", "HEIGHT": "258", "WIDTH": "514"}


class Examples(TestInFolder):
    def run_notebook(self, name, **environment):
        done = subprocess.run([sys.executable, "-W", "error", _EXAMPLES / f"{name}.py"], cwd=self.folder, text=True,
                              env={**os.environ, **_SMALL, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_call_a_model(self):
        self.assertIn("two threads ran two models", self.run_notebook("call_a_model"))

    def test_tune_a_network(self):
        self.assertRegex(self.run_notebook("tune_a_network"), r"matmul.*: \d+ candidates, \d+\.\d to \d+\.\d us")

    def test_schedule_by_hand(self):
        printed = self.run_notebook("schedule_by_hand")
        self.assertIn("step 1 'annotate t0 i9 vectorize' is not legal", printed)
        self.assertRegex(printed, r"tiled <Measurement \d")

    def test_stencil_recipe(self):
        self.assertRegex(self.run_notebook("stencil_recipe"), r"<TunedKernel .* times as fast as the default, 12 trials")

    def test_farm_job(self):
        with LoopbackFarm(self.folder) as server:
            self.assertIn("done 12 trials", self.run_notebook("farm_job", SERVER=server))

    def test_are_all_run_here(self):
        tested = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertTrue({path.stem for path in _EXAMPLES.glob("*.py")} <= tested)


if __name__ == "__main__":
    unittest.main()
