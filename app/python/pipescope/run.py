"""Runs a program that imports poptorch, popdist, pva, libpvti, pytorch_lightning or lightning on emulated devices.

    pipescope run-python PROGRAM.py [arguments]
    python3 -m pipescope.run PROGRAM.py [arguments]

Programs that it starts with Python find these names, too.
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
    aliases.install_for_children()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, sys.argv[0].rpartition("/")[0] or ".")
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
