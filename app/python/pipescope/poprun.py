"""`python3 -m pipescope.poprun …` is `pipescope poprun …`."""

import os
import shutil
import sys


def main():
    """Become the command `pipescope poprun` with the same arguments. It must be on PATH, or named by PIPESCOPE."""
    program = os.environ.get("PIPESCOPE") or shutil.which("pipescope")
    if program is None:
        print("python3 -m pipescope.poprun needs the program pipescope on PATH.", file=sys.stderr)
        return 2
    os.execv(program, [program, "poprun", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
