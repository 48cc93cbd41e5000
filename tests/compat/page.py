"""What the tests of this folder share: the program of FORMAT.md, kept profiles, and reports."""

import glob
import json
import os
import re
import subprocess
import zlib

import zstandard

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
STORE = os.path.join(SOURCE, "profiler", "store")
TABLES = os.path.join(STORE, "tables.md")
PROGRAM = os.environ["PIPESCOPE_PROGRAM"]


def reader():
    """The functions of the program that FORMAT.md prints."""
    with open(os.path.join(STORE, "FORMAT.md"), encoding="utf-8") as file:
        program = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL)[1]
    names = {}
    exec(compile(program, "FORMAT.md", "exec"), names)  # pylint: disable=exec-used
    return names


def releases():
    """Folders of kept profiles."""
    return sorted(os.path.dirname(path) for path in glob.glob(os.path.join(HERE, "*", "fixed.pop.zst")))


def kinds(release):
    return sorted(os.path.basename(path)[: -len(".pop.zst")] for path in glob.glob(os.path.join(release, "*.pop.zst")))


def unpack(release, kind, folder):
    """Writes a kept profile into the folder and returns its path."""
    path = os.path.join(folder, f"{kind}.pop")
    with open(os.path.join(release, f"{kind}.pop.zst"), "rb") as packed, open(path, "wb") as file:
        file.write(zstandard.ZstdDecompressor().decompress(packed.read(), 16 << 20))
    return path


def run(*arguments):
    """Runs pipescope and returns what it prints; a failure is an error with what it says."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"pipescope {' '.join(arguments)} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def report(path):
    return json.loads(run("report", path, "--format", "json"))


def figures(document):
    """The numbers and flags of the sections, but not those within tables: {section.key: value}."""
    found = {}
    for section, keys in document.items():
        for key, value in keys.items():
            if isinstance(value, (int, float)):
                found[f"{section}.{key}"] = value
    return found


def checksum(values):
    # NumPy 2 writes its scalars with their type, NumPy 1 as Python does.
    plain = (value.item() if hasattr(value, "item") else value for value in values)
    return zlib.crc32("\n".join(map(repr, plain)).encode())
