"""The wheel that pip makes of a build works in a virtual environment. Only the full tests make it."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest


@unittest.skipUnless(os.environ.get("PIPESCOPE_FULL_TESTS"), "PIPESCOPE_FULL_TESTS is not set.")
class Wheel(unittest.TestCase):
    def test_it_runs_in_a_virtual_environment(self):
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with tempfile.TemporaryDirectory() as folder:
            def run(*command):
                return subprocess.run(command, cwd=folder, env=clean, check=True, capture_output=True, text=True).stdout

            run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
                os.path.join(os.environ["PIPESCOPE_SOURCE"], "app", "python"), "-w", folder)
            run(sys.executable, "-m", "venv", "--system-site-packages", "here")
            python = os.path.join(folder, "here", "bin", "python")
            run(python, "-m", "pip", "install", "--no-deps", "--no-index", *glob.glob(os.path.join(folder, "*.whl")))
            program = (
                "import pipescope, torch, pipescope.poptorch as poptorch, pipescope.lightning\n"
                "print(pipescope.__file__, poptorch.inferenceModel(torch.nn.ReLU())(torch.tensor([[-1.0, 2.0]])).tolist())"
            )
            self.assertIn(os.path.join(folder, "here"), run(python, "-c", program))
            self.assertIn("[[0.0, 2.0]]", run(python, "-c", program))
            self.assertRegex(run(os.path.join(folder, "here", "bin", "pipescope"), "--version"), r"pipescope \d+\.\d+")

    def test_a_missing_build_is_named(self):
        done = subprocess.run([sys.executable, "-c", "import wheel_backend; wheel_backend.build_wheel('.')"],
                              env={**os.environ, "PIPESCOPE_BUILD": "/nowhere",
                                   "PYTHONPATH": os.path.join(os.environ["PIPESCOPE_SOURCE"], "app", "python")},
                              capture_output=True, text=True, check=False)
        self.assertIn("There is no built module in /nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
