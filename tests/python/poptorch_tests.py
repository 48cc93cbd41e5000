"""Runs the tests of pipescope.poptorch. Without PyTorch they are skipped (exit status 77)."""

import importlib.util
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed (python3-torch), so pipescope.poptorch is not tested.")
    sys.exit(77)
NAMES = ["poptorch_options_test", "poptorch_blocks_test", "poptorch_loader_test", "poptorch_model_test"]
unittest.main(module=None, argv=[sys.argv[0], "-v", *NAMES])
