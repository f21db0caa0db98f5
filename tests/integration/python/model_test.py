"""Models in Python: building, calling with arrays of all kinds, and what is refused."""

import ctypes
import gc
import json
import os
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import tunefarm as tf
from support import TestInFolder


def has_opencl():
    try:
        return ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint())) == 0
    except OSError:
        return False


class OtherTensor:
    """Hands an array on as another library's tensor does: by DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Built(TestInFolder):
    """A perceptron with one input and one output."""

    def setUp(self):
        super().setUp()
        self.model = tf.compile(self.network())
        info, = self.model.inputs
        self.name = info.name
        self.x = tf.empty(info.shape)
        self.x[...] = np.random.default_rng(1).random(info.shape)

    def run_by_program(self):
        """What `compiler run` gives for the same input."""
        np.save(self.folder / "x.npy", self.x)
        subprocess.run([tf.programs.folder() / "compiler", "run", self.model.folder, "--input",
                        f"{self.name}={self.folder / 'x.npy'}", "--npy", "-o", self.folder / "out"], check=True,
                       capture_output=True)
        return np.load(self.folder / "out" / "output_0.npy")


@unittest.skipUnless(has_opencl(), "there is no OpenCL device")
class OnAGpu(Built):
    def test_gives_what_the_cpu_gives(self):
        on_gpu = tf.compile(self.network(), target="opencl")
        np.testing.assert_allclose(on_gpu(self.x), self.model(self.x), rtol=1e-4, atol=1e-5)


class Calling(Built):
    def test_gives_what_the_program_gives(self):
        self.assertTrue(np.array_equal(self.model(self.x), self.run_by_program()))

    def test_takes_inputs_by_place_by_name_and_as_a_dict(self):
        expected = self.model(self.x)
        self.assertTrue(np.array_equal(self.model(**{self.name: self.x}), expected))
        by_name = self.model({self.name: self.x})
        self.assertEqual(list(by_name), [self.model.outputs[0].name])
        self.assertTrue(np.array_equal(by_name[self.model.outputs[0].name], expected))

    def test_takes_unaligned_and_strided_arrays_and_lists(self):
        expected = self.model(self.x)
        loose = np.empty(self.x.size + 1, "f4")[1:].reshape(self.x.shape)
        loose[...] = self.x
        self.assertTrue(np.array_equal(self.model(loose), expected))
        strided = np.empty(self.x.shape + (2,), "f4")[..., 0]
        strided[...] = self.x
        self.assertTrue(np.array_equal(self.model(strided), expected))
        self.assertTrue(np.array_equal(self.model(self.x.tolist()), expected))

    def test_takes_and_gives_dlpack_without_copies(self):
        result = self.model(OtherTensor(self.x))
        self.assertTrue(np.array_equal(result, self.model(self.x)))
        self.assertEqual(np.from_dlpack(result).ctypes.data, result.ctypes.data)

    def test_writes_to_the_arrays_that_out_names(self):
        expected = self.model(self.x)
        out = tf.empty(expected.shape)
        self.assertIs(self.model(self.x, out=out), out)
        self.assertTrue(np.array_equal(out, expected))
        loose = np.empty(expected.size + 1, "f4")[1:].reshape(expected.shape)
        self.model(self.x, out=[loose])
        self.assertTrue(np.array_equal(loose, expected))

    def test_results_are_aligned_and_outlive_the_model(self):
        result = self.model(self.x)
        self.assertIs(tf.aligned(result), result)
        before = result.copy()
        del self.model
        gc.collect()
        self.assertTrue(np.array_equal(result, before))

    def test_each_call_has_results_of_its_own(self):
        first = self.model(self.x)
        kept = first.copy()
        self.x[...] = 0
        self.model(self.x)
        self.assertTrue(np.array_equal(first, kept))


class Refusals(Built):
    def refused(self, kind, *texts, call):
        with self.assertRaises(kind) as raised:
            call()
        for text in texts:
            self.assertIn(text, str(raised.exception))

    def test_say_what_is_given_what_is_wanted_and_what_to_do(self):
        shape = list(self.x.shape)
        self.refused(TypeError, f"input '{self.name}' is float64{shape}, but must be float32{shape}",
                     ".astype(numpy.float32)", call=lambda: self.model(self.x.astype("f8")))
        self.refused(ValueError, "is float32[3], but must be", call=lambda: self.model(np.zeros(3, "f4")))
        self.refused(TypeError, "1 inputs, but 2 are given", call=lambda: self.model(self.x, self.x))
        self.refused(TypeError, f"needs {self.name}: f32", call=lambda: self.model({}))
        self.refused(TypeError, "no input 'y'; its inputs are", call=lambda: self.model(y=self.x))
        self.refused(TypeError, "twice", call=lambda: self.model(self.x, **{self.name: self.x}))

    def test_of_outputs_name_the_reason(self):
        right = self.model(self.x)
        fixed = right.copy()
        fixed.flags.writeable = False
        self.refused(ValueError, "read-only", call=lambda: self.model(self.x, out=fixed))
        self.refused(TypeError, "is a list, but must be a NumPy array", call=lambda: self.model(self.x, out=[[1.0]]))
        self.refused(TypeError, "no output 'y'", call=lambda: self.model(self.x, out={"y": right}))
        both = tf.empty((max(self.x.size, right.size),))
        self.refused(ValueError, "shares memory with input", call=lambda: self.model(
            both[:self.x.size].reshape(self.x.shape), out=both[:right.size].reshape(right.shape)))

    def test_of_files_and_folders_are_one_line(self):
        self.refused(FileNotFoundError, "there is no", "compiler build", call=lambda: tf.Model.load(self.folder / "no"))
        self.refused(tf.Error, "compiler build: cannot read", call=lambda: tf.compile(self.folder / "no.onnx"))
        self.refused(tf.Error, "compiler build: ", call=lambda: tf.compile(b"no network"))
        self.refused(TypeError, "ONNX file, its bytes", call=lambda: tf.compile(3))


class Compiling(TestInFolder):
    def test_takes_bytes_and_keeps_an_output_folder(self):
        model = tf.compile(self.network().read_bytes(), output=self.folder / "built", threads=2)
        self.assertTrue((self.folder / "built" / "model.so").exists())
        self.assertTrue(model.report["tasks"])
        again = tf.Model.load(self.folder / "built")
        x = np.ones(again.inputs[0].shape, "f4")
        self.assertTrue(np.allclose(again(x), model(x), rtol=1e-4))

    def test_leaves_no_temporary_folder(self):
        model = tf.compile(self.network())
        folder = model.folder
        self.assertTrue(folder.exists())
        del model
        gc.collect()
        self.assertFalse(folder.exists())

    def test_for_another_cpu_of_this_kind_is_loaded_where_that_can_be(self):
        model = tf.compile(self.network(), f"{os.uname().machine}")
        self.assertEqual(model(np.zeros(model.inputs[0].shape, "f4")).shape, model.outputs[0].shape)

    def test_for_a_range_of_sizes_runs_at_each(self):
        network = tf.zoo("mlp", self.folder / "open.onnx", batch_name="batch")
        model = tf.compile(network, dims={"batch": (1, 4)})
        self.assertEqual(model.dims["batch"][:2], (1, 4))
        for batch in (1, 3):
            inputs = [np.ones((batch,) + info.shape[1:], tf.dtypes.numpy_dtype(info.dtype)) for info in model.inputs]
            result = model(*inputs)
            first = result[0] if isinstance(result, tuple) else result
            self.assertEqual(first.shape[0], batch)
            out = [np.empty_like(array) for array in (result if isinstance(result, tuple) else (result,))]
            model(*inputs, out=out)
            self.assertTrue(np.array_equal(out[0], first))
        with self.assertRaisesRegex(ValueError, r"batch=1\.\.4"):
            model(*[np.ones((5,) + info.shape[1:], tf.dtypes.numpy_dtype(info.dtype)) for info in model.inputs])


    def test_is_timed_in_a_process_of_its_own(self):
        model = tf.compile(self.network())
        timed = model.bench(runs=3, profile=True)
        self.assertIn("kernels", json.dumps(timed))


class Threads(TestInFolder):
    def test_two_models_run_at_once_and_give_their_own_answers(self):
        models = [tf.compile(self.network(name)) for name in ("mlp", "squeezenet")]
        inputs = [np.random.default_rng(i).random(m.inputs[0].shape).astype("f4") for i, m in enumerate(models)]
        expected = [m(x) for m, x in zip(models, inputs)]
        wrong = []
        inside = [False, False]
        met = threading.Event()

        def run(index):
            deadline = time.monotonic() + 10
            while not met.is_set() and time.monotonic() < deadline:
                inside[index] = True
                if all(inside):
                    met.set()
                for _ in range(20):
                    if not np.array_equal(models[index](inputs[index]), expected[index]):
                        wrong.append(index)
                inside[index] = False

        threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertTrue(met.is_set())

    def test_others_run_while_a_network_does(self):
        model = tf.compile(self.network("squeezenet"))
        x = np.zeros(model.inputs[0].shape, "f4")
        counted = 0
        running = threading.Event()
        done = threading.Event()

        def call():
            running.set()
            for _ in range(50):
                model(x)
            done.set()

        thread = threading.Thread(target=call)
        thread.start()
        running.wait()
        while not done.is_set():
            counted += 1
        thread.join()
        self.assertGreater(counted, 1000)  # with the GIL held it would be a handful

    def test_in_forked_processes_have_their_own_answers(self):
        model = tf.compile(self.network(), threads=2)
        x = np.full(model.inputs[0].shape, 0.5, "f4")
        expected = model(x)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, b"same" if np.array_equal(model(x), expected) else b"other")
            finally:
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(os.read(reader, 10), b"same")
        os.close(reader), os.close(writer)
        self.assertTrue(np.array_equal(model(x), expected))

    def test_that_are_daemons_do_not_disturb_the_end_of_python(self):
        model = tf.compile(self.network(), output=self.folder / "built")
        code = f"""
import threading
import time
import numpy as np
import tunefarm as tf
model = tf.Model.load({str(model.folder)!r})
x = np.zeros({tuple(model.inputs[0].shape)}, "f4")
def run():
    while True:
        model(x)
for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
"""
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (0, b""))

    def test_share_one_model_and_each_has_its_answer(self):
        model = tf.compile(self.network())
        inputs = [np.full(model.inputs[0].shape, i / 4, "f4") for i in range(4)]
        expected = [model(x) for x in inputs]
        wrong = []

        def call(index):
            for _ in range(200):
                if not np.array_equal(model(inputs[index]), expected[index]):
                    wrong.append(index)

        threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
