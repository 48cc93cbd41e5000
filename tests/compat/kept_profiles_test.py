"""Every build opens the profiles of all releases, with the same rows and the same figures."""

import json
import math
import os
import re
import tempfile
import unittest

import page

import pipescope

WRITE = os.environ.get("PIPESCOPE_WRITE_GOLDEN") == "1"
# Kinds that each release has (README.md).
KINDS = {"ipu", "gaudi", "card", "fixed", "dimensions", "imported", "cancelled", "out_of_memory", "wall_lanes"}
# Sections that describe, measure or advise, and whose figures may get better with the program.
UNSTABLE = {"insights", "error_bands", "planned", "stragglers"}
# Intervals and what follows from them get narrower as the program learns its errors.
INTERVALS = re.compile(r"_(least|most)_(cycles|bytes)$|^summary\.fits_share$")


def tables_of(path):
    """{table: {column: checksum}} as the module reads them; tables without rows are left out."""
    profile = pipescope.openReport(path)
    names = page.reader()["read"](path, page.TABLES)
    tables = {}
    for table in names:
        columns = profile.table(table)
        if len(next(iter(columns.values()))) > 0:
            tables[table] = {column: page.checksum(list(values)) for column, values in columns.items()}
    return tables


def figures_of(path):
    document = page.report(path)
    found = page.figures({section: keys for section, keys in document.items() if section not in UNSTABLE})
    return {key: value for key, value in found.items() if not INTERVALS.search(key)}


class KeptProfiles(unittest.TestCase):
    def test_each_release_has_all_kinds_in_small_files(self):
        self.assertTrue(page.releases())
        for release in page.releases():
            self.assertEqual(KINDS, KINDS & set(page.kinds(release)), release)
            for kind in page.kinds(release):
                self.assertLessEqual(os.path.getsize(os.path.join(release, f"{kind}.pop.zst")), 40_000, kind)

    def test_they_are_of_their_kind(self):
        for release in page.releases():
            with tempfile.TemporaryDirectory() as folder:
                summaries = {kind: page.report(page.unpack(release, kind, folder))["summary"] for kind in KINDS}
                rows = {kind: pipescope.openReport(page.unpack(release, kind, folder)) for kind in ("wall_lanes", "imported")}
                self.assertEqual(summaries["cancelled"]["state"], "cancelled")
                self.assertIs(summaries["out_of_memory"]["fits"], False)
                self.assertIs(summaries["ipu"]["fits"], True)
                self.assertEqual(summaries["fixed"]["system"], "fixed")
                self.assertIn("gaudi", summaries["gaudi"]["system"])
                self.assertIn("h100", summaries["card"]["system"])
                self.assertIsNotNone(summaries["dimensions"]["division"])
                self.assertGreater(len(rows["wall_lanes"].table("host_span")["thread"]), 0)
                self.assertGreater(len(rows["imported"].table("placement")["start"]), 0)
                self.assertGreater(summaries["cancelled"]["samples_per_second"], 0)
                rows = None

    def test_rows_and_figures_stay(self):
        for release in page.releases():
            path = os.path.join(release, "figures.json")
            found = self.found_in(release)
            if WRITE:
                self.write(path, found)
                continue
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
            self.assertEqual(set(kept), set(found))
            for kind, expected in kept.items():
                with self.subTest(release=os.path.basename(release), kind=kind):
                    self.compare(expected, found[kind])

    def test_each_is_whole(self):
        for release in page.releases():
            with tempfile.TemporaryDirectory() as folder:
                for kind in page.kinds(release):
                    self.assertNotIn("damaged", page.run("verify", page.unpack(release, kind, folder)))

    def found_in(self, release):
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for kind in page.kinds(release):
                path = page.unpack(release, kind, folder)
                found[kind] = {"tables": tables_of(path), "figures": figures_of(path)}
        return found

    def write(self, path, found):
        kept = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
        for kind, old in kept.items():
            self.assert_tables_stay(old["tables"], found[kind]["tables"])
        # A line for each table keeps the file readable.
        lines = []
        for kind, parts in found.items():
            rows = [f"   {json.dumps(table)}: {json.dumps(columns)}" for table, columns in parts["tables"].items()]
            numbers = [f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(parts["figures"].items())]
            lines.append(f' {json.dumps(kind)}: {{\n  "tables": {{\n' + ",\n".join(rows) + '\n  },\n  "figures": {\n'
                         + ",\n".join(numbers) + "\n  }\n }")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")

    def assert_tables_stay(self, expected, found):
        # A later format may add tables and columns. The tables and columns of the kept profile have the same rows.
        for table, columns in expected.items():
            self.assertEqual(columns, {column: found.get(table, {}).get(column) for column in columns}, table)

    def compare(self, expected, found):
        self.assert_tables_stay(expected["tables"], found["tables"])
        for key, value in expected["figures"].items():
            self.assertIn(key, found["figures"])
            now = found["figures"][key]
            same = now == value if isinstance(value, (bool, int)) else math.isclose(now, value, rel_tol=1e-9)
            self.assertTrue(same, f"{key} is {now}, and was {value}")


if __name__ == "__main__":
    unittest.main()
