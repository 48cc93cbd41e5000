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
            shown = run("poptorch/bert.py", "--calls", "20", "--batch-size", "1", "--half", "--profile", folder)
            losses = [float(text) for text in re.findall(r"loss (\S+)", shown)]
            self.assertLess(losses[-1], losses[0])
            report = pipescope.openReport(os.path.join(folder, "training", "profile.pop"))
            self.assertEqual(len({device for device in report.table("placement")["device"]}), 4)

    def test_resnet(self):
        shown = run("poptorch/resnet.py", "--samples", "256", "--epochs", "2", "--replicas", "2")
        self.assertRegex(shown, r"Epoch 2/2  learning rate 0.05  loss 0\.\d+")
        self.assertGreater(float(re.search(r"Accuracy on test pictures: (\S+)%", shown).group(1)), 90)


class OwnNames(unittest.TestCase):
    """`python3 -m pipescope.run` lets programs import the frameworks by their own names."""

    PROGRAM = """
import sys
import poptorch
import popdist
import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import IPUStrategy
from pytorch_lightning.strategies.hpu_parallel import HPUParallelStrategy
from pytorch_lightning.callbacks.device_stats_monitor import DeviceStatsMonitor
from pytorch_lightning.utilities.exceptions import MisconfigurationException
import poptorch.autocasting
import pipescope.poptorch
import pipescope.lightning.strategies

assert poptorch.Options is pipescope.poptorch.Options
assert type(poptorch.Options().Precision.autocast_policy) is poptorch.autocasting.Policy
assert HPUParallelStrategy is pipescope.lightning.strategies.HPUParallelStrategy
try:
    pl.Trainer(accelerator="hpu", callbacks=DeviceStatsMonitor())
except MisconfigurationException as error:
    assert "DeviceStatsMonitor is not supported" in str(error)
trainer = pl.Trainer(accelerator="ipu", devices=8, strategy=IPUStrategy(device_iterations=32))
model = poptorch.inferenceModel(torch.nn.ReLU())
print(sys.argv[1], popdist.getNumInstances(), trainer.num_devices, model(torch.tensor([[-1.0, 2.0]])).tolist())
"""

    def test_a_program_runs_unchanged(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.PROGRAM)
            done = subprocess.run([sys.executable, "-m", "pipescope.run", path, "word"], capture_output=True, text=True,
                                  check=True)
        self.assertEqual(done.stdout, "word 1 8 [[0.0, 2.0]]\n")

    def test_a_missing_program_is_said(self):
        done = subprocess.run([sys.executable, "-m", "pipescope.run"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("python3 -m pipescope.run PROGRAM.py", done.stdout)

    def test_the_launcher_is_found_as_a_module(self):
        command = [sys.executable, "-m", "pipescope.poprun", "--num-replicas", "3", "--num-instances", "2", "true"]
        done = subprocess.run(command, env={**os.environ, "PIPESCOPE": os.environ["PIPESCOPE_PROGRAM"]},
                              capture_output=True, text=True, check=False)
        self.assertIn("--num-replicas 3 does not divide by --num-instances 2", done.stderr)
        clean = {name: value for name, value in os.environ.items() if name not in ("PATH", "PIPESCOPE")}
        done = subprocess.run(command, env=clean | {"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
        self.assertIn("needs the program pipescope on PATH", done.stderr)


class Lightning(unittest.TestCase):
    def test_the_sample_runs_on_all_accelerators(self):
        for accelerator, devices in (("ipu", "2"), ("hpu", "8")):
            shown = run("lightning/classify.py", "--accelerator", accelerator, "--devices", devices, "--epochs", "2", "--samples",
                        "2048")
            self.assertGreater(float(re.search(r"test accuracy (\S+)", shown).group(1)), 0.8, shown)


if __name__ == "__main__":
    unittest.main()
