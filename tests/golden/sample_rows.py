#!/usr/bin/env python3
"""Compares the emulated rows of a sample's profile with those of an earlier state of the device models.

sample_rows.py PIPESCOPE SAMPLE.toml EXPECTED.txt runs the sample without numerics, exports its profile to SQLite and
computes, for each table below, the number of rows and a digest of all their values. These must be the ones that
EXPECTED.txt lists. If EXPECTED.txt lists losses, the sample is also trained on 12,000 random samples, and the losses must agree
to four digits. A change of a device model changes the digests: PIPESCOPE_WRITE_GOLDEN=1 writes the new ones. The sums
beside the digests say roughly what changed.
"""
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile

# The columns are named, so that a table may gain a column. The last name is the column that is summed up.
TABLES = {
    "boundary": "executable from_stage to_stage kind tensor shape bytes ticks",
    "stage": "executable index device blocks stash_entries stash_bytes_per_entry",
    "link": "id from_device to_device name bytes_per_second",
    "segment": "id executable device lane stage chunk pass name ticks",
    "step": "segment lane offset kind program active_units min_ticks max_ticks mean_ticks bytes_in bytes_out ticks",
    "run": "id executable name start samples end",
    "placement": "id segment device start run replica stage chunk pass micro_batch iteration end",
    "transfer": "id from_lane to_lane link kind start end from_placement run iteration micro_batch bytes",
    "wait": "device start cause waited_for waited_for_device run iteration stage end",
    "variable": "id executable memory_space category shape max_unit_bytes always_live stage bytes",
    "variable_units": "variable first_unit unit_count bytes",
    "life_interval": "variable first_step end_step",
    "liveness_step": "executable memory_space index program pass max_unit_not_always_live not_always_live",
    "unit_memory": "executable memory_space category region always_live first_unit unit_count bytes",
    "vertex_use": "executable memory_space program type first_unit unit_count count code_bytes list_bytes state_bytes",
    "counter_sample": "counter time run value",
}
TRAINING = ["--dataset", "synthetic", "--samples", "12000", "--epochs", "1", "--training"]


def run(binary, *arguments):
    done = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")


def exported(binary, sample, folder, *arguments):
    profile, database = os.path.join(folder, "sample.pop"), os.path.join(folder, "sample.sqlite")
    for path in (profile, database):
        if os.path.exists(path):
            os.remove(path)
    run(binary, "run", sample, "-o", profile, "--progress", "off", *arguments)
    run(binary, "export", profile, "--to", "sqlite", "-o", database)
    return sqlite3.connect(database)


def training(sample):
    with open(sample, encoding="utf-8") as file:
        layers = "[[model.layers]]" in file.read()
    # Random data has the shape that the model wants; a list of layers does not say it.
    return TRAINING + (["--set", "model.input=[1,28,28]"] if layers else [])


def shown(value):
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def digest(database, table, columns):
    names = columns.split()
    quoted = ", ".join(f'"{name}"' for name in names)
    rows, total, content = 0, 0.0, hashlib.sha256()
    for row in database.execute(f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):
        rows += 1
        total += row[-1] or 0
        content.update("\t".join(map(shown, row)).encode() + b"\n")
    return f"{table} rows={rows} {names[-1]}={total:.10g} sha256={content.hexdigest()[:20]}"


def losses(database):
    query = """SELECT counter_sample.value FROM counter_sample JOIN counter ON counter.id = counter_sample.counter
               WHERE counter.name = 'loss' ORDER BY counter_sample.rowid"""
    return [value for (value,) in database.execute(query)]


def main():
    binary, sample, expected_path = sys.argv[1:]
    with open(expected_path, encoding="utf-8") as file:
        expected = file.read().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        with_losses = any(line.startswith("losses") for line in expected)
        found_losses = losses(exported(binary, sample, folder, *training(sample))) if with_losses else []
        database = exported(binary, sample, folder, "--no-numerics")
        actual = [digest(database, table, columns) for table, columns in TABLES.items()]
    if os.environ.get("PIPESCOPE_WRITE_GOLDEN") == "1":
        lines = actual + (["losses " + " ".join(f"{loss:.6g}" for loss in found_losses)] if with_losses else [])
        with open(expected_path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return
    wrong = [f"expected {old}\n   found {new}" for old, new in zip(expected, actual) if old != new]
    if len(expected) != len(actual) + with_losses:
        wrong.append(f"{expected_path} has {len(expected)} lines; write it anew.")
    if with_losses:
        wanted = [float(loss) for loss in expected[-1].split()[1:]]
        if not wanted or len(wanted) != len(found_losses):
            wrong.append(f"{len(found_losses)} losses were recorded, but {len(wanted)} were expected.")
        for number, (old, new) in enumerate(zip(wanted, found_losses)):
            if not abs(old - new) <= 1e-4 * abs(old):
                wrong.append(f"loss {number} is {new:.6g} instead of {old:.6g}.")
    if wrong:
        sys.exit("\n".join(wrong))


main()
