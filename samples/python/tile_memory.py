#!/usr/bin/python3
"""Plots memory by tile, stacked by whether it is always live: tile_memory.py PROFILE [PICTURE.png]

Needs the module `pipescope` on PYTHONPATH (build/…/app/python) and matplotlib (python3-matplotlib).
"""

import sys

import matplotlib
import pipescope

if len(sys.argv) < 2:
    sys.exit(__doc__)
matplotlib.use("Agg")
from matplotlib import pyplot

report = pipescope.openReport(sys.argv[1])
tiles = report.compilation.tiles
target = report.compilation.target
always = [tile.memory.alwaysLiveBytes / 1024 for tile in tiles]
others = [tile.memory.notAlwaysLiveBytes / 1024 for tile in tiles]

pyplot.figure(figsize=(12, 5))
pyplot.stackplot(range(len(tiles)), always, others, labels=["always live", "not always live (peak)"])
pyplot.axhline(target.bytesPerTile / 1024, color="black", linewidth=1, label="memory of a tile")
pyplot.xlabel("tile")
pyplot.ylabel("KiB")
pyplot.title(f"Memory by tile, emulated {target.architecture}, {report.property('device_model')}")
pyplot.legend()
pyplot.savefig(sys.argv[2] if len(sys.argv) > 2 else "tile_memory.png")
