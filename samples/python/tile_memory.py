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
target = report.compilation.target
used = set()
tiles = report.compilation.tiles
for tile in tiles:
    if tile.memory.total.includingGaps > 0:
        used.add(tile.ipu)
tiles = [tile for tile in tiles if tile.ipu in used]
always = [tile.memory.alwaysLiveBytes / 1024 for tile in tiles]
others = [tile.memory.notAlwaysLiveBytes / 1024 for tile in tiles]
peak = max((a + o for a, o in zip(always, others)), default=0)
limit = target.bytesPerTile / 1024

figure, axes = pyplot.subplots(figsize=(12, 5))
axes.stackplot(range(len(tiles)), always, others, labels=["always live", "not always live (peak)"])
axes.axhline(limit, color="black", linewidth=1, label=f"memory of a tile, {limit:.0f} KiB")
for place, tile in enumerate(tiles):
    if place == 0 or tiles[place - 1].ipu != tile.ipu:
        axes.axvline(place, color="grey", linewidth=0.5)
        axes.annotate(f"IPU{tile.ipu}", (place, 1), (4, -12), xycoords=("data", "axes fraction"),
                      textcoords="offset points", color="grey")
axes.set_xlim(0, max(1, len(tiles)))
# The limit is in the picture where tiles come near it; otherwise the legend says it.
axes.set_ylim(0, limit * 1.05 if peak > limit / 3 else max(1, peak * 1.4))
axes.set_xlabel("tile, over all IPUs that hold something")
axes.set_ylabel("KiB")
axes.set_title(f"Memory by tile, emulated {target.architecture}, {report.property('device_model')}")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncol=3, frameon=False)
figure.savefig(sys.argv[2] if len(sys.argv) > 2 else "tile_memory.png", bbox_inches="tight")
