#!/usr/bin/env python3
"""Prints digests of all that a build of pipescope emulates and reports, to compare two builds line by line.

state_digests.py PIPESCOPE [--models N] [--samples FOLDER] [--leave-out KEY] > STATE.txt

Runs every sample without numerics, then N (default 200) drawn models, and prints for each the digests of the rows of its
profile, of all sections as JSON, and of its exports. `diff OLD.txt NEW.txt` is empty if a change of the structure changes
nothing else. What the host's clock says, the command line and the version are left out. Draws depend on the number of
the model only.
"""
import argparse
import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

# Tables and columns that depend on the moment, the machine or the command line.
# How levels of detail are cut depends on when rows were written.
LEFT_OUT_TABLES = ("sqlite_", "configuration", "property", "outcome", "host_", "profile", "thread", "level_")
LEFT_OUT_COLUMNS = ("wall", "host_")
HOST_KEYS = re.compile(r"host|wall|file|version|command|date|written|seconds_of|emulator", re.IGNORECASE)


def run(binary, arguments):
    done = subprocess.run([binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def rows_digest(database):
    content = hashlib.sha256()
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    for table in tables:
        if table.startswith(LEFT_OUT_TABLES):
            continue
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        columns = [name for name in columns if not name.startswith(LEFT_OUT_COLUMNS)]
        quoted = ", ".join(f'"{name}"' for name in columns)
        content.update(table.encode())
        for row in database.execute(f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):
            content.update(repr(row).encode())
    return content.hexdigest()[:16]


def without_host(value, left_out):
    if isinstance(value, dict):
        return {key: without_host(inner, left_out) for key, inner in value.items()
                if not HOST_KEYS.search(key) and key not in left_out}
    if isinstance(value, list):
        return [without_host(inner, left_out) for inner in value]
    return value


def sections_digests(text, left_out):
    sections = json.loads(text)
    for name, section in sections.items():
        if name in ("options", "host"):
            continue
        content = json.dumps(without_host(section, left_out), sort_keys=True)
        yield name, hashlib.sha256(content.encode()).hexdigest()[:12]


def describe(options, folder, name, arguments):
    binary = options.pipescope
    profile = os.path.join(folder, "state.pop")
    database = os.path.join(folder, "state.sqlite")
    for path in (profile, database):
        if os.path.exists(path):
            os.remove(path)
    code, _, error = run(binary, ["run", *arguments, "-o", profile, "--progress", "off"])
    if code != 0 or not os.path.exists(profile):
        print(f"{name} run ended with {code}: {error.splitlines()[0] if error else ''}")
        if not os.path.exists(profile):
            return
    code, _, error = run(binary, ["export", profile, "--to", "sqlite", "-o", database])
    print(f"{name} rows {rows_digest(sqlite3.connect(database)) if code == 0 else error.strip()}")
    code, text, error = run(binary, ["report", profile, "--format", "json"])
    if code != 0:
        print(f"{name} sections {error.strip()}")
        return
    print(f"{name} sections " + " ".join(f"{section}={digest}" for section, digest in sections_digests(text, options.leave_out)))


def drawn(number):
    """The command line of a drawn model, as a list of arguments and the text of a configuration or none."""
    dice = random.Random(number)
    if dice.random() < 0.25:
        return drawn_fixed(dice)
    system = dice.choice(["pod4", "pod16", "c2", "bow-pod16", "hls-gaudi2", "hls-1", "hls-3", "hls-gaudi2x2"])
    builder = dice.choice(["decoder", "bert", "vit"])
    arguments = ["--builder", builder, "--system", system, "--no-numerics", "--training"]
    layers, heads = dice.choice([2, 3, 4, 6]), dice.choice([2, 4])
    sizes = {"layers": layers, "heads": heads, "hidden": heads * dice.choice([16, 32, 64]),
             "feed_forward": dice.choice([96, 256])}
    if builder != "vit":
        sizes.update({"sequence": dice.choice([16, 32, 64]), "vocabulary": dice.choice([128, 1000])})
    for key, value in sizes.items():
        arguments += ["--set", f"model.{key}={value}"]
    stages, replicas = dice.choice([1, 2, 2, 4]), dice.choice([1, 1, 2])
    schedule = dice.choice(["popart", "1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "dualpipe", "zb-v", "tf-grouped"])
    if schedule in ("interleaved-1f1b", "zb-v"):
        stages = 4
    arguments += ["--stages", str(stages), "--schedule", schedule,
                  "--gradient-accumulation", str(dice.choice([4, 8, 16])),
                  "--micro-batch-size", str(dice.choice([1, 2, 4])),
                  "--device-iterations", str(dice.choice([1, 2])),
                  "--replication-factor", str(replicas),
                  "--recompute", dice.choice(["auto", "none", "pipeline"]),
                  "--epochs", "1", "--set", "data.samples=512"]
    options = [["--offload-optimizer"], ["--set", "host.seconds_per_step=0.0002"], ["--set", "data.loader_rate=20000"],
               ["--set", "training.micro_batch_costs=1,0.5,2"]]
    if replicas > 1:
        options += [["--shard-weights"], ["--shard-optimizer"], ["--record-replicas", "all"]]
    for option in options:
        if dice.random() < 0.12:
            arguments += option
    return arguments, None


def drawn_fixed(dice):
    count = dice.choice([2, 3, 4, 6])
    schedule = dice.choice(["popart", "1f1b", "gpipe", "zb-h1", "tf-sequential", "tf-interleaved"])
    lines = ['[system]\nname = "fixed"', f'[execution]\nschedule = "{schedule}"']
    for _ in range(count):
        forward = dice.choice([1, 1.5, 2, 3.25])
        weight = f"\nweight = {forward}" if schedule == "zb-h1" else ""
        lines.append(f"[[fixed.stages]]\nforward = {forward}\nbackward = {2 * forward}{weight}\nupdate = {dice.choice([0, 1])}")
    lines.append(f"[fixed]\nexchange = {dice.choice([0, 0.25, 1])}\ncall = 1\ncalls = 2")
    lines.append(f"[training]\ngradient_accumulation = {dice.choice([count, 2 * count, 12])}\ndevice_iterations = {dice.choice([1, 3])}")
    return [], "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pipescope")
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--leave-out", action="append", default=[], help="a key of the sections that one build alone has")
    parser.add_argument("--samples", default=os.path.join(os.path.dirname(__file__), "..", "..", "samples"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for group in sorted(os.listdir(options.samples)):
            for file in sorted(os.listdir(os.path.join(options.samples, group))):
                if file.endswith(".toml"):
                    sample = os.path.join(options.samples, group, file)
                    describe(options, folder, f"{group}/{file}", [sample, "--no-numerics"])
        for number in range(options.models):
            arguments, text = drawn(number)
            if text is not None:
                configuration = os.path.join(folder, "drawn.toml")
                with open(configuration, "w", encoding="utf-8") as file:
                    file.write(text)
                arguments = [configuration]
            describe(options, folder, f"model {number}", arguments)
            sys.stdout.flush()


main()
