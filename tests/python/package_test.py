"""The parts of the package depend on each other one way only."""

import ast
import os
import unittest

ROOT = os.path.join(os.environ["PIPESCOPE_SOURCE"], "app", "python", "pipescope")


def part_of(path):
    """The part of the package that a module belongs to: a folder such as poptorch, or a file such as instances."""
    return path.replace(".py", "").split("/")[0]


def imported(path, text):
    """Yield the parts that a file imports by relative names."""
    folder = path.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        base = folder[: len(folder) - node.level + 1]
        names = [node.module] if node.module else [alias.name for alias in node.names]
        for name in names:
            yield [*base, *name.split(".")][0]


def dependencies():
    """Return {part: parts that it imports}."""
    found = {}
    for folder, _, files in os.walk(ROOT):
        for file in files:
            if not file.endswith(".py"):
                continue
            path = os.path.relpath(os.path.join(folder, file), ROOT)
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                parts = set(imported(path, text.read()))
            found.setdefault(part_of(path), set()).update(parts - {part_of(path)})
    return found


class Parts(unittest.TestCase):
    def test_no_parts_import_each_other(self):
        parts = dependencies()
        self.assertIn("instances", parts["popdist"])  # the walk found files and imports
        for start in parts:
            waiting, seen = [start], set()
            while waiting:
                for other in parts.get(waiting.pop(), ()):
                    self.assertNotEqual(other, start, f"{start} is imported by what it imports itself")
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)


if __name__ == "__main__":
    unittest.main()
