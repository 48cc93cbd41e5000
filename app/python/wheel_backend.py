"""Makes a wheel from an existing build, as PEP 517 asks for it. It needs nothing but Python and CMake.

The build tree is the newest one below build/, or what the environment variable PIPESCOPE_BUILD names.
"""

import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

_HERE = os.path.dirname(os.path.abspath(__file__))


def get_requires_for_build_wheel(config_settings=None):
    """Return the packages that building needs: none."""
    return []


def _build_tree():
    """Return the folder of the build tree and refuse one without the module."""
    given = os.environ.get("PIPESCOPE_BUILD")
    root = os.path.join(_HERE, "..", "..")
    trees = [given] if given else [*glob.glob(os.path.join(root, "build")), *glob.glob(os.path.join(root, "build", "*"))]
    modules = [path for tree in trees for path in glob.glob(os.path.join(tree, "app/python/pipescope/_pipescope*.so"))]
    if not modules:
        raise SystemExit(
            f"There is no built module in {given or 'build/'}: build the targets pipescope and pipescope_python first, or "
            "name the build tree in PIPESCOPE_BUILD."
        )
    newest = max(modules, key=os.path.getmtime)
    return os.path.normpath(os.path.join(os.path.dirname(newest), "..", "..", ".."))


def _version(tree):
    with open(os.path.join(tree, "CMakeCache.txt"), encoding="utf-8") as cache:
        found = re.search(r"^CMAKE_PROJECT_VERSION:\w+=(.+)$", cache.read(), re.MULTILINE)
    return found.group(1)


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


class _Wheel:
    """A zip file with the list of what it holds."""

    def __init__(self, path, info):
        self._zip, self._info, self._records = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), info, []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(content)}")

    def close(self):
        lines = "\n".join([*self._records, f"{self._info}/RECORD,,", ""])
        self._zip.writestr(f"{self._info}/RECORD", lines)
        self._zip.close()


def _add_files(wheel, installed, name):
    """Add what CMake installed: the package itself, and programs and modules where the package looks for them."""
    for folder, _, files in sorted(os.walk(installed)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            place = os.path.relpath(path, installed)
            _, found, inside = place.partition("-packages/")
            with open(path, "rb") as content:
                wheel.add(inside if found else f"{name}.data/data/{place}", content.read(),
                          0o755 if os.access(path, os.X_OK) else 0o644)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel and return its name."""
    tree = _build_tree()
    version, tag = _version(tree), _tag()
    name = f"pipescope-{version}"
    info = f"{name}.dist-info"
    wheel = _Wheel(os.path.join(wheel_directory, f"{name}-{tag}.whl"), info)
    with tempfile.TemporaryDirectory() as installed:
        subprocess.run(["cmake", "--install", tree, "--prefix", installed, "--component", "python", "--strip"], check=True,
                       stdout=subprocess.DEVNULL)
        _add_files(wheel, installed, name)
    wheel.add(f"{info}/METADATA", (f"Metadata-Version: 2.1\nName: pipescope\nVersion: {version}\n"
                                   "Summary: Pipelines on emulated IPUs and Gaudis\nRequires-Dist: numpy\n").encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: pipescope\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.close()
    return f"{name}-{tag}.whl"
