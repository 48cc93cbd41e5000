"""The reader that profiler/store/FORMAT.md prints (sqlite3 and zstandard, nothing of ours) finds what the module finds."""

import os
import re
import sqlite3
import struct
import tempfile
import unittest
import zlib

import zstandard

import pipescope

SAMPLES = os.environ["PIPESCOPE_SAMPLES"]
FOLDER = os.path.join(SAMPLES, "..", "profiler", "store")
TABLES = os.path.join(FOLDER, "tables.md")


def page():
    with open(os.path.join(FOLDER, "FORMAT.md"), encoding="utf-8") as file:
        return file.read()


def code_of(language):
    return re.search(rf"```{language}\n(.*?)```", page(), re.DOTALL)[1]


def reader():
    """The functions of the program on the page."""
    names = {}
    exec(compile(code_of("python"), "FORMAT.md", "exec"), names)  # pylint: disable=exec-used
    return names


def bytes_of(text):
    """The bytes of lines of hexadecimal numbers, with or without words after them."""
    return bytes.fromhex("".join(re.match(r"(?:[0-9a-f]{2}(?: +|$))*", line)[0] for line in text.splitlines()))


def rows_of_table(text):
    """The rows of the first Markdown table of whole numbers: [heading], [[number]]."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return lines[0], [[int(cell) for cell in line] for line in lines[2:]]


class Page(unittest.TestCase):
    def test_the_program_has_at_most_fifty_lines(self):
        self.assertLessEqual(len(code_of("python").splitlines()), 50)

    def test_the_example_is_what_it_says(self):
        headings, rows = rows_of_table(page().split("## An example")[1].split("```hex")[0])
        block = bytes_of(code_of("hex"))
        self.assertIn(f"the {len(block)} bytes of the decompressed block", page())
        columns = reader()["columns_of"](block, len(rows), ["integer"] * len(headings), {})
        self.assertEqual(columns, [list(column) for column in zip(*rows)])
        self.assertEqual(headings, self.columns_of_table("wait")[0])

    def test_the_frame_of_the_example_is_one(self):
        block = zstandard.ZstdDecompressor().decompress(bytes_of(code_of("hex-frame")))
        names, kinds = self.columns_of_table("run")
        row = dict(zip(names, (column[0] for column in reader()["columns_of"](block, 1, kinds, {}))))
        self.assertEqual(row, {"id": 0, "executable": 0, "name": "call 1", "start": 0, "end": 27000000, "samples": 0,
                               "wall_start_ns": 0, "wall_end_ns": 0})

    def test_priors_are_as_described(self):
        # The same bytes as in tests/unit/store/column_prediction_test.cpp.
        priors = reader()["priors_of"](bytes([1, 3, 3, 12, 14, 18, 3, 80, 40, 10]))
        self.assertEqual(priors, {1: {6: 40, 7: 20, 9: 5}})
        raw = bytes([3, 14, 10, 14, 12, 5, 0, 255, 255, 2, 3, 0, 18, 2, 1])
        self.assertEqual(reader()["columns_of"](raw, 4, ["integer"] * 2, priors), [[7, 5, 7, 6], [21, 30, 22, 39]])

    def columns_of_table(self, name):
        with open(TABLES, encoding="utf-8") as file:
            text = re.search(rf"^## \d+ `{name}`(.*?)^## ", file.read(), re.DOTALL | re.MULTILINE)[1]
        names, kinds = zip(*re.findall(r"^\| `(\w+)` \| (\w+) ", text, re.MULTILINE))
        return list(names), list(kinds)


class Format(unittest.TestCase):
    def test_every_table_is_as_described(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.pop")
            settings = {"execution.numerics": False, "execution.record": "tiles", "training.epochs": 1}
            report = pipescope.run(os.path.join(SAMPLES, "mnist", "two_stages.toml"), path, settings)
            found = reader()["read"](path, TABLES)
            file = sqlite3.connect(path)
            self.assertEqual(file.execute("PRAGMA application_id").fetchone()[0], 0x50536370)
            self.assertEqual(list(found), [row[0] for row in file.execute("SELECT name FROM store_table ORDER BY number")])
            for name, columns in found.items():
                self.check_table(name, columns, report.table(name))
            self.assertGreater(self.check_blocks(file), 10, "few blocks say little")
            self.check_rows_of_the_store(file)
            report = None
            file.close()

    def check_table(self, name, found, expected):
        self.assertEqual(list(expected), list(found))
        for column, values in found.items():
            # Not-a-numbers are unequal to themselves, and SQLite stores them as NULL. Newer versions of NumPy name the type
            # of a number in its text.
            stated = expected[column]
            stated = stated.tolist() if hasattr(stated, "tolist") else list(stated)
            self.assertEqual([repr(float("nan") if value is None else value) for value in values],
                             [repr(value) for value in stated], f"{name}.{column}")

    def check_rows_of_the_store(self, file):
        """The checksums of the rows of the store itself."""
        for table, first in (("store_state", 1), ("store_table", 0), ("store_block", 0)):
            for row in file.execute(f"SELECT * FROM {table}"):
                checksum = 0
                for value in row[first:-1]:
                    raw = struct.pack("<q", value) if isinstance(value, int) else value.encode() if isinstance(value, str) else value
                    checksum = zlib.crc32(raw if isinstance(value, int) else struct.pack("<q", len(raw)) + raw, checksum)
                self.assertEqual(checksum, row[-1], f"{table}: {row}")

    def check_blocks(self, file):
        """The checksums of the directory. Returns the number of blocks."""
        blocks = file.execute('SELECT prior_bytes, "offset", bytes, raw_bytes, bytes_crc32, p.payload FROM store_block b '
                              "JOIN store_payload p ON p.id = b.payload").fetchall()
        for prior_bytes, offset, size, raw_bytes, checksum, payload in blocks:
            frame = payload[offset : offset + size]
            self.assertEqual(zlib.crc32(payload[:prior_bytes] + frame), checksum)
            self.assertEqual(len(zstandard.ZstdDecompressor().decompress(frame)), raw_bytes)
        return len(blocks)


if __name__ == "__main__":
    unittest.main()
