"""Reads a profile by what profiler/store/FORMAT.md says alone (SQLite and zstd, nothing of ours) and finds what the module finds."""

import ctypes
import ctypes.util
import os
import re
import sqlite3
import struct
import tempfile
import unittest
import zlib

import pipescope

SAMPLES = os.environ["PIPESCOPE_SAMPLES"]
TABLES = os.path.join(SAMPLES, "..", "profiler", "store", "tables.md")
ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
NONE = 255


def signed(number):
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def tables_of_document():
    """{number: (name, is in blocks, [(column, type)])} of tables.md."""
    tables = {}
    with open(TABLES, encoding="utf-8") as file:
        for line in file:
            if head := re.match(r"## (\d+) `(\w+)`, (plain|blocks)", line):
                columns = []
                tables[int(head[1])] = (head[2], head[3] == "blocks", columns)
            elif row := re.match(r"\| `(\w+)` \| (integer|real|text) \|", line):
                columns.append((row[1], row[2]))
    return tables


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        return self.take(1)[0]

    def take(self, count):
        self.at += count
        part = self.data[self.at - count : self.at]
        assert len(part) == count
        return part

    def varint(self):
        number = shift = 0
        while True:
            next_one = self.byte()
            number |= (next_one & 127) << shift
            shift += 7
            if next_one < 128:
                return number

    def zig_zag(self):
        number = self.varint()
        return signed(number >> 1 ^ -(number & 1))

    def shuffled(self, count, width):
        planes = [self.take(count) for _ in range(width)]
        return [sum(plane[i] << 8 * b for b, plane in enumerate(planes)) for i in range(count)]

    def plain_bytes(self, count):
        smallest, width = self.zig_zag(), self.byte()
        return [signed(smallest + value) for value in self.shuffled(count, width)]

    def integers(self, rows, coding=None):
        coding = self.byte() if coding is None else coding
        if coding == 0:
            return [self.zig_zag()] * rows
        if coding == 1:
            return self.plain_bytes(rows)
        if coding == 2:
            first = self.zig_zag()
            return sums([first] + self.plain_bytes(rows - 1))
        if coding == 3:
            return [self.zig_zag() for _ in range(rows)]
        if coding == 4:
            return sums([self.zig_zag() for _ in range(rows)])
        assert coding == 6, coding
        return [signed(n >> 1 ^ -(n & 1)) for n in self.shuffled(rows, self.byte())]

    def reals(self, rows):
        coding = self.byte()
        assert coding in (0, 1)
        bits = self.shuffled(rows if coding else min(1, rows), 8)
        return [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits] * (1 if coding else rows)

    def texts(self, rows, coding=None):
        coding = self.byte() if coding is None else coding
        if coding == 0:
            lengths = self.integers(rows)
            return [bytes(self.take(length)).decode("utf-8", "replace") for length in lengths]
        assert coding == 1
        entries = self.texts(self.varint(), 0)
        return [entries[i] for i in self.integers(rows)]


def sums(differences):
    values, total = [], 0
    for difference in differences:
        total = signed(total + difference)
        values.append(total)
    return values


def priors_of(raw):
    """{place of a column: {key: x}}"""
    data, priors = Bytes(raw), {}
    while data.at < len(raw):
        place, count = data.byte(), data.varint()
        keys = data.integers(count)
        assert keys == sorted(set(keys))
        priors[place] = dict(zip(keys, data.integers(count)))
    return priors


def columns_of(raw, rows, columns, priors):
    data, values, predicted = Bytes(raw), {}, {}
    names = [name for name, _ in columns]
    for place, (name, kind) in enumerate(columns):
        if kind == "integer":
            coding = data.byte()
            if coding == 5:
                predicted[place] = [data.byte() for _ in range(3)]
                first = data.zig_zag()
                values[name] = data.integers(rows)
                values[name][0] = first
            else:
                values[name] = data.integers(rows, coding)
        else:
            values[name] = data.reals(rows) if kind == "real" else data.texts(rows)
    assert data.at == len(raw)
    resolve(values, names, predicted, priors)
    return values


