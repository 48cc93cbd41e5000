"""pipescope poprun: instances over MPI compute the bits of one process, share data, and end together."""

import contextlib
import csv
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import numpy
import pipescope
import pipescope.popdist as popdist

PIPESCOPE = os.environ["PIPESCOPE_PROGRAM"]
HERE = os.path.dirname(os.path.abspath(__file__))
# Version 5 of Open MPI uses the loopback interface by itself where there is no other, and refuses to be told so.
NEW_MPI = re.search(r"\(Open MPI\) [5-9]", subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout)
LOOPBACK = "--mca btl_tcp_if_include lo" + ("" if NEW_MPI else " --mca oob_tcp_if_include lo")

CONFIGURATION = """
[model]
name = "small"
input = [4]
[[model.layers]]
type = "linear"
name = "hidden"
block = "A"
out_features = 8
[[model.layers]]
type = "relu"
name = "relu"
block = "A"
[[model.layers]]
type = "linear"
name = "scores"
block = "B"
out_features = 3
[data]
dataset = "numpy"
[training]
micro_batch_size = 2
gradient_accumulation = 3
device_iterations = 2
optimizer = "adamw"
learning_rate = 0.01
shuffle = false
epochs = 2
output_mode = "all"
[inference]
micro_batch_size = 2
device_iterations = 3
[execution]
threads = 1
[system]
name = "pod16"
"""
B, G, D, CALLS = 2, 3, 2, 2

# tests/run installs PyTorch, so nothing is skipped there.
NO_TORCH = importlib.util.find_spec("torch") is None and not os.environ.get("PIPESCOPE_ALL_PACKAGES")


def poprun(*arguments, program, **settings):
    """Start instances and wait for them."""
    flags = [text for argument in arguments for text in argument.split(" ", 1)]
    return subprocess.run([PIPESCOPE, "poprun", "--mpi-global-args", LOOPBACK, *flags, *program], text=True,
                          capture_output=True, timeout=60, check=False, **settings)


