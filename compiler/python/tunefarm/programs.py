"""Tunefarm's programs: where they are, and running them."""

import ctypes
import functools
import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from . import _core

_HERE = Path(__file__).parent  # as imported: of a build, the links in it are not followed


def _candidates():
    if named := os.environ.get("TUNEFARM_PROGRAMS"):
        yield Path(named)
        return
    yield _HERE.parent.parent / "bin"  # of a build: python/tunefarm beside bin
    yield _HERE.parents[2] / "tunefarm" / "bin"  # installed: lib/python3/dist-packages/tunefarm, lib/tunefarm/bin
    try:
        from ._built_with import PROGRAMS  # written by pip's installation
        yield Path(PROGRAMS)
    except ImportError:
        pass
    if command := shutil.which("tunefarm"):
        yield Path(command).resolve().parent.parent / "lib" / "tunefarm" / "bin"


@functools.lru_cache(maxsize=None)
def folder():
    """The folder of compiler, tuner, build_worker and trial_worker: $TUNEFARM_PROGRAMS, or found beside this package.

    FileNotFoundError if they are nowhere.
    """
    tried = list(_candidates())
    for candidate in tried:
        if (candidate / "compiler").exists():
            return candidate
    raise FileNotFoundError("Tunefarm's programs are in none of " + ", ".join(map(str, tried)) +
                            ": install Tunefarm, or set TUNEFARM_PROGRAMS to their folder")


_workers = None


def workers():
    """The build workers and the sandbox of this process."""
    global _workers
    if _workers is None:
        _workers = _core.Programs(str(folder()))
    return _workers


def _leave_to_parent():
    global _workers
    if _workers is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_workers))  # never destroyed here: that would end the parent's
        _workers = None


os.register_at_fork(after_in_child=_leave_to_parent)


class Child:
    """A program that runs. Ctrl-C here ends it as Ctrl-C there would, and waits for it: what it measured is kept."""

    def __init__(self, program, *arguments):
        self._name = f"{program} {arguments[0]}"
        # A group of its own: else a terminal would say Ctrl-C to it, too, and the second ends it at once.
        self._process = subprocess.Popen([str(folder() / program), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         start_new_session=True)
        self._said = []
        self._reader = threading.Thread(target=lambda: self._said.extend(self._process.stderr), daemon=True)
        self._reader.start()

    def lines(self):
        """The lines of its standard output as they come."""
        try:
            yield from self._process.stdout
        except BaseException:  # KeyboardInterrupt, or whoever reads has enough
            self.stop()
            while self._process.poll() is None:
                try:
                    self._process.communicate()
                except KeyboardInterrupt:
                    self.stop()
            raise

    def json_lines(self):
        """The same, each read as JSON."""
        return (json.loads(line) for line in self.lines() if line.strip())

    def stop(self):
        """Ctrl-C. The first finishes what runs, the second ends it at once; neither waits."""
        self._process.send_signal(signal.SIGINT)

    def end(self, accepted=(0,)):
        """Waits for its end, once all lines are read, and returns its exit code. Error with what it said, if that is not one
        of the accepted."""
        code = self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._process.stderr.close()
        if code in accepted:
            return code
        said = [line.rstrip() for line in self._said if line.strip()]
        # The last line is the error; those before it are progress.
        text = said[-1] if said else f"it ended with exit code {code}"
        raise _core.Error(text if text.startswith(self._name) else f"{self._name}: {text}")


def run(program, *arguments):
    """The standard output of a program, as text. Error with what it said, if it fails."""
    child = Child(program, *arguments)
    text = "".join(child.lines())
    child.end()
    return text


def run_json(program, *arguments):
    """The same, read as JSON."""
    return json.loads(run(program, *arguments))


def run_lines(program, *arguments):
    """The lines of a program's standard output as they come, each read as JSON. Error as of run()."""
    child = Child(program, *arguments)
    yield from child.json_lines()
    child.end()


def options(**named):
    """Command-line options of those that are set: minutes=5 gives --minutes 5, a list one option for each, True a flag."""
    out = []
    for name, value in named.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            for one in value:
                out += [flag, str(one)]
        else:
            out += [flag, str(value)]
    return out


def network_options(dims=None, at=None, inputs=None, allow=None):
    """The options on a network that several programs take."""

    def size(value):
        if isinstance(value, (tuple, list)):
            least, most, *multiple = value
            return f"{least}..{most}" + (f":{multiple[0]}" if multiple else "")
        return value

    return options(dim=[f"{name}={size(value)}" for name, value in (dims or {}).items()],
                   at=[f"{name}={','.join(map(str, values))}" for name, values in (at or {}).items()],
                   input=[f"{name}={value}" for name, value in (inputs or {}).items()],
                   allow=",".join([allow] if isinstance(allow, str) else allow) if allow else None)
