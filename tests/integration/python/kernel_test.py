"""Workloads, schedules and kernels as values: what expressions compute, what steps do, and what is refused."""

import math
import multiprocessing
import os
import re
import threading
import unittest
from pathlib import Path

import numpy as np
import tunefarm as tf
from support import TestInFolder

_RANDOM = np.random.default_rng(1)


def matmul(n=24, m=40, depth=32, constant=False):
    a = tf.placeholder((n, depth), name="a")
    b = (tf.constant if constant else tf.placeholder)((depth, m), name="b")
    k = tf.reduce_axis(depth)
    product = tf.compute((n, m), lambda i, j: tf.sum(a[i, k] * b[k, j], axis=k), name="product")
    return tf.Workload(tf.compute((n, m), lambda i, j: tf.maximum(product[i, j] + 0.5, 0), name="relu"))


def arrays(workload):
    return [_RANDOM.random(info.shape).astype(tf.numpy_dtype(info.dtype)) for info in workload.inputs]


def _made_in_child(lanes):
    workload = matmul()
    schedule = workload.schedule().split("t1", "i1", lanes).vectorize("t1", "i1.1")
    a, b = arrays(workload)
    return np.allclose(schedule.compile()(a, b), np.maximum(a @ b + 0.5, 0), rtol=1e-4) and schedule.measure().ok


