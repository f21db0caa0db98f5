"""Recipes: their choices, tuning them, and what is kept."""

import os
import signal
import subprocess
import sys
import textwrap
import unittest

import numpy as np
import tunefarm as tf
from support import TestInFolder

HEIGHT, WIDTH = 258, 514


def stencil():
    """Blurred rows, blurred columns, sharpened: three stages, as tensors and as a workload."""
    image = tf.placeholder((HEIGHT, WIDTH), name="image", domain=(0, 1))
    rows = tf.compute((HEIGHT, WIDTH - 2), lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) / 3, name="rows")
    blurred = tf.compute((HEIGHT - 2, WIDTH - 2), lambda y, x: (rows[y, x] + rows[y + 1, x] + rows[y + 2, x]) / 3,
                         name="blurred")
    sharp = tf.compute((HEIGHT - 2, WIDTH - 2), lambda y, x: image[y + 1, x + 1] * 3 - blurred[y, x] * 2, name="sharp")
    return tf.Workload(sharp)


def expected(image):
    blur = sum(image[:, i:WIDTH - 2 + i] for i in range(3)) / 3
    blur = sum(blur[i:HEIGHT - 2 + i] for i in range(3)) / 3
    return image[1:-1, 1:-1] * 3 - blur * 2


@tf.recipe(strip=tf.choice(0, 4, 8, 16, 32), lanes=tf.choice(1, 4, 8, 16))
def strips(s, strip, lanes):
    """Stages for strips of rows (0: for the whole image), in vectors."""
    if strip:
        s = s.split("t2", "i0", strip).compute_at("t1", "t2", "i0.0").compute_at("t0", "t2", "i0.0")
    if lanes > 1:
        for stage in ("t0", "t1", "t2"):
            s = s.split(stage, "i1", lanes).vectorize(stage, "i1.1")
    return s


class Recipes(unittest.TestCase):
    def test_make_schedules_of_choices(self):
        self.assertEqual(strips.size, 20)
        self.assertEqual(strips.defaults, {"strip": 0, "lanes": 1})
        self.assertEqual(strips.schedule(stencil()).text, "schedule v1\n")
        self.assertIn("vectorize", strips.schedule(stencil(), lanes=8).text)

    def test_refuse_choices_and_functions_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, "no parameter 'width'; it has: strip, lanes"):
            strips.schedule(stencil(), width=3)
        with self.assertRaisesRegex(ValueError, "lanes=3 is none of"):
            strips.schedule(stencil(), lanes=3)
        with self.assertRaisesRegex(TypeError, "no parameter 'n'"):
            tf.Recipe(lambda s: s, {"n": tf.choice(1)})
        with self.assertRaisesRegex(ValueError, "default 3 is none of"):
            tf.choice(1, 2, default=3)
        with self.assertRaisesRegex(TypeError, "must return a Schedule"):
            tf.Recipe(lambda s, n: None, {"n": tf.choice(1)}).schedule(stencil())


