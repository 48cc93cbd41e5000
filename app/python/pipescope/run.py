"""Runs a program that imports poptorch, popdist or pytorch_lightning on emulated devices.

    python3 -m pipescope.run PROGRAM.py [arguments]
"""

import runpy
import sys

from . import aliases


def main():
    """Run the program that the command line names."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 else 2
    aliases.install()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, sys.argv[0].rpartition("/")[0] or ".")
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
