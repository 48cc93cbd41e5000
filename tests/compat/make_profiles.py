#!/usr/bin/env python3
"""Makes the profiles that later builds must read: make_profiles.py PIPESCOPE FOLDER. README.md says when."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import zstandard

SAMPLES = "samples"  # a link in the folder where the programs run, so that profiles name no path of the machine
SMALL = ["--samples", "64", "--training", "--epochs", "2", "--micro-batch-size", "4", "--gradient-accumulation", "4",
         "--device-iterations", "2"]
DECODER = ["run", "--builder", "decoder", "--training", "--no-numerics"]
# {name: arguments of pipescope, without the path of the profile}
KINDS = {
    "ipu": ["run", f"{SAMPLES}/mnist/two_stages.toml", *SMALL, "--no-numerics"],
    "wall_lanes": ["run", f"{SAMPLES}/mnist/two_stages.toml", *SMALL],
    # Long calls, so that few of them are recorded before the signal arrives.
    "cancelled": ["run", f"{SAMPLES}/mnist/two_stages.toml", "--samples", "4096", "--training", "--epochs", "100000",
                  "--micro-batch-size", "64", "--gradient-accumulation", "16", "--device-iterations", "4", "--record", "stages"],
    "gaudi": ["run", f"{SAMPLES}/mnist/eight_gaudis.toml", "--samples", "512", "--training", "--epochs", "1",
              "--micro-batch-size", "8", "--gradient-accumulation", "2", "--device-iterations", "2", "--no-numerics"],
    "card": [*DECODER, "--set", "model.layers=2", "--system", "dgx-h100", "--devices", "2", "--stages", "2"],
    "dimensions": [*DECODER, "--set", "model.layers=2", "--system", "dgx-h100", "--stages", "2", "--tensor-parallel", "2"],
    "out_of_memory": [*DECODER, "--set", "model.layers=1", "--system", "h100", "--micro-batch-size", "4096", "--samples", "4096",
                      "--device-iterations", "1"],
    "fixed": ["run", f"{SAMPLES}/fixed/imbalanced.toml"],
    "imported": ["import", f"{SAMPLES}/traces/pipeline_1f1b"],
}


def calls_in(profile):
    """Calls in a profile that is being written, or 0 where there is none yet."""
    if not os.path.exists(profile):
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{profile}?mode=ro", uri=True)) as file:
        try:
            return file.execute("SELECT rows FROM store_table WHERE name = 'run'").fetchone()[0]
        except sqlite3.OperationalError:  # locked by a commit
            return 0


def make(pipescope, arguments, profile, cancelled):
    options = arguments[:]
    while options.count("--epochs") > 1:  # the last one counts
        first = options.index("--epochs")
        del options[first : first + 2]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
    os.symlink(os.path.abspath(source), os.path.join(os.path.dirname(profile), SAMPLES))
    run = subprocess.Popen([os.path.abspath(pipescope), *options, "-o", os.path.basename(profile), "--progress", "off"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=os.path.dirname(profile))
    while cancelled and run.poll() is None and calls_in(profile) == 0:
        time.sleep(0.01)
    if cancelled:
        run.send_signal(signal.SIGINT)
    run.wait()
    if not os.path.exists(profile):
        sys.exit(f"make_profiles.py: pipescope {' '.join(options)} wrote no profile; its status is {run.returncode}.")


def main():
    pipescope, folder = sys.argv[1:]
    os.makedirs(folder)  # fails where there is one: profiles of a release are never made anew
    for name, arguments in KINDS.items():
        with tempfile.TemporaryDirectory() as scratch:
            profile = os.path.join(scratch, f"{name}.pop")
            make(pipescope, arguments, profile, name == "cancelled")
            with open(profile, "rb") as file:
                packed = zstandard.ZstdCompressor(level=19).compress(file.read())
        with open(os.path.join(folder, f"{name}.pop.zst"), "wb") as file:
            file.write(packed)
        print(f"{name}: {len(packed)} bytes")


if __name__ == "__main__":
    main()
