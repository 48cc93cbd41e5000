"""A profile of a later minor opens today, with unknown things shown as such, and one of an earlier minor opens tomorrow."""

import json
import os
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import page
import rewriting

import pipescope

# Columns that a later format might add to each table. SQLite stores a not-a-number as NULL.
ADDED = {"future_number": ("integer", lambda n: [7 * i - 3 for i in range(n)]),
         "future_real": ("real", lambda n: [0.5 * i for i in range(n)]),
         "future_text": ("text", lambda n: [f"ünknown {i}" for i in range(n)])}
FIXED = "note"  # does not change within a major
UNKNOWN = 77  # a number that no vocabulary has


def rows_of(columns):
    return len(next(iter(columns.values()))[1])


def make_later(path):
    """More tables, columns and properties, and a higher minor."""
    profile = rewriting.Profile(path)
    for name in profile.known:
        columns = profile.columns(name)
        if name == FIXED:
            continue
        if name == "property":
            for column, value in (("key", "future_fact"), ("value", "tomorrow")):
                columns[column] = ("text", [*columns[column][1], value])
        count = rows_of(columns)
        if count > 0 or not profile.known[name][1]:
            profile.write(name, {**columns, **{c: (kind, make(count)) for c, (kind, make) in ADDED.items()}})
    next_number = 1 + max(number for number, *_ in profile.known.values())
    profile.add_plain(next_number, "future_rows", {"x": ("integer", [1, 2, 3])})
    profile.add_blocks(next_number + 1, "future_blocks", {"x": ("integer", [1, 2, 3]), "start": ("integer", [0, 5, 9]),
                                                          "end": ("integer", [4, 8, 12])})
    profile.file.execute('CREATE TABLE "future_index"("anything" BLOB)')
    profile.version(7)
    profile.close()


def make_earlier(path):
    """Each table, but those that do not change, lacks its last column. Returns what was taken away."""
    profile = rewriting.Profile(path)
    taken = []
    for name in profile.known:
        columns = profile.columns(name)
        if name != FIXED and len(columns) > 1 and rows_of(columns) > 0:
            last = list(columns)[-1]
            del columns[last]
            profile.write(name, columns)
            taken.append((name, last))
    profile.version(1)  # any other minor: a lower one than 0.9 has rules of its own
    profile.close()
    return taken


def make_strange(path):
    """Every second value of each enumeration is one that today's vocabularies do not have, and the state is, too."""
    profile = rewriting.Profile(path)
    changed = set()
    for name, (_, _, names, _, vocabularies) in profile.known.items():
        columns = profile.columns(name)
        for column, vocabulary in zip(names, vocabularies):
            if vocabulary and vocabulary not in ("LevelContent",) and rows_of(columns) > 0:
                values = [UNKNOWN if i % 2 == 1 else value for i, value in enumerate(columns[column][1])]
                columns[column] = ("integer", values)
                changed.add(vocabulary)
        if any(vocabularies) and rows_of(columns) > 0:
            profile.write(name, columns)
    profile.state(9)
    profile.version(1)
    profile.close()
    return changed


class OtherMinors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def each(self):
        release = page.releases()[-1]
        for kind in page.kinds(release):
            yield page.unpack(release, kind, self.folder)

    def test_rewriting_changes_nothing(self):
        # Otherwise the tests below would not say why.
        for path in self.each():
            before = page.report(path)
            profile = rewriting.Profile(path)
            for name in profile.known:
                if rows_of(profile.columns(name)) > 0:
                    profile.write(name, profile.columns(name))
            profile.close()
            self.assertEqual(page.report(path), before)

    def test_a_later_minor_opens_with_the_same_figures(self):
        for path in self.each():
            before = page.report(path)
            tables = {name: pipescope.openReport(path).table(name) for name in ("placement", "lane", "property", "operator")}
            make_later(path)
            after = page.report(path)
            self.assertEqual(after, before, path)
            self.assertNotIn("damaged", page.run("verify", path))
            for name, columns in tables.items():
                now = pipescope.openReport(path).table(name)
                self.assertEqual(list(now), list(columns))
                self.assertEqual({c: list(v)[: len(columns[c])] for c, v in now.items()}, {c: list(v) for c, v in columns.items()})

    def test_unknown_values_are_shown_as_unknown(self):
        changed = set()
        for path in self.each():
            changed |= make_strange(path)
            text = page.run("report", path)
            self.assertTrue("does not know (9" in text, path)
            self.assertEqual(json.loads(page.run("report", path, "--format", "json"))["summary"]["state"], "incomplete")
            page.run("report", path, "--format", "html")
            self.assertNotIn("damaged", page.run("verify", path))
        self.assertGreaterEqual(len(changed), 8, changed)

    @unittest.skipUnless(os.environ.get("PIPESCOPE_WINDOW"), "PIPESCOPE_WINDOW does not name the window's program.")
    def test_the_window_shows_unknown_values(self):
        path = page.unpack(page.releases()[-1], "wall_lanes", self.folder)
        make_later(path)
        make_strange(path)
        pages = ["summary", "pipeline", "trace", "stages", "waits", "operations", "memory", "liveness", "programs", "system", "host"]
        with ThreadPoolExecutor(3) as pool:
            for name, done in zip(pages, pool.map(lambda name: self.picture(path, name), pages)):
                self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def picture(self, path, name):
        return subprocess.run([os.environ["PIPESCOPE_WINDOW"], path, "--page", name, "--screenshot", f"{path}.{name}.png"],
                              capture_output=True, text=True, check=False, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})

    def test_an_earlier_minor_opens_with_defaults(self):
        for path in self.each():
            taken = make_earlier(path)
            self.assertGreater(len(taken), 15)
            page.run("report", path)
            profile = pipescope.openReport(path)
            for table, column in taken:
                values = list(profile.table(table)[column])
                self.assertGreater(len(values), 0)
                self.assertEqual(len(set(map(repr, values))), 1, f"{table}.{column} has one default")
            self.assertEqual(set(profile.table("lane")["clock"]), {0})
            profile = None


if __name__ == "__main__":
    unittest.main()
