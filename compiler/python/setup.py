"""`pip install --no-build-isolation --no-deps compiler/python`: the package, with the extension of a build of this source tree.

TUNEFARM_BUILD names a build folder that has it; otherwise build/release is built here first. Nothing is downloaded.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def build_folder():
    """A folder with the extension and the programs."""
    if named := os.environ.get("TUNEFARM_BUILD"):
        return Path(named).resolve()
    folder = ROOT / "build" / "release"
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "tf_python"], check=True)
    return folder


class BuildWithExtension(build_py):
    def run(self):
        super().run()
        folder = build_folder()
        extensions = list((folder / "python" / "tunefarm").glob("_core.*.so"))
        if not extensions:
            raise SystemExit(f"there is no Python module in {folder}: install python3-dev, python3-numpy and pybind11-dev "
                             "(deploy/install_packages.sh), and build target tf_python")
        package = Path(self.build_lib) / "tunefarm"
        shutil.copy(extensions[0], package)
        (package / "_built_with.py").write_text(f"PROGRAMS = {str(folder / 'bin')!r}\n")


version = re.search(r"project\(tunefarm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
scratch = ROOT / "build" / "pip"
scratch.mkdir(parents=True, exist_ok=True)
setup(
    name="tunefarm",
    version=version,
    description="Compiles neural networks, and finds the fastest programs for them by measuring",
    license="Apache-2.0",
    packages=["tunefarm"],
    package_data={"tunefarm": ["*.pyi", "py.typed"]},
    python_requires=">=3.11",
    install_requires=["numpy"],
    zip_safe=False,
    has_ext_modules=lambda: True,
    cmdclass={"build_py": BuildWithExtension},
    options={"build": {"build_base": str(scratch)}, "egg_info": {"egg_base": str(scratch)}},
)
