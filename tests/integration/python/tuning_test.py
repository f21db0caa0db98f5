"""Tuning, records and jobs of a farm from Python."""

import io
import signal
import subprocess
import sys
import textwrap
import time
import types
import unittest
from unittest import mock

import numpy as np
import tunefarm as tf
from support import LoopbackFarm, TestInFolder
from tunefarm.progress import Progress, curve_svg, shown

_LINE = {"trials": 3, "failures": 1, "trials_per_second": 2.0, "elapsed_s": 30.0, "remaining_s": 90.0, "phase": "PHASE_MEASURING",
         "tasks": [{"label": "a", "weight": 2, "trials": 2, "best_ns": 1000.0, "untuned_ns": 2000.0},
                   {"label": "b", "weight": 0, "trials": 0, "best_ns": 0, "untuned_ns": 0}]}


class Tuning(TestInFolder):
    def test_measures_tells_its_progress_and_keeps_what_it_found(self):
        seen = []
        db = self.folder / "tune.db"
        tuned = tf.tune(self.network(), db, trials=15, progress=False, on_progress=lambda p: seen.append((p.trials, p.phase)))
        self.assertEqual(tuned.trials, 15)
        self.assertEqual(seen[-1], (15, "over"))
        self.assertIn(tuned.network["takes"], ("fastest", "untuned"))
        rows = tf.records(db)
        kernels = {row["key"] for row in tf.best(db)}
        self.assertTrue(kernels <= {row["key"] for row in rows})
        timed = [row for row in rows if row["outcome"] == "ok"]
        self.assertTrue(timed)
        for row in timed:
            self.assertLessEqual(row["low_ns"], row["median_ns"])
            self.assertLessEqual(row["median_ns"], row["high_ns"])
            self.assertAlmostEqual(row["gflops"], row["flops"] / row["median_ns"])
            self.assertEqual(len(row["key"]), 64)
        model = tuned.compile()
        self.assertTrue(any(task["record"] for task in model.report["tasks"] if "record" in task))
        x = np.random.default_rng(2).random(model.inputs[0].shape).astype("f4")
        untuned = tf.compile(self.folder / "mlp.onnx")
        self.assertTrue(np.allclose(model(x), untuned(x), rtol=1e-3, atol=1e-5))

    def test_ends_early_when_the_callback_says_so(self):
        tuned = tf.tune(self.network(), self.folder / "tune.db", minutes=30, progress=False,
                        on_progress=lambda p: p.trials < 5)
        self.assertTrue(tuned.stopped)
        self.assertGreaterEqual(tuned.trials, 5)

    def test_of_what_cannot_be_tuned_says_why_in_one_line(self):
        network = self.network()
        for db, network, text in ((self.folder / "no" / "tune.db", network, "cannot open the database"),
                                  (self.folder / "tune.db", self.folder / "no.onnx", "cannot read")):
            with self.assertRaises(tf.Error) as raised:
                tf.tune(network, db, trials=1, progress=False)
            self.assertIn(text, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(tf.Error, "no database"):
            tf.records(self.folder / "no.db")

    def test_by_ctrl_c_finishes_what_runs_and_keeps_it(self):
        self.network()
        script = self.folder / "tune.py"
        script.write_text(textwrap.dedent("""
            import tunefarm as tf
            try:
                tf.tune("mlp.onnx", "tune.db", minutes=30, progress=False, on_progress=lambda p: print(p.trials, flush=True))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """))
        child = subprocess.Popen([sys.executable, script], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        while int(child.stdout.readline()) < 3:
            pass
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=60)
        self.assertTrue(rest.endswith("interrupted\n"), rest)
        self.assertGreaterEqual(len(tf.records(self.folder / "tune.db", only_ok=True)), 3)


class Showing(unittest.TestCase):
    def progress(self):
        progress = Progress()
        progress.update(_LINE)
        return progress

    def test_is_one_line_with_times_and_gain(self):
        self.assertEqual(str(self.progress()),
                         " 25%|█████               |  3 trials  1 failed  2.0/s  1:30 left  best 2 us (-50%)")

    def test_on_a_terminal_updates_one_line(self):
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        progress = self.progress()
        with mock.patch.object(sys, "stderr", terminal):
            with shown(progress) as show:
                show()
                show()
        self.assertEqual(terminal.getvalue().count("\r"), 3)
        self.assertEqual(terminal.getvalue().count("\n"), 1)

    def test_in_a_notebook_is_a_curve_that_moves(self):
        drawings = []
        display = types.ModuleType("IPython.display")
        display.HTML = str
        display.display = lambda html, display_id: types.SimpleNamespace(update=drawings.append)
        notebook = types.ModuleType("IPython")
        notebook.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
        progress = self.progress()
        with mock.patch.dict(sys.modules, {"IPython": notebook, "IPython.display": display}):
            with shown(progress) as show:
                show()
                progress.elapsed_s = 40
                progress.set_best(1500, 4000)
        self.assertEqual(len(drawings), 2)
        self.assertNotEqual(drawings[0], drawings[1])
        self.assertIn("untuned", drawings[0])

    def test_of_nothing_draws_no_curve(self):
        self.assertNotIn("<path", curve_svg(Progress()))


class OnAFarm(TestInFolder):
    def reaches(self, state, job):
        deadline = time.monotonic() + 60
        while job.refresh().state != state:
            self.assertLess(time.monotonic(), deadline, job.refresh())
            time.sleep(0.1)

    def test_jobs_are_submitted_watched_and_changed(self):
        network = self.network()
        with LoopbackFarm(self.folder) as server:
            farm = tf.Farm(server)
            job = farm.submit(network, device="desk", trials=12)
            seen = []
            ended = job.watch(progress=False, on_progress=lambda p: seen.append(p.trials))
            self.assertEqual((ended.id, ended.state), (job.id, "done"))
            self.assertGreaterEqual(ended.trials, 12)
            self.assertGreaterEqual(len(farm.records(only_ok=True)), 1)
            self.assertEqual(farm.compile(network)(np.zeros((1, 784), "f4")).shape, (1, 10))

            long = farm.submit(network, device="desk", minutes=60, seed=7)
            self.reaches("running", long)
            self.assertEqual(farm.watch(long.id, lambda p: False, progress=False).state, "running")
            self.assertEqual(farm.pause(long.id).id, long.id)
            self.reaches("paused", long)
            long.resume()
            self.reaches("running", long)
            long.cancel()
            self.assertEqual(long.watch(progress=False).state, "cancelled")
            self.assertEqual({job.id for job in farm.jobs()}, {job.id, long.id})
            with self.assertRaises(LookupError):
                farm.job(99)
            with self.assertRaisesRegex(tf.Error, "no job 99|99"):
                farm.cancel(99)
            with self.assertRaisesRegex(tf.Error, "tuner submit: "):
                farm.submit(network, device="nowhere", trials=1, target="x86_64:cpu=none")

    def test_that_is_not_there_is_one_line(self):
        with self.assertRaisesRegex(tf.Error, "no tuner answers at 127.0.0.1:1"):
            tf.Farm("127.0.0.1:1").jobs()


if __name__ == "__main__":
    unittest.main()
