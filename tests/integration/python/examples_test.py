"""The notebooks of examples/python run as scripts, by their run.sh and, of a farm, by themselves."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import LoopbackFarm, TestInFolder

_EXAMPLES = Path(os.environ["TF_SOURCE_DIR"]) / "examples" / "python"
_SMALL = {"TRIALS": "12", "HEIGHT": "258", "WIDTH": "514", "PYTHONWARNINGS": "error"}


class Examples(TestInFolder):
    def run_command(self, *command, **environment):
        done = subprocess.run(command, cwd=self.folder, text=True, env={**os.environ, **_SMALL, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_run_all_but_the_one_that_needs_a_farm(self):
        printed = self.run_command(_EXAMPLES / "run.sh", self.folder / "work", TUNEFARM_BUILD=os.environ["TF_BINARY_DIR"])
        for pattern in ("two threads ran two models", r"matmul.*: \d+ candidates, \d+ to \d+ ns",
                        r"step 1 'annotate t0 i9 vectorize' is not legal", r"tiled <Measurement \d",
                        r"<TunedKernel .* times as fast as the default, 12 trials"):
            self.assertRegex(printed, pattern)
        for notebook in _EXAMPLES.glob("*.py"):
            self.assertEqual(f"== {notebook.stem}\n" in printed, notebook.stem != "farm_job", notebook)

    def test_of_a_farm_follows_a_job(self):
        with LoopbackFarm(self.folder) as server:
            self.assertIn("done 12 trials", self.run_command(sys.executable, _EXAMPLES / "farm_job.py", SERVER=server))


if __name__ == "__main__":
    unittest.main()
