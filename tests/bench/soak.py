"""soak.py [OPENS] [RUNS]: opens profiles and runs configurations in one process, and prints its memory and open files.

PYTHONPATH names the folder of the built module (BUILD/app/python). Memory must not grow from the first tenth on.
"""

import gc
import os
import sys
import tempfile
import threading

import pipescope

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
RUNS = [("mnist/pipelined.toml", {"execution.mode": "training", "data.samples": 4000}),
        ("mnist/eight_gaudis.toml", {"execution.numerics": False}),
        ("fixed/imbalanced.toml", {})]
TABLES = ("device", "placement", "step", "variable", "operator", "property")


def resident():
    """MiB of memory that the process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def state():
    gc.collect()
    return f"{resident():8.1f} MiB, {len(os.listdir('/proc/self/fd')):3} open files, {threading.active_count()} threads of Python"


def soak(name, count, work):
    for done in range(count + 1):
        if done in (0, count // 10, count // 2, count):
            print(f"{name} {done:6} of {count}: {state()}", flush=True)
        if done < count:
            work(done)


def look(path):
    report = pipescope.openReport(path)
    for table in TABLES:
        report.table(table)
    report = None


def main():
    opens, runs = (int(value) for value in (sys.argv[1:] + ["10000", "1000"][len(sys.argv) - 1:])[:2])
    with tempfile.TemporaryDirectory() as folder:
        def run(number):
            config, settings = RUNS[number % len(RUNS)]
            pipescope.run(os.path.join(SAMPLES, config), os.path.join(folder, f"{number % len(RUNS)}.pop"), settings)

        soak("run ", max(runs, len(RUNS)), run)
        soak("open", opens, lambda number: look(os.path.join(folder, f"{number % len(RUNS)}.pop")))


if __name__ == "__main__":
    main()