class Tuning(TestInFolder):
    def test_of_a_stencil_finds_what_is_faster_than_the_default_and_right(self):
        workload = stencil()
        seen = []
        db = self.folder / "stencil.db"
        tuned = tf.tune_kernel(workload, strips, trials=14, db=db, progress=False, on_progress=lambda p: seen.append(p.trials))
        self.assertEqual(seen, list(range(1, 15)))
        self.assertEqual(tuned.history[0]["choices"], strips.defaults)
        self.assertGreater(tuned.speedup, 1.3)  # vectors against none
        self.assertLess(tuned.ratio_interval[1], 1)
        self.assertGreater(tuned.choices["lanes"], 1)
        self.assertEqual(tuned.best, strips.schedule(workload, **tuned.choices))
        image = np.random.default_rng(1).random((HEIGHT, WIDTH)).astype("f4")
        np.testing.assert_allclose(tuned.compile()(image), expected(image), atol=1e-5)
        # All that was measured is there for builds of such a kernel.
        rows = tf.records(db, only_ok=True)
        self.assertEqual({row["key"] for row in rows}, {workload.key})
        fastest, = tf.best(db, workload.key[:12], top=1)
        self.assertIn((fastest["schedule"], fastest["median_ns"]), {(row["schedule"], row["median_ns"]) for row in rows})
        self.assertTrue(any(row["untuned"] for row in rows))

    def test_of_a_networks_kernel_is_what_its_build_takes(self):
        network = self.network()
        task = max(tf.tasks(network), key=lambda task: task.flops)
        wide = tf.Recipe(lambda s, lanes: s.split("t2", "i1", lanes).vectorize("t2", "i1.1"), {"lanes": tf.choice(8, 16)}, "wide")
        tuned = tf.tune_kernel(task.workload, wide, trials=2, db=self.folder / "tune.db", progress=False)
        self.assertEqual(tuned.trials, 2)
        built = {row["key"]: row for row in tf.compile(network, db=self.folder / "tune.db").report["tasks"]}
        self.assertTrue(built[task.key]["record"])
        self.assertEqual([key for key, row in built.items() if row.get("record")], [task.key])

    def test_tries_every_combination_once_and_then_ends(self):
        for strategy in ("random", "evolutionary"):
            tuned = tf.tune_kernel(stencil(), tf.Recipe(strips.function, {"strip": tf.choice(0, 8), "lanes": tf.choice(4, 8)}),
                                   trials=50, strategy=strategy, progress=False)
            tried = [tuple(row["choices"].values()) for row in tuned.history]
            self.assertEqual(sorted(tried), [(0, 4), (0, 8), (8, 4), (8, 8)])

    def test_leaves_out_choices_that_do_not_go_together(self):
        @tf.recipe(lanes=tf.choice(4, 128, 8))
        def wide(s, lanes):
            return s.split("t2", "i1", lanes).vectorize("t2", "i1.1")

        tuned = tf.tune_kernel(stencil(), wide, trials=10, progress=False)
        self.assertEqual((tuned.trials, tuned.illegal), (2, 1))

    def test_ends_when_the_callback_says_so(self):
        tuned = tf.tune_kernel(stencil(), strips, trials=20, progress=False, on_progress=lambda p: p.trials < 3)
        self.assertEqual(tuned.trials, 3)

    def test_by_ctrl_c_keeps_what_was_measured(self):
        script = self.folder / "tune.py"
        script.write_text(textwrap.dedent("""
            import tunefarm as tf
            from recipe_test import stencil, strips
            try:
                tf.tune_kernel(stencil(), strips, trials=1000, db="tune.db", progress=False,
                               on_progress=lambda p: print(p.trials, flush=True))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """))
        environment = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{os.path.dirname(__file__)}"}
        child = subprocess.Popen([sys.executable, script], cwd=self.folder, stdout=subprocess.PIPE, text=True, env=environment,
                                 start_new_session=True)
        while int(child.stdout.readline()) < 3:
            pass
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the workers get it, too
        rest, _ = child.communicate(timeout=60)
        self.assertTrue(rest.endswith("interrupted\n"), rest)
        self.assertGreaterEqual(len(tf.records(self.folder / "tune.db", only_ok=True)), 3)

    def test_of_a_database_that_cannot_be_written_says_so_at_once(self):
        with self.assertRaisesRegex((tf.Error, FileNotFoundError), "cannot be read"):
            tf.tune_kernel(stencil(), strips, db=self.folder / "no" / "tune.db", progress=False)

    def test_of_a_default_that_is_not_legal_says_so(self):
        broken = tf.Recipe(lambda s, n: s.split("t9", "i0", n), {"n": tf.choice(2, 4)}, name="broken")
        with self.assertRaises(tf.IllegalStep):
            tf.tune_kernel(stencil(), broken, progress=False)


if __name__ == "__main__":
    unittest.main()