def resolve(values, names, predicted, priors):
    """Differences become x = value - base, keys and lengths first; then the bases are added."""

    def turn(place):
        key, base, length = predicted[place]
        return 2 if length != NONE else 0 if base == NONE and key not in predicted else 1

    for place in sorted(predicted, key=turn):
        key, _, length = predicted[place]
        seen, before, xs = dict(priors.get(place, {})), 0, []
        for row, difference in enumerate(values[names[place]]):
            of_key = None if key == NONE else values[names[key]][row]
            xs.append(signed(difference + seen.get(of_key, before)))
            before = signed(xs[-1] + (0 if length == NONE else values[names[length]][row]))
            seen[of_key] = before
        values[names[place]] = xs
    for place, (_, base, _) in predicted.items():
        if base != NONE:
            values[names[place]] = [signed(a + b) for a, b in zip(values[names[place]], values[names[base]])]


def decompressed(payload, size=None):
    if size is None:
        size = ZSTD.ZSTD_getFrameContentSize(payload, ctypes.c_size_t(len(payload)))
    buffer = ctypes.create_string_buffer(max(1, size))
    found = ZSTD.ZSTD_decompress(buffer, ctypes.c_size_t(size), payload, ctypes.c_size_t(len(payload)))
    assert found == size, found
    return buffer.raw[:size]


class Format(unittest.TestCase):
    def test_every_table_is_as_described(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.pop")
            settings = {"execution.numerics": False, "execution.record": "tiles", "training.epochs": 1}
            report = pipescope.run(os.path.join(SAMPLES, "mnist", "two_stages.toml"), path, settings)
            file = sqlite3.connect(path)
            self.assertEqual(file.execute("PRAGMA application_id").fetchone()[0], 0x50536370)
            blocks = self.check_tables(file, report)
            self.assertGreater(blocks, 10, "few blocks say little")
            report = None
            file.close()

    def test_priors_are_as_described(self):
        # The same bytes as in tests/unit/store/prediction_test.cpp.
        priors = priors_of(bytes([1, 3, 3, 12, 14, 18, 3, 80, 40, 10]))
        self.assertEqual(priors, {1: {6: 40, 7: 20, 9: 5}})
        raw = bytes([3, 14, 10, 14, 12, 5, 0, 255, 255, 2, 3, 0, 18, 2, 1])
        values = columns_of(raw, 4, [("key", "integer"), ("x", "integer")], priors)
        self.assertEqual(values, {"key": [7, 5, 7, 6], "x": [21, 30, 22, 39]})

    def check_tables(self, file, report):
        described = tables_of_document()
        self.assertEqual([described[n][0] for n in sorted(described)],
                         [row[0] for row in file.execute("SELECT name FROM store_table ORDER BY number")])
        blocks_seen = 0
        for number, (name, in_blocks, columns) in described.items():
            expected = report.table(name)
            self.assertEqual(list(expected), [column for column, _ in columns])
            found = {column: [] for column, _ in columns}
            if in_blocks:
                blocks = file.execute('SELECT rows, prior_bytes, "offset", bytes, raw_bytes, bytes_crc32, p.payload FROM store_block b '
                                      "JOIN store_payload p ON p.id = b.payload WHERE table_number = ? ORDER BY b.id", (number,))
                for rows, prior_bytes, offset, size, raw_size, checksum, payload in blocks:
                    own = payload[offset : offset + size]
                    self.assertEqual(zlib.crc32(payload[:prior_bytes] + own), checksum)
                    priors = priors_of(decompressed(payload[:prior_bytes])) if prior_bytes else {}
                    for column, values in columns_of(decompressed(own, raw_size), rows, columns, priors).items():
                        found[column] += values
                    blocks_seen += 1
            else:
                for row in file.execute(f'SELECT {", ".join(chr(34) + c + chr(34) for c, _ in columns)} FROM "{name}" ORDER BY rowid'):
                    for (column, _), value in zip(columns, row):
                        found[column].append(value)
            for column, kind in columns:
                wanted = list(expected[column])
                if kind == "real":  # not-a-numbers are unequal to themselves
                    self.assertEqual([repr(float("nan") if v is None else float(v)) for v in found[column]],
                                     [repr(float(v)) for v in wanted], f"{name}.{column}")
                else:
                    self.assertEqual(found[column], wanted, f"{name}.{column}")
        return blocks_seen


if __name__ == "__main__":
    unittest.main()