def text_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Configurations(unittest.TestCase):
    """`pipescope run` in several instances."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with open(cls.path("small.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.folder.name, *parts)

    def write_data(self, name, replicas, instances):
        """Write data for instances, and the same for one process, in the order in which it gives them to replicas."""
        generator = numpy.random.default_rng(replicas)
        shape = (instances, CALLS, D, G, replicas // instances, B)
        samples = generator.standard_normal((*shape, 4)).astype(numpy.float32)
        labels = generator.integers(0, 3, shape).astype(numpy.int32)
        for kind, order in (("parts", (0, 1, 2, 3, 4, 5)), ("whole", (1, 2, 3, 0, 4, 5))):
            folder = self.path(f"{name}-{kind}")
            os.makedirs(folder, exist_ok=True)
            for split in ("train", "test"):
                numpy.savez(os.path.join(folder, split + ".npz"), labels=labels.transpose(order).reshape(-1),
                            samples=samples.transpose(*order, 6).reshape(-1, 4))

    def run_whole(self, name, replicas, configuration="small.toml"):
        settings = {"data.directory": self.path(f"{name}-whole"), "training.replication_factor": replicas,
                    "inference.replication_factor": replicas,
                    "execution.metrics": self.path(name + "-whole.jsonl"),
                    "execution.save_weights": self.path(name + "-whole.npz")}
        if configuration != "small.toml":
            settings.pop("inference.replication_factor")
        report = pipescope.run(self.path(configuration), self.path(name + "-whole.pop"), settings)
        return lines_of(settings["execution.metrics"]), numpy.load(settings["execution.save_weights"]), report

    def run_parts(self, name, replicas, instances, *flags, configuration="small.toml"):
        metrics, weights = self.path(name + "-parts.jsonl"), self.path(name + "-parts.npz")
        done = poprun(f"--num-instances {instances}", f"--num-replicas {replicas}", *flags, program=[
            "run", self.path(configuration), "-o", self.path(name + "-parts.pop"), "--metrics", metrics, "--set",
            f"data.directory={self.path(name + '-parts')}", "--set", f"execution.save_weights={weights}"])
        self.assertEqual(done.returncode, 0, done.stderr)
        return lines_of(metrics), numpy.load(weights), done

    def test_losses_weights_and_emulated_rows_are_those_of_one_process(self):
        for instances, replicas in ((2, 4), (4, 4), (8, 8)):
            with self.subTest(instances=instances):
                name = f"equal{instances}"
                self.write_data(name, replicas, instances)
                whole, weights, report = self.run_whole(name, replicas)
                parts, ours, _ = self.run_parts(name, replicas, instances, "--ipus-per-replica 2")
                self.assertEqual([line["loss"] for line in parts if line["kind"] == "training"],
                                 [line["loss"] for line in whole if line["kind"] == "training"])
                self.assertEqual([line["accuracy"] for line in parts if line["kind"] == "training"],
                                 [line["accuracy"] for line in whole if line["kind"] == "training"])
                for key in weights.files:
                    self.assertTrue(numpy.array_equal(weights[key], ours[key]), key)
                other = pipescope.openReport(self.path(name + "-parts.pop"))
                for table in ("placement", "transfer"):
                    theirs, mine = report.table(table), other.table(table)
                    for column, values in theirs.items():
                        self.assertTrue(numpy.array_equal(values, mine[column]), (table, column))
                # The accuracy over the test data is that of all instances together.
                outcomes = [dict(zip(table["name"], table["value"])) for table in
                            (report.table("outcome"), other.table("outcome"))]
                self.assertEqual(outcomes[0]["test_accuracy"], outcomes[1]["test_accuracy"])
                self.assertEqual(outcomes[1]["replicas_with_equal_weights"], instances)

    def test_the_profile_has_the_host_time_of_each_instance(self):
        self.write_data("hosts", 4, 2)
        self.run_parts("hosts", 4, 2)
        report = pipescope.openReport(self.path("hosts-parts.pop"))
        counters, samples = report.table("counter"), report.table("counter_sample")
        names = [str(name) for name in counters["name"] if "host_seconds" in str(name)]
        self.assertEqual(len(names), 2)
        for instance, name in enumerate(names):
            self.assertRegex(name, rf"^host_seconds instance {instance} on \S+$")
            own = samples["value"][samples["counter"] == list(counters["name"]).index(name)]
            self.assertEqual(len(own), 2 * CALLS)  # two epochs have as many
            self.assertTrue((own > 0).all() and (own < 60).all(), own)

    @unittest.skipIf(NO_TORCH, "PyTorch is not installed.")
    def test_statistics_of_a_norm_are_shared_between_instances(self):
        import torch

        layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        torch.onnx.export(layers, torch.zeros(B, 4), self.path("norm.onnx"), training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)
        head, tail = CONFIGURATION.index("[model]"), CONFIGURATION.index("[data]")
        text = CONFIGURATION[:head] + '[model]\nonnx = "norm.onnx"\n' + CONFIGURATION[tail:]
        text = text[:text.index("[inference]")] + "norm_replicas = {}\n" + text[text.index("[execution]"):]
        losses = {}
        # Groups of the replicas of two instances, and groups that end within an instance.
        for group, replicas in ((2, 2), (2, 6), (6, 6), (1, 6)):
            with self.subTest(f"{group} of {replicas}"):
                with open(self.path("norm.toml"), "w", encoding="utf-8") as file:
                    file.write(text.format(group).replace("[execution]", '[execution]\nmode = "training"'))
                name = f"norm{replicas}"
                self.write_data(name, replicas, 2)
                whole, weights, _ = self.run_whole(name, replicas, "norm.toml")
                parts, ours, _ = self.run_parts(name, replicas, 2, configuration="norm.toml")
                losses[group, replicas] = [line["loss"] for line in parts]
                self.assertEqual(losses[group, replicas], [line["loss"] for line in whole])
                for key in weights.files:
                    self.assertTrue(numpy.array_equal(weights[key], ours[key]), key)
        self.assertEqual(len({tuple(losses[group, 6]) for group in (1, 2, 6)}), 3)

    def test_what_contradicts_the_launcher_is_refused(self):
        self.write_data("refused", 2, 2)
        run = ["run", self.path("small.toml"), "-o", self.path("refused.pop"), "--set",
               f"data.directory={self.path('refused-parts')}"]
        for sentence, extra in (
            ("--replication-factor is 3, but the launcher starts 2 replicas", ["--replication-factor", "3"]),
            ("data.instances is given, but the launcher", ["--set", "data.instances=2"]),
        ):
            done = poprun("--num-instances 2", "--num-replicas 2", "--only-output-from-instance 0", program=run + extra)
            self.assertEqual(done.returncode, 1)
            self.assertIn(sentence, done.stderr)
            self.assertRegex(done.stderr, r"Instance \d of 2 on host \S+ ended with exit status 2; the others were")
        self.assertFalse(os.path.exists(self.path("refused.pop")))
        with self.assertRaisesRegex(ValueError, "execution.instances is set by the launcher"):
            pipescope.run(self.path("small.toml"), self.path("x.pop"), {"execution.instances": 2})

    def test_other_configurations_and_hosts_are_refused(self):
        self.write_data("unequal", 2, 2)
        script = self.path("unequal.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'exec {PIPESCOPE} run {self.path("small.toml")} -o {self.path("unequal.pop")} '
                       f'--set data.directory={self.path("unequal-parts")} --seed $OMPI_COMM_WORLD_RANK\n')
        done = poprun("--num-instances 2", "--num-replicas 2", program=["sh", script])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"Instance 1 on \S+ has another configuration than instance 0")
        done = poprun("--num-instances 2", "--num-replicas 2", "--host no-such-host.invalid", program=["true"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("a host that cannot be reached", done.stderr)


class Sweeps(unittest.TestCase):
    """`pipescope sweep` in several instances."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def sweep(self, name, micro_batches):
        return ["sweep", os.path.join(os.environ["PIPESCOPE_SAMPLES"], "mnist", "pipelined.toml"), "--vary",
                f"micro_batch_size={micro_batches}", "--vary", "gradient_accumulation=6,7,8", "-o", self.path(name)]

    def test_the_table_is_that_of_one_process_and_is_resumed(self):
        subprocess.run([PIPESCOPE, *self.sweep("one.csv", "5,10,15,20")], check=True, capture_output=True)
        done = poprun("--num-instances 2", program=self.sweep("two.csv", "5,10"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("6 combinations: 4 fit", done.stderr)
        for instances in (3, 1):
            done = poprun(f"--num-instances {instances}", program=self.sweep("two.csv", "5,10,15,20"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("12 combinations: 8 fit, 0 do not, 4 cannot run", done.stderr)
            self.assertEqual(text_of(self.folder, "two.csv"), text_of(self.folder, "one.csv"))

    def test_an_instance_that_dies_leaves_the_rows_so_far(self):
        script = f"echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec \"$@\""
        with subprocess.Popen([PIPESCOPE, "poprun", "--mpi-global-args", LOOPBACK, "--num-instances", "2",
                               "--num-replicas", "2", "sh", "-c", script, "sh", PIPESCOPE,
                               *self.sweep("rows.csv", "1..400")], text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            while not os.path.exists(self.path("rows.csv")) and process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.05)
            os.kill(int(text_of(self.folder, "pid1")), signal.SIGKILL)
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors, r"Instance 1 of 2 on host \S+ was ended by signal 9")
        with open(self.path("rows.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertTrue(0 < len(rows) < 1200, len(rows))
        kept = sum(row["training.micro_batch_size"] == "1" for row in rows)
        self.assertGreater(kept, 0)
        done = poprun("--num-instances 2", program=self.sweep("rows.csv", "1"))
        self.assertIn(f"3 combinations: 2 fit, 0 do not, 1 cannot run · {kept} taken from", done.stderr)

    def test_what_a_sweep_does_not_take_is_refused(self):
        done = poprun("--num-instances 2", "--num-replicas 2", program=self.sweep("x.csv", "1"))
        self.assertIn("the combinations of a sweep or a plan have systems of their own", done.stderr)
        done = poprun("--num-instances 2", program=["plan", "--profile", "x.csv"])
        self.assertIn("without poprun", done.stderr)

    def test_a_plan_is_that_of_one_process(self):
        sample = os.path.join(os.environ["PIPESCOPE_SAMPLES"], "mnist", "pipelined.toml")
        plan = ["plan", sample, "--vary", "stages=2,3,4", "--vary", "recompute=none,pipeline", "--vary",
                "micro_batch_size=20,40", "--format", "json", "--progress", "off", "-o"]
        one = subprocess.run([PIPESCOPE, *plan, self.path("one.toml")], check=True, capture_output=True, text=True)
        done = poprun("--num-instances 3", program=[*plan, self.path("three.toml")])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(text_of(self.folder, "three.toml"), text_of(self.folder, "one.toml"))
        alone, shared = json.loads(one.stdout), json.loads(done.stdout)
        for key in ("samples_per_second", "settings", "cuts", "runner_up"):
            self.assertEqual(shared[key], alone[key], key)
        # Each instance leaves out what its own best plan beats, so it may search more of the variants.
        self.assertEqual(len(shared["variants"]), 12)


class Launching(unittest.TestCase):
    def test_topology(self):
        done = poprun("--num-instances 4", "--num-replicas 8", "--ipus-per-replica 16", "--print-topology yes",
                      program=["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, (
            "4 instances, 8 replicas, 128 IPUs in 2 IPU-Link domains\n"
            "Instance  Host                Replicas    IPUs      IPU-Link domain\n"
            "0         this host           0-1         0-31      0\n"
            "1         this host           2-3         32-63     0\n"
            "2         this host           4-5         64-95     1\n"
            "3         this host           6-7         96-127    1\n"))

    def test_bad_flags(self):
        for sentence, flags, program in (
            ("poprun needs a program", [], []),
            ("--num-replicas 3 does not divide by --num-instances 2", ["--num-instances 2", "--num-replicas 3"], ["true"]),
            ("one process has at most 64: use --num-instances 2 or more", ["--num-replicas 65"], ["true"]),
            ("the largest emulated system has 256", ["--num-instances 8", "--num-replicas 264"], ["true"]),
            ("take 1 IPU-Link domain of 64", ["--num-ilds 2"], ["true"]),
            ("the instances are 0 to 0", ["--only-output-from-instance 1"], ["true"]),
            ("is no range of numbers", ["--host a[2-1]"], ["true"]),
            ("brackets of \"a[1\" do not match", ["--host a[1"], ["true"]),
            ("--host and --hostfile exclude each other", ["--host a", "--hostfile b"], ["true"]),
            ("there is no file nothing.txt", ["--hostfile nothing.txt"], ["true"]),
            ("--offline-mode compiles only", ["--offline-mode yes"], ["run", "x.toml"]),
            ("Cannot read the launch configuration nothing.json", ["--import-config nothing.json"], ["true"]),
            ("could not be started", [], ["no-such-program"]),
            ("poprun has no option --num-instnces; did you mean \"--num-instances\"?", ["--num-instnces=2"], ["true"]),
        ):
            with self.subTest(sentence):
                done = poprun(*flags, program=program)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(sentence, done.stderr)

    def test_configurations_of_the_launcher(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "flags.json")
            poprun("--num-instances 2", "--num-replicas 4", f"--export-config {path}", program=["true"])
            done = poprun(f"--import-config {path}", "--num-replicas 2", "--print-topology yes", program=["true"])
            self.assertIn("2 instances, 2 replicas, 2 IPUs", done.stdout)
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"num-cats": 3}')
            done = poprun(f"--import-config {path}", program=["true"])
            self.assertIn('has "num-cats", which is no flag', done.stderr)

    def test_without_mpirun_it_says_what_to_install(self):
        done = subprocess.run([PIPESCOPE, "poprun", "true"], env={"PATH": "/nowhere"}, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("install openmpi-bin", done.stderr)

    def test_the_cache_and_numa_nodes(self):
        done = poprun("--executable-cache-path cache", "--numa-aware yes", "--num-instances 2", "--num-replicas 2",
                      program=["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--executable-cache-path has no effect", done.stderr)

    def test_flags_of_partitions_are_accepted(self):
        done = poprun("--vipu-partition p", "--vipu-server-host h", "--vipu-server-port 1", "--vipu-server-timeout 2",
                      "--vipu-allocation a", "--vipu-partition-attempts 3", "--update-partition yes",
                      "--reset-partition yes", "--remove-partition no", program=["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not used, because emulated systems need no V-IPU partition", done.stderr)

    def test_popdist_says_where_an_instance_is(self):
        # Lines of several instances may mix, so each writes a file.
        script = ("import sys, pipescope.popdist as p\n"
                  "p.init()\n"
                  "only = p.execute_on_instances({1})(lambda: 'one')\n"
                  "values = (p.getInstanceIndex(), p.getLocalInstanceIndex(), p.getNumInstances(), "
                  "p.getNumTotalReplicas(), p.getNumLocalReplicas(), p.getNumIpusPerReplica(), p.isPopdistEnvSet(), only())\n"
                  "open(f'{sys.argv[1]}/{values[0]}', 'w').write(repr(values))\n")
        with tempfile.TemporaryDirectory() as folder:
            done = poprun("--num-instances 2", "--num-replicas 8", "--ipus-per-replica 4",
                          program=[sys.executable, "-c", script, folder])
            self.assertEqual(done.returncode, 0, done.stderr)
            texts = [text_of(folder, str(i)) for i in range(2)]
        self.assertEqual(texts, ["(0, 0, 2, 8, 4, 4, True, None)", "(1, 1, 2, 8, 4, 4, True, 'one')"])
        self.assertEqual((popdist.getNumInstances(), popdist.getInstanceIndex(), popdist.getNumTotalReplicas()), (1, 0, 1))
        self.assertFalse(popdist.isPopdistEnvSet())
        with self.assertRaisesRegex(ValueError, "there is no instance 3"):
            popdist.execute_on_instances(3)(print)()
        with unittest.mock.patch.dict(os.environ, POPDIST_NUM_TOTAL_REPLICAS="two"):
            with self.assertRaisesRegex(ValueError, 'POPDIST_NUM_TOTAL_REPLICAS is "two", but must be a whole number'):
                popdist.init()

    def sleepers(self):
        """A launcher of two instances that wait, with their process numbers."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = f"echo $$ > {folder.name}/new$OMPI_COMM_WORLD_RANK; " \
                 f"mv {folder.name}/new$OMPI_COMM_WORLD_RANK {folder.name}/pid$OMPI_COMM_WORLD_RANK; exec sleep 600"
        launcher = subprocess.Popen([PIPESCOPE, "poprun", "--mpi-global-args", LOOPBACK, "--num-instances", "2", "--num-replicas",
                                     "2", "sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "TMPDIR": folder.name})
        names = [os.path.join(folder.name, f"pid{i}") for i in range(2)]
        while not all(map(os.path.exists, names)):
            self.assertIsNone(launcher.poll())
            time.sleep(0.02)
        return launcher, [int(text_of(folder.name, f"pid{i}")) for i in range(2)], folder.name

    def assert_gone(self, processes):
        end = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{process}/stat") and " Z " not in text_of(f"/proc/{process}", "stat")
                  for process in processes):
            self.assertLess(time.monotonic(), end, "instances are still running")
            time.sleep(0.05)

    def test_a_launcher_that_is_ended_takes_its_instances_along(self):
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            launcher, instances, folder = self.sleepers()
            launcher.send_signal(number)
            launcher.wait(timeout=30)
            self.assert_gone(instances)
            self.assertEqual([name for name in os.listdir(folder) if name.startswith("pipescope-poprun-")], [])

    def test_a_launcher_that_is_killed_takes_its_instances_along(self):
        launcher, instances, folder = self.sleepers()
        launcher.kill()
        launcher.wait()
        self.assert_gone(instances)
        # The next launcher removes the folder of reports that it left.
        self.assertEqual(len([name for name in os.listdir(folder) if name.startswith("pipescope-poprun-")]), 1)
        subprocess.run([PIPESCOPE, "poprun", "--mpi-global-args", LOOPBACK, "true"], check=True, capture_output=True,
                       env={**os.environ, "TMPDIR": folder}, timeout=60)
        self.assertEqual([name for name in os.listdir(folder) if name.startswith("pipescope-poprun-")], [])


class Scripts(unittest.TestCase):
    """A Python program in several instances."""

    @unittest.skipIf(NO_TORCH, "PyTorch is not installed.")
    def test_losses_are_those_of_one_process(self):
        program = [sys.executable, os.path.join(HERE, "poprun_program.py")]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*program, folder], check=True)
            done = poprun("--num-instances 2", "--num-replicas 4", program=[*program, folder])
            self.assertEqual(done.returncode, 0, done.stderr)
            alone, first, second = (text_of(folder, name).splitlines() for name in ("0_of_1", "0_of_2", "1_of_2"))
        self.assertEqual(sorted(first + second), sorted(alone))

    @unittest.skipIf(NO_TORCH, "PyTorch is not installed.")
    def test_instances_log_the_mean_of_their_values(self):
        script = ("import sys, torch, pipescope.lightning as pl, pipescope.popdist as popdist\n"
                  "class Module(pl.LightningModule):\n"
                  "    def validation_step(self, batch, number):\n        return batch[0].mean()\n"
                  "    def validation_epoch_end(self, outputs):\n"
                  "        own = float(popdist.getInstanceIndex() + 1)\n"
                  "        self.log('both', own, sync_dist=True)\n        self.log('own', own)\n"
                  "data = torch.utils.data.TensorDataset(torch.ones(8, 1))\n"
                  "loader = torch.utils.data.DataLoader(data, batch_size=2)\n"
                  "trainer = pl.Trainer(accelerator='ipu', devices=2, enable_progress_bar=False)\n"
                  "values = trainer.validate(Module(), loader)\n"
                  "open(f'{sys.argv[1]}/{popdist.getInstanceIndex()}', 'w').write(repr(values))\n")
        self.assertEqual(self.written(script), ["[{'both': 1.5, 'own': 1.0}]", "[{'both': 1.5, 'own': 2.0}]"])

    def written(self, script):
        """Return what each of two instances of a program wrote."""
        with tempfile.TemporaryDirectory() as folder:
            done = poprun("--num-instances 2", "--num-replicas 2", program=[sys.executable, "-c", script, folder])
            self.assertEqual(done.returncode, 0, done.stderr)
            return [text_of(folder, str(i)) for i in range(2)]

    @unittest.skipIf(NO_TORCH, "PyTorch is not installed.")
    def test_instances_join_the_values_of_their_epochs(self):
        """Two rows of 1 in one batch and six rows of 4 in three: the mean is 26 / 8, although instances and batches are not equal."""
        script = ("import sys, torch, pipescope.lightning as pl, pipescope.popdist as popdist\n"
                  "class Module(pl.LightningModule):\n"
                  "    def validation_step(self, batch, number):\n"
                  "        self.log('mean', batch[0].mean(), sync_dist=True)\n"
                  "        self.log('sum', batch[0].sum(), reduce_fx='sum', sync_dist=True)\n"
                  "        self.log('most', batch[0].max(), reduce_fx='max', sync_dist=True)\n"
                  "        self.log('own', batch[0].sum(), reduce_fx='sum')\n"
                  "data = (torch.ones(2, 1), torch.full((6, 1), 4.0))[popdist.getInstanceIndex()]\n"
                  "loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=2)\n"
                  "values = pl.Trainer(accelerator='cpu', enable_progress_bar=False).validate(Module(), loader)\n"
                  "open(f'{sys.argv[1]}/{popdist.getInstanceIndex()}', 'w').write(repr(values))\n")
        self.assertEqual(self.written(script), [f"[{{'mean': 3.25, 'sum': 26.0, 'most': 4.0, 'own': {own}}}]" for own in (2.0, 24.0)])

    def test_only_one_instance_may_speak(self):
        done = poprun("--num-instances 3", "--num-replicas 3", "--only-output-from-instance 1",
                      program=["sh", "-c", "echo $OMPI_COMM_WORLD_RANK"])
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"))

    def test_an_instance_that_dies_ends_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            done = poprun("--num-instances 3", "--num-replicas 3",
                          program=[sys.executable, os.path.join(HERE, "poprun_faults.py"), "die", folder])
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"Instance [12] of 3 on host \S+ was ended by signal 9 \(Killed\); the others were")
            profile = os.path.join(folder, "profile.pop")
            self.assertEqual(pipescope.openReport(profile).executables, ["training"])
            checked = subprocess.run([PIPESCOPE, "verify", profile], capture_output=True, text=True, check=False)
            self.assertRegex(checked.stdout, r"state incomplete: Instance [12] of 3 on host \S+ was ended by signal 9")
            self.assertNotIn("damaged", checked.stdout)

    def test_an_instance_on_another_host_ends_its_profile_itself(self):
        """There the launcher's folder does not exist, and the launcher sees neither reports nor profiles."""
        leave = ("import os, sys; from pipescope import interface as i; import poprun_faults as f; "
                 "p = i.compile(f.TRAINING, 'small'); d = i.Device(p, sys.argv[1]); d.attach(); os._exit(0)")
        for signal_of_instance, message, reason in (
            (signal.SIGKILL, r"pipescope: Instance 2 on host \S+ was ended by signal 9", r"Instance 2 on host \S+ was ended"),
            (signal.SIGTERM, r"^$", "Another instance failed, so that this one was stopped"),
        ):
            with self.subTest(reason), tempfile.TemporaryDirectory() as folder:
                profile = os.path.join(folder, "profile.pop")
                subprocess.run([sys.executable, "-c", leave, profile], check=True, cwd=HERE)
                # mpirun stops an instance by SIGTERM, which the process around the program passes on.
                stop = "kill -9 $$" if signal_of_instance == signal.SIGKILL else "kill -15 $PPID; sleep 10"
                program = f'echo {profile} > "$PIPESCOPE_LAUNCHER_FOLDER/profiles"; {stop}'
                done = subprocess.run(
                    [PIPESCOPE, "poprun", "--as-instance", os.path.join(folder, "there"), "--only-output-from-instance", "-1",
                     "sh", "-c", program], env={**os.environ, "OMPI_COMM_WORLD_RANK": "2"}, capture_output=True, text=True,
                    check=False)
                self.assertEqual(done.returncode, 128 + signal_of_instance)
                self.assertRegex(done.stderr, message)
                checked = subprocess.run([PIPESCOPE, "verify", profile], capture_output=True, text=True, check=False)
                self.assertRegex(checked.stdout, f"state incomplete: {reason}")
                self.assertEqual(os.listdir(folder), ["profile.pop"])

    def test_an_exception_ends_the_others(self):
        done = poprun("--num-instances 2", "--num-replicas 2",
                      program=[sys.executable, os.path.join(HERE, "poprun_faults.py"), "raise", os.devnull])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"Instance \d of 2 on host \S+ ended with exit status 1")

    def test_options_of_an_instance(self):
        script = ("import pipescope.poptorch, pipescope.popdist as popdist\n"
                  "made = popdist.poptorch.Options(ipus_per_replica=4)\n"
                  "print(made.replication_factor, made.Distributed.processId, made.Distributed.numProcesses, "
                  "made.connection_type)\n"
                  "for call in (lambda: made.replicationFactor(2), lambda: popdist.poptorch.Options(ipus_per_replica=2)):\n"
                  "    try:\n        call()\n    except (RuntimeError, ValueError) as error:\n        print(error)\n")
        numbers = {"POPDIST_NUM_TOTAL_REPLICAS": "8", "POPDIST_NUM_IPUS_PER_REPLICA": "4", "POPDIST_OFFLINE_MODE": "1",
                   "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}
        if importlib.util.find_spec("torch") is not None:
            done = subprocess.run([sys.executable, "-c", script], env={**os.environ, **numbers}, capture_output=True,
                                  text=True, check=True)
            lines = done.stdout.splitlines()
            self.assertEqual(lines[0], "2 3 4 2")
            self.assertIn("pass --num-replicas", lines[1])
            self.assertIn("started with --ipus-per-replica 4", lines[2])


if __name__ == "__main__":
    unittest.main()