class Expressions(unittest.TestCase):
    def computed(self, function, dtype="f32", values=None):
        """function(x[i]) for each value, as a kernel of plain loops gives it."""
        values = np.asarray(values if values is not None else [-2.5, -1, -0.25, 0.5, 1, 3], tf.numpy_dtype(dtype))
        x = tf.placeholder(values.shape, dtype)
        return tf.Workload(tf.compute(values.shape, lambda i: function(x[i]))).schedule().compile()(values), values

    def test_compute_what_numpy_computes(self):
        for function, same in ((lambda x: x * 2 + 1 - x / 4, lambda x: x * 2 + 1 - x / 4),
                               (lambda x: 1 / (4.25 - (2 - x)), lambda x: 1 / (4.25 - (2 - x))),
                               (lambda x: -tf.abs(x), lambda x: -np.abs(x)),
                               (lambda x: tf.select((x > 0) & ~(x >= 3), x, -1), lambda x: np.where((x > 0) & ~(x >= 3), x, -1)),
                               (lambda x: tf.select((x == 1) | (x != x), 7, x), lambda x: np.where(x == 1, 7, x)),
                               (lambda x: tf.clip(x, -1, 1), lambda x: np.clip(x, -1, 1)),
                               (lambda x: tf.minimum(x, math.inf) * 1e-3, lambda x: x * np.float32(1e-3)),
                               (lambda x: x.astype("i32").astype("f32"), np.trunc),
                               (tf.floor, np.floor), (tf.ceil, np.ceil), (tf.round, np.round), (tf.tanh, np.tanh),
                               (tf.sin, np.sin), (tf.cos, np.cos), (tf.atan, np.arctan),
                               (tf.exp, np.exp), (tf.expm1, np.expm1),
                               (lambda x: tf.log(tf.abs(x)), lambda x: np.log(np.abs(x))),
                               (lambda x: tf.log1p(tf.abs(x)), lambda x: np.log1p(np.abs(x))),
                               (lambda x: tf.sqrt(x * x), np.abs), (lambda x: tf.rsqrt(x * x), lambda x: 1 / np.abs(x)),
                               (lambda x: tf.pow(tf.abs(x), 1.5), lambda x: np.abs(x)**1.5),
                               (lambda x: tf.fmod(x, 2), lambda x: np.fmod(x, 2)),
                               (lambda x: tf.copysign(2, x), lambda x: np.copysign(2, x)),
                               (lambda x: tf.fma(x, x, x), lambda x: x * x + x),
                               (lambda x: tf.sigmoid(x), lambda x: 1 / (1 + np.exp(-x))),
                               (lambda x: tf.erf(x), lambda x: np.array([math.erf(v) for v in x]))):
            result, values = self.computed(function)
            np.testing.assert_allclose(result, same(values), rtol=2e-6, atol=1e-6)

    def test_of_whole_numbers_round_down(self):
        for dtype in ("i8", "i16", "i32", "i64"):
            result, values = self.computed(lambda x: x // 3 * 10 + x % 3, dtype, [-7, -1, 0, 5])
            np.testing.assert_array_equal(result, values // 3 * 10 + values % 3)
        result, values = self.computed(lambda x: (x & 12) | (x ^ 5), "u32", [0, 7, 255])
        np.testing.assert_array_equal(result, (values & 12) | (values ^ 5))

    def test_reduce_over_one_axis_and_over_two(self):
        x = tf.placeholder((3, 4, 5))
        for reduce, same in ((tf.sum, np.sum), (tf.max, np.max), (tf.min, np.min), (tf.prod, np.prod)):
            i, j = tf.reduce_axis(3), tf.reduce_axis(5)
            kernel = tf.Workload(tf.compute((4,), lambda k: reduce(x[i, k, j], axis=(i, j)))).schedule().compile()
            values = _RANDOM.random((3, 4, 5)).astype("f4")
            np.testing.assert_allclose(kernel(values), same(values, axis=(0, 2)), rtol=1e-5)

    def test_read_guarded_rims_and_elements_that_data_names(self):
        x, at = tf.placeholder((8,)), tf.placeholder((5,), "i64", domain=(0, 7))
        shifted = tf.compute((8,), lambda i: tf.select(i >= 1, x[i - 1], 0))
        picked = tf.compute((5,), lambda i: shifted[tf.clip(at[i], 0, 7)])
        values, places = _RANDOM.random(8).astype("f4"), np.array([7, 0, 3, 99, -4])
        expected = np.concatenate([[0], values[:-1]])[np.clip(places, 0, 7)]
        np.testing.assert_array_equal(tf.Workload(picked).schedule().compile()(values, places), expected.astype("f4"))
        outside = tf.Workload(tf.compute((5,), lambda i: x[at[i]])).schedule().compile()
        np.testing.assert_array_equal(outside(values, places), [values[7], values[0], values[3], 0, 0])

    def test_that_may_read_outside_are_refused(self):
        x = tf.placeholder((8, 8), name="x")
        for function, text in ((lambda i: x[i + 1, 0], "axis 0: 1 to 8, but it has 8"), (lambda i: x[i, i - 1], "axis 1: -1 to 6"),
                               (lambda i: x[i * 2, 0], "0 to 14")):
            with self.assertRaisesRegex(IndexError, text):
                tf.compute((8,), function)

    def test_that_mean_nothing_are_refused_with_a_remedy(self):
        x, n = tf.placeholder((8,), name="x"), tf.placeholder((8,), "i32")
        k = tf.reduce_axis(8)
        for call, kind, text in ((lambda: tf.compute((8,), lambda i: x[i] + n[i]), TypeError, "are f32 and i32: convert one"),
                                 (lambda: tf.compute((8,), lambda i: n[i] / 2), TypeError, "use //"),
                                 (lambda: tf.compute((8,), lambda i: n[i] + 0.5), TypeError, "0.5 is not of type i32"),
                                 (lambda: tf.compute((8,), lambda i: x[i] if x[i] > 0 else 0), TypeError, "tf.select"),
                                 (lambda: tf.compute((8,), lambda i: x), TypeError, "must give an expression"),
                                 (lambda: tf.compute((8,), lambda i: x + 1), TypeError, None),
                                 (lambda: tf.compute((8,), lambda i: tf.sum(x[k], axis=k) + 1), TypeError, None),
                                 (lambda: tf.compute((8,), lambda i, j: x[i]), TypeError, "must take 1 indices"),
                                 (lambda: tf.compute((0,), lambda i: x[i]), ValueError, "at least 1"),
                                 (lambda: x[0, 0], IndexError, "has 1 axes, but 2 indices"),
                                 (lambda: tf.exp(n[0]), TypeError, "of floats"),
                                 (lambda: tf.placeholder((8,), "f33"), TypeError, "not an element type; there are"),
                                 (lambda: tf.Workload(x), ValueError, "is an input")):
            with self.assertRaises(kind) as raised:
                call()
            if text:
                self.assertIn(text, str(raised.exception))


class Workloads(unittest.TestCase):
    def test_have_canonical_text_key_and_names(self):
        workload = matmul()
        self.assertTrue(str(workload).startswith("workload v1\ninput p0: f32[24, 32]\ninput p1: f32[32, 40]\nstage t0: "))
        again = tf.Workload.parse(str(workload))
        self.assertEqual(again.text, workload.text)
        self.assertEqual(again.key, workload.key)
        self.assertEqual(again, workload)
        self.assertNotEqual(matmul(n=25).key, workload.key)
        self.assertEqual([info.name for info in workload.inputs], ["a", "b"])
        self.assertEqual(workload.flops, 24 * 40 * (2 * 32 + 2))

    def test_of_texts_with_sizes_take_a_value_for_each(self):
        text = "workload v1\ndim n in 1..64\ninput x: f32[n]\nstage y: f32[i < n] = x[i] * 2f32\noutput y\n"
        workload = tf.Workload.parse(text, n=5)
        np.testing.assert_array_equal(workload.schedule().compile()(np.ones(5, "f4")), np.full(5, 2, "f4"))
        for sizes, pattern in (({}, "n"), ({"n": 65}, "n")):
            with self.assertRaisesRegex(ValueError, pattern):
                tf.Workload.parse(text, **sizes)
        with self.assertRaisesRegex(ValueError, "line 2|:2:|2:"):
            tf.Workload.parse("workload v1\nnonsense\n")


class Schedules(unittest.TestCase):
    def test_are_values_whose_steps_change_loops(self):
        workload = matmul()
        plain = workload.schedule()
        tiled = plain.split("t1", "i1", 8).vectorize("t1", "i1.1")
        self.assertEqual(plain.text, "schedule v1\n")
        self.assertEqual(tiled.loops("t1"), ["i0", "i1.0", "i1.1"])
        self.assertEqual([loop.kind for loop in tiled.stages[1].loops], ["serial", "serial", "vectorize"])
        self.assertEqual(workload.schedule(text=tiled.text), tiled)
        self.assertNotEqual(tiled, plain)

    def test_by_every_step_compute_the_same(self):
        a = tf.placeholder((24, 32), name="a")
        b = tf.constant((32, 40), name="b")
        k = tf.reduce_axis(32)
        product = tf.compute((24, 40), lambda i, j: tf.sum(a[i, k] * b[k, j], axis=k), name="product")
        moved = tf.compute((24, 40), lambda i, j: product[i, j] + 0.5, name="moved")
        relu = tf.compute((24, 40), lambda i, j: tf.maximum(moved[i, j], 0), name="relu")
        workload = tf.Workload(relu)
        values = arrays(workload)
        expected = np.maximum(values[0] @ values[1] + 0.5, 0)
        s = workload.schedule(threads=2)
        for schedule in (s.inline(moved).layout_rewrite(b, [1, 0]).split(relu, "i0", 6).split(relu, "i1", 16)
                         .reorder(relu, "i0.0", "i1.0", "i0.1", "i1.1").parallel(relu, "i0.0").vectorize(relu, "i1.1")
                         .compute_at(product, relu, "i1.0", "register").unroll(product, "i0"),
                         s.split(product, "r0", 8).rfactor(product, "r0.0").fuse("t0.rf", "i0", "i1").unroll_limit(product, 16),
                         s.cache_read(a, product, [1, 0]).cache_write(product).storage_align("t0.acc", 0, 16, 1),
                         s.compute_at(moved, relu, "i0").root(moved).split(relu, "i0", 5, "shift"),
                         workload.default_schedule(), workload.default_schedule(threads=2)):
            np.testing.assert_allclose(schedule.compile()(*values), expected, rtol=1e-5)
        narrow = workload.schedule(allow="bf16").narrow(b, "bf16")
        np.testing.assert_allclose(narrow.compile()(*values), expected, rtol=2e-2)

    def test_that_are_not_legal_say_what_would_be(self):
        schedule = matmul().schedule()
        for call, text in ((lambda: schedule.split("t0", "i7", 4), "t0 has no loop i7"),
                           (lambda: schedule.parallel("t0", "r0"), "not legal"),
                           (lambda: schedule.compute_at("t0", "t1", "i9"), "not legal")):
            with self.assertRaises(tf.IllegalStep) as raised:
                call()
            self.assertIn(text, str(raised.exception))
        with self.assertRaises(ValueError):
            schedule.step("dance t0")

    def test_have_every_step_of_the_language(self):
        text = (Path(os.environ["TF_SOURCE_DIR"]) / "compiler/schedule/text.cpp").read_text()
        words = set(re.findall(r'StrCat\("([a-z_]+) ", s\.', text))
        self.assertGreater(len(words), 20)
        self.assertEqual({word for word in words if not hasattr(tf.Schedule, word)}, {"annotate", "pragma"})

    def test_of_softmax_by_blocks_compute_the_same(self):
        scores = tf.placeholder((6, 10), name="scores")
        keys = [tf.reduce_axis(10) for _ in range(2)]
        greatest = tf.compute((6,), lambda i: tf.max(scores[i, keys[0]], axis=keys[0]), name="greatest")
        total = tf.compute((6,), lambda i: tf.sum(tf.exp(scores[i, keys[1]] - greatest[i]), axis=keys[1]), name="total")
        weights = tf.compute((6, 10), lambda i, j: tf.exp(scores[i, j] - greatest[i]) / total[i], name="weights")
        workload = tf.Workload(weights)
        schedule = workload.schedule().rescale(greatest, total, total, 4)
        self.assertIn("rescale t0 t1 t1 4\n", schedule.text)
        values = _RANDOM.random((6, 10)).astype("f4")
        powers = np.exp(values - values.max(1, keepdims=True))
        np.testing.assert_allclose(schedule.compile()(values), powers / powers.sum(1, keepdims=True), rtol=1e-5)
        with self.assertRaisesRegex(tf.IllegalStep, "block 5000 is out of range; 1 to 1024 is legal"):
            workload.schedule().rescale(greatest, total, total, 5000)

    def test_compute_a_stage_once_more_for_a_reader(self):
        x = tf.placeholder((8,), name="x")
        twice = tf.compute((8,), lambda i: x[i] * 2, name="twice")
        one, other = (tf.compute((8,), lambda i: twice[i] + n, name=f"sum{n}") for n in (1.0, 2.0))
        schedule = tf.Workload(one, other).schedule().recompute(twice, other)
        self.assertIn("t0.again", [stage.name for stage in schedule.stages])
        values = _RANDOM.random(8).astype("f4")
        np.testing.assert_array_equal(schedule.compile()(values)[1], values * 2 + 2)

    def test_show_loops_passes_and_assembly(self):
        schedule = matmul().default_schedule()
        self.assertIn("function kernel(", schedule.ir())
        passes = schedule.ir(after="all")
        self.assertGreater(len(passes), 3)
        name = next(iter(passes))
        self.assertEqual(schedule.ir(after=name), passes[name])
        self.assertIn(".globl\tkernel", schedule.assembly())
        with self.assertRaises(ValueError):
            schedule.ir(after="no pass")

    def test_for_other_machines_are_shown_but_not_run(self):
        schedule = matmul().default_schedule("aarch64:cpu=cortex-a72")
        self.assertIn("fmla", schedule.assembly())
        with self.assertRaises(tf.Error):
            schedule.compile()

    def test_for_gpus_are_shown_as_source(self):
        schedule = matmul().default_schedule("opencl")
        self.assertIn("thread_x", schedule.ir())
        self.assertIn("__kernel", schedule.assembly())
        for call in (schedule.measure, schedule.compile):
            with self.assertRaisesRegex(tf.Error, "cannot run on this machine's CPU: take the target 'host'"):
                call()

    def test_that_do_not_compile_are_errors_and_no_wrong_values(self):
        schedule = matmul().schedule().bind("t1", "i0", "grid_x")
        for call in (schedule.measure, schedule.compile, schedule.assembly):
            with self.assertRaisesRegex(tf.Error, "is bound to grid_x"):
                call()


class OfNetworks(TestInFolder):
    def test_tasks_are_workloads_in_the_layouts_of_their_network(self):
        tasks = tf.tasks(self.network("squeezenet"))
        self.assertTrue(any(any(layouts) for task in tasks for layouts in task.workload._around[:2]))
        for task in [task for task in tasks if task.flops < 2e7][:6]:
            plain = tf.Workload.parse(task.workload.text)
            self.assertEqual(task.key, plain.key)
            values = arrays(plain)
            np.testing.assert_allclose(task.workload.default_schedule().compile()(*values), plain.schedule().compile()(*values),
                                       rtol=1e-3, atol=1e-4)
            self.assertTrue(task.workload.default_schedule().measure().ok)


class Kernels(unittest.TestCase):
    def test_take_arrays_by_place_by_name_and_any_alignment(self):
        workload = matmul()
        kernel = workload.default_schedule().compile()
        a, b = arrays(workload)
        expected = np.maximum(a @ b + 0.5, 0)
        np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-5)
        np.testing.assert_allclose(kernel(b=b, a=a), expected, rtol=1e-5)
        loose = np.empty(a.size + 1, "f4")[1:].reshape(a.shape)
        loose[...] = a
        out = np.empty(expected.size + 1, "f4")[1:].reshape(expected.shape)
        self.assertIs(kernel(loose, b.T.copy().T, out=out), out)
        np.testing.assert_allclose(out, expected, rtol=1e-5)

    def test_refuse_what_does_not_fit(self):
        workload = matmul()
        kernel = workload.default_schedule().compile()
        a, b = arrays(workload)
        for call, kind, text in ((lambda: kernel(a), TypeError, "2 inputs, but 1"), (lambda: kernel(a, b.T), ValueError, "input p1"),
                                 (lambda: kernel(a.astype("f8"), b), TypeError, "astype"), (lambda: kernel(a, c=b), TypeError, "'c'"),
                                 (lambda: kernel(a, b, out=a), ValueError, "output 0")):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(text, str(raised.exception))

    def test_run_in_threads_at_once(self):
        workload = matmul(64, 64, 64)
        kernels = [workload.default_schedule().compile(), workload.schedule().compile()]
        a, b = arrays(workload)
        expected = np.maximum(a @ b + 0.5, 0)
        wrong = []

        def call(kernel):
            for _ in range(100):
                if not np.allclose(kernel(a, b), expected, rtol=1e-4):
                    wrong.append(kernel)

        threads = [threading.Thread(target=call, args=(kernel,)) for kernel in kernels * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_are_made_in_forked_processes_too(self):
        workload = matmul()
        kernel = workload.default_schedule().compile()
        a, b = arrays(workload)
        expected = kernel(a, b)
        self.assertTrue(workload.default_schedule().measure().ok)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(_made_in_child, [8, 16]), [True, True])
        self.assertTrue(np.array_equal(kernel(a, b), expected))
        self.assertTrue(workload.default_schedule().measure().ok)

    def test_are_measured_with_bounds_and_checked_answers(self):
        measured = matmul().default_schedule().measure()
        self.assertTrue(measured.ok)
        low, high = measured.interval_ns
        self.assertTrue(0 < low <= measured.median_ns <= high)
        self.assertTrue(measured.untuned)
        self.assertEqual(measured.schedule, matmul().default_schedule().text)
        self.assertTrue(matmul().schedule().measure(check=False, samples=3).ok)


if __name__ == "__main__":
    unittest.main()
