"""Writes profiles by what profiler/store/FORMAT.md says alone, to make files of other minors."""

import math
import re
import sqlite3
import struct
import zlib

import page
import zstandard

ENUMERATION = re.compile(r"[A-Z][A-Za-z]+")


def tables_of_page():
    """{name: (number, is in blocks, [column], [type], [vocabulary or nothing])} of tables.md."""
    with open(page.TABLES, encoding="utf-8") as file:
        text = file.read()
    vocabularies = set(re.findall(r"^\| (\w+) \| 0 ", text, re.MULTILINE))
    tables = {}
    for number, name, storage, body in re.findall(r"## (\d+) `(\w+)`, (\w+)(.*?)(?=\n## )", text, re.DOTALL):
        fields = re.findall(r"^\| `(\w+)` \| (\w+) \| .*? \| (.*?) \|$", body, re.MULTILINE)
        words = [set(ENUMERATION.findall(meaning)) & vocabularies for _, _, meaning in fields]
        tables[name] = (int(number), storage == "blocks", [f[0] for f in fields], [f[1] for f in fields],
                        [next(iter(found), None) for found in words])
    return tables


def crc_of(values, start=0):
    """The checksum of a row, or of one that continues it."""
    for value in values:
        if isinstance(value, int):
            value = struct.pack("<q", value)
        elif value is None or isinstance(value, float):
            value = struct.pack("<d", math.nan if value is None else value)
        else:
            value = value.encode() if isinstance(value, str) else value
            value = struct.pack("<q", len(value)) + value
        start = zlib.crc32(value, start)
    return start


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def zig_zag(number):
    return varint(2 * number if number >= 0 else -2 * number - 1)


def integers(values):
    return b"\3" + b"".join(map(zig_zag, values))


def coded(kind, values):
    """A column in the plainest of its codings."""
    if kind == "integer":
        return integers(values)
    if kind == "real":
        bits = [struct.pack("<d", value) for value in values]
        return b"\1" + b"".join(bytes(one[place] for one in bits) for place in range(8))
    return b"\0" + integers([len(value.encode()) for value in values]) + b"".join(value.encode() for value in values)


def range_of(kind, values):
    numbers = [value for value in values if value == value] if kind != "text" else []  # pylint: disable=comparison-with-itself
    if not numbers:
        return b"\0"
    ends = min(numbers), max(numbers)
    return b"\1" + (b"".join(map(zig_zag, ends)) if kind == "integer" else struct.pack("<2d", *ends))


class Profile:
    """A profile that is written again, table by table."""

    def __init__(self, path):
        self.path, self.known = path, tables_of_page()
        self.rows = page.reader()["read"](path, page.TABLES)
        self.file = sqlite3.connect(path)

    def close(self):
        self.file.commit()
        self.file.close()

    def version(self, change):
        now = self.file.execute("PRAGMA user_version").fetchone()[0]
        self.file.execute(f"PRAGMA user_version = {now + change}")

    def state(self, number):
        row = list(self.file.execute("SELECT * FROM store_state").fetchone())
        row[1] = number
        row[-1] = crc_of(row[1:-1])  # the id does not count
        self.file.execute(f"INSERT OR REPLACE INTO store_state VALUES ({', '.join('?' * len(row))})", row)

    def replace(self, table, row):
        """A row of the directory, without its checksum."""
        row = [*row, crc_of(row)]
        self.file.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def write(self, name, columns):
        """Writes a table anew, with these columns {name: (type, values)}."""
        if self.known[name][1]:
            self.write_blocks(self.known[name][0], columns)
        else:
            self.file.execute(f'DROP TABLE "{name}"')
            self.add_plain(self.known[name][0], name, columns)

    def add_plain(self, number, name, columns):
        sql = {"integer": "INTEGER NOT NULL", "real": "REAL", "text": "TEXT NOT NULL"}
        self.file.execute(f'CREATE TABLE "{name}"({", ".join(f"{chr(34)}{c}{chr(34)} {sql[k]}" for c, (k, _) in columns.items())})')
        rows = list(zip(*(values for _, values in columns.values())))
        self.file.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)
        crc = 0
        for row in rows:
            crc = crc_of([None if kind == "real" and value is None else float(value) if kind == "real" else value
                          for (kind, _), value in zip(columns.values(), row)], crc)
        self.replace("store_table", [number, name, len(rows), 0, crc])

    def write_blocks(self, number, columns):
        """Keeps the division into blocks; each gets a payload of its own."""
        for id_, first, rows in self.file.execute("SELECT id, first_row, rows FROM store_block WHERE table_number = ?",
                                                  (number,)).fetchall():
            part = {name: (kind, values[first : first + rows]) for name, (kind, values) in columns.items()}
            self.write_block(id_, number, first, rows, part)
        self.file.execute("DELETE FROM store_payload WHERE id NOT IN (SELECT payload FROM store_block)")

    def write_block(self, id_, number, first, rows, columns):
        raw = b"".join(coded(kind, values) for kind, values in columns.values())
        frame = zstandard.ZstdCompressor().compress(raw)
        starts = columns.get("start", columns.get("time"))
        ends = columns.get("end", columns.get("time"))
        timed = starts is not None and ends is not None
        times = [1, min(starts[1]), max(ends[1])] if timed else [0, 0, 0]
        ranges = b"".join(range_of(kind, values) for kind, values in columns.values())
        self.replace("store_block", [id_, number, first, rows, *times, ranges, id_, 0, 0, len(frame), len(raw), zlib.crc32(frame)])
        self.file.execute("INSERT OR REPLACE INTO store_payload VALUES (?, ?)", (id_, frame))

    def add_blocks(self, number, name, columns):
        """A table in one block that no minor of today has."""
        last = self.file.execute("SELECT max(id) FROM store_block").fetchone()[0] or 0
        rows = len(next(iter(columns.values()))[1])
        self.write_block(last + 1, number, 0, rows, columns)
        self.replace("store_table", [number, name, rows, 1, 0])

    def columns(self, name):
        """The columns of a table as they are: {name: (type, values)}."""
        _, _, names, kinds, _ = self.known[name]
        return {column: (kind, self.rows[name][column]) for column, kind in zip(names, kinds)}
