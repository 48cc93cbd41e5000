"""The samples for PopTorch and Lightning run, learn, and write profiles."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import pipescope

SAMPLES = os.environ["PIPESCOPE_SAMPLES"]


def run(*command):
    return subprocess.run([sys.executable, os.path.join(SAMPLES, *command[0].split("/")), *command[1:]], text=True,
                          capture_output=True, check=True).stdout


class PopTorch(unittest.TestCase):
    def test_bert(self):
        with tempfile.TemporaryDirectory() as folder:
            shown = run("poptorch/bert.py", "--calls", "20", "--half", "--profile", folder)
            losses = [float(text) for text in re.findall(r"loss (\S+)", shown)]
            self.assertLess(losses[-1], losses[0])
            report = pipescope.openReport(os.path.join(folder, "training", "profile.pop"))
            self.assertEqual(len({device for device in report.table("placement")["device"]}), 4)

    def test_resnet(self):
        shown = run("poptorch/resnet.py", "--samples", "512", "--epochs", "2", "--replicas", "2")
        self.assertRegex(shown, r"Epoch 2/2  learning rate 0.05  loss 0\.0")
        self.assertGreater(float(re.search(r"Accuracy on test pictures: (\S+)%", shown).group(1)), 90)


class Lightning(unittest.TestCase):
    def test_the_sample_runs_on_all_accelerators(self):
        for accelerator, devices in (("ipu", "2"), ("hpu", "8")):
            shown = run("lightning/classify.py", "--accelerator", accelerator, "--devices", devices, "--epochs", "3")
            self.assertGreater(float(re.search(r"test accuracy (\S+)", shown).group(1)), 0.8, shown)


if __name__ == "__main__":
    unittest.main()
