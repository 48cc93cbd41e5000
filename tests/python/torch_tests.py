"""Runs the tests of the modules that the command line names.

Without PyTorch they are skipped (exit status 77), except under tests/run, which installs it: there they fail.
"""

import importlib.util
import os
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed (python3-torch), so the surfaces for it are not tested.")
    sys.exit(1 if os.environ.get("PIPESCOPE_ALL_PACKAGES") else 77)
unittest.main(module=None, argv=[sys.argv[0], "-v", *sys.argv[1:]])
