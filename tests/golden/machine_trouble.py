#!/usr/bin/env python3
"""Puts the program into trouble that does not come from its work.

machine_trouble.py PIPESCOPE SAMPLES [CASE…] lets memory, disk and threads run out, sends signals, kills the program, and gives
it files without an end or beyond all measure. It must end with a sentence and the right status, and leave nothing behind.
"""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zlib

PIPESCOPE, SAMPLES = sys.argv[1], sys.argv[2]
FIXED = os.path.join(SAMPLES, "fixed", "imbalanced.toml")
MNIST = os.path.join(SAMPLES, "mnist", "pipelined.toml")
DECODER = ["--builder", "decoder", "--inference", "--no-numerics", "--progress", "off", "--set", "system.name=hls-gaudi2",
           "--set", "model.hidden=64", "--set", "model.heads=4", "--set", "model.vocabulary=256",
           "--set", "model.feed_forward=64", "--set", "model.sequence=16"]
SMALL = """
[model]
name = "small"
input = [4]
[[model.layers]]
type = "linear"
name = "scores"
block = "A"
out_features = 3
[training]
micro_batch_size = 4
gradient_accumulation = 4
epochs = 1
[inference]
micro_batch_size = 4
[data]
dataset = "numpy"
directory = "data"
"""


class Trouble(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def start(self, *arguments, limits=(), **settings):
        def limit():
            for which, most in limits:
                resource.setrlimit(which, (most, most))
        return subprocess.Popen([PIPESCOPE, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, preexec_fn=limit,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)

    def run_it(self, *arguments, limits=(), **settings):
        with self.start(*arguments, limits=limits, **settings) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def done(self, *arguments):
        status, out, err = self.run_it(*arguments)
        self.assertEqual(status, 0, err)
        return out

    def assert_nothing_left(self):
        left = [name for name in os.listdir(self.folder)
                if name.endswith((".lock", ".partial", ".part", "-journal", "-wal", "-shm"))]
        self.assertEqual(left, [])

    def test_memory(self):
        """Whatever memory there is, the run ends or says that it is too little."""
        refused = 0
        for mebibytes in range(100, 700, 40):
            command = ["run", *DECODER, "--set", "model.layers=300", "--threads", "2", "-o", "m.pop"]
            status, _, err = self.run_it(*command, limits=[(resource.RLIMIT_AS, mebibytes << 20)])
            if status == 127:  # the loader of the system had no memory for libraries
                continue
            self.assertIn(status, (0, 1), f"{mebibytes} MiB: {err}")
            self.assert_nothing_left()
            if status == 1:
                refused += 1
                self.assertRegex(err, "memory|thread")
                self.assertNotIn("internal fault", err)
            if os.path.exists(self.path("m.pop")):
                self.done("verify", "m.pop")
                os.remove(self.path("m.pop"))
        self.assertGreater(refused, 0)

    def test_threads(self):
        """A run with fewer threads than asked for gives the same or says why it ends; a thread takes 8 MiB of addresses."""
        whole = self.done("run", MNIST, "--samples", "4000", "--epochs", "1", "-o", "a.pop", "--progress", "off",
                          "--threads", "1", "--metrics", "a.jsonl")
        status, _, err = self.run_it("run", MNIST, "--samples", "4000", "--epochs", "1", "-o", "b.pop", "--progress", "off",
                                     "--threads", "300", "--metrics", "b.jsonl", limits=[(resource.RLIMIT_AS, 2 << 30)])
        self.assertEqual(whole, "")
        if status != 0:
            self.assertEqual(status, 1, err)
            # Addresses for threads, tensors and data run out together, so any of them may be refused first.
            self.assertRegex(err, "The system refuses to start another thread|[Nn]ot enough memory (for the work|to read)")
            return
        losses = []
        for name in ("a.jsonl", "b.jsonl"):
            with open(self.path(name), encoding="utf-8") as file:
                losses.append([json.loads(line).get("loss") for line in file])
        self.assertEqual(*losses)

    def test_full_disk(self):
        """A file that may not grow is like a full disk."""
        for most in (4096, 20000, 60000):
            status, _, err = self.run_it("run", MNIST, "--no-numerics", "-o", "m.pop", "--progress", "off",
                                         limits=[(resource.RLIMIT_FSIZE, most)])
            self.assertIn(status, (1, 2), err)
            self.assertRegex(err, "disk|system reported an error")
            self.assert_nothing_left()
            if os.path.exists(self.path("m.pop")):
                os.remove(self.path("m.pop"))
        sweep = ["sweep", FIXED, "--vary", "gradient_accumulation=8,9", "--profiles", "p", "-o", "t.csv", "--progress", "off"]
        status, out, err = self.run_it(*sweep, "--largest", "gradient_accumulation",
                                       limits=[(resource.RLIMIT_FSIZE, 8192)])
        self.assertEqual(status, 1, err)
        self.assertEqual(out, "")
        self.assertIn("no answer with", err)
        self.assertIn("so the questions have no answer", err)
        out = self.done(*sweep, "--largest", "gradient_accumulation")
        self.assertIn("9", out)

    def test_two_sweeps(self):
        sweep = ["sweep", FIXED, "-o", "t.csv", "--progress", "off", "--vary"]
        first = self.start(*sweep, "gradient_accumulation=8..3000")
        while not os.path.exists(self.path(".t.csv.lock")):
            self.assertIsNone(first.poll())
        status, _, err = self.run_it(*sweep, "gradient_accumulation=5000")
        self.assertEqual(status, 2)
        self.assertIn("t.csv is being written by another run", err)
        first.send_signal(signal.SIGINT)
        first.communicate()
        self.assertIn(first.returncode, (-signal.SIGINT, 128 + signal.SIGINT))
        self.assert_nothing_left()

    def test_killed_sweep_takes_its_processes_along(self):
        sweep = self.start("sweep", FIXED, "-o", "t.csv", "--vary", "gradient_accumulation=8..3000", "--progress", "off",
                           "--jobs", "3", start_new_session=True)
        while not os.path.exists(self.path(".t.csv.lock")):
            self.assertIsNone(sweep.poll())
        os.kill(sweep.pid, signal.SIGKILL)
        sweep.communicate()  # returns when no process holds the pipes any more
        with self.assertRaises(ProcessLookupError):
            os.killpg(sweep.pid, 0)
        self.done("sweep", FIXED, "-o", "t.csv", "--vary", "gradient_accumulation=8", "--progress", "off")
        self.assert_nothing_left()

    def test_signals_leave_no_files(self):
        self.done("run", MNIST, "--no-numerics", "-o", "m.pop", "--progress", "off")
        for to in ("chrome", "sqlite"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                export = self.start("export", "m.pop", "--all", "--to", "chrome", "-o", "out") if to == "chrome" else \
                    self.start("export", "m.pop", "--to", to, "-o", "out")
                while export.poll() is None and not any(".partial" in name for name in os.listdir(self.folder)):
                    pass
                export.send_signal(number)
                export.communicate()
                self.assertIn(export.returncode, (0, -number))
                self.assert_nothing_left()

    def test_the_next_run_removes_what_a_killed_one_left(self):
        self.done("run", MNIST, "--no-numerics", "-o", "m.pop", "--progress", "off")
        for _ in range(20):
            export = self.start("export", "m.pop", "--to", "chrome", "--all", "-o", "out")
            while export.poll() is None and not any(".partial" in name for name in os.listdir(self.folder)):
                pass
            export.kill()
            export.communicate()
        self.done("export", "m.pop", "--to", "chrome", "-o", "out")
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.pop", "out"])

    def test_ctrl_c_while_compiling(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            run = self.start("run", *DECODER, "--set", "model.layers=10000", "-o", "m.pop")
            time.sleep(0.5)  # nothing tells from outside that it has begun
            run.send_signal(number)
            run.communicate(timeout=30)
            self.assertIn(run.returncode, (-number, 128 + number))
            self.assertEqual(os.listdir(self.folder), [])

    def test_names_without_measure(self):
        deep = "a." * 40_000 + "a = 1\n"
        self.write("deep.toml", deep)
        os.makedirs(self.path("pipescope/devices"))
        self.write("pipescope/devices/deep.toml", deep)
        self.write("trace.json", '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}')
        environment = {**os.environ, "XDG_CONFIG_HOME": self.folder}
        for command in (["run", "deep.toml"], ["plan", "deep.toml"], ["devices", "deep"],
                        ["import", "trace.json", "--rules", "deep.toml", "-o", "t.pop"]):
            status, _, err = self.run_it(*command, env=environment)
            self.assertEqual(status, 2, err)
            self.assertRegex(err, r"deep\.toml:1: keys and values are nested more than 32 deep")
        for size in (100_000, 15 << 20):
            for key in ("k" * size + " = 1\n", "[" + "k" * size + "]\n", '"' + "k \\n" * (size // 4) + '" = 1\n',
                        "[training]\n" + "k" * size + " = 1\n", 'model.builder = "' + "k" * size + '"\n'):
                self.write("long.toml", key)
                status, _, err = self.run_it("run", "long.toml")
                self.assertEqual(status, 2)
                self.assertLess(len(err), 25_000)
        status, _, err = self.run_it("run", FIXED, "--set", "k" * 100_000 + "=1")
        self.assertEqual(status, 2)
        self.assertLess(len(err), 1000)

    def test_closed_streams(self):
        """A message that nobody gets changes nothing, and no file takes the place of a closed stream."""
        for closed in ("2>&-", "2>/dev/full", "<&-", "<&- 2>&-"):
            for progress in ("plain", "bar", "json", "off"):
                profile = self.path("profile.pop")
                shell = f'"$0" run "$1" -o "$2" --overwrite --progress {progress} {closed}'
                done = subprocess.run(["sh", "-c", shell, PIPESCOPE, FIXED, profile], capture_output=True)
                self.assertEqual(done.returncode, 0, (closed, progress, done.stderr))
                self.done("verify", profile)
        answer = subprocess.run(["sh", "-c", '"$0" report "$1" >&-', PIPESCOPE, profile], capture_output=True, text=True)
        self.assertEqual((answer.returncode, "Cannot write to standard output" in answer.stderr), (2, True), answer.stderr)

    def test_files_without_an_end(self):
        self.done("run", FIXED, "-o", "m.pop", "--progress", "off")
        self.write("trace.json", '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}')
        limits = [(resource.RLIMIT_AS, 2 << 30)]
        for command in (["run", "/dev/zero"], ["plan", "--profile", "/dev/zero", "--stages", "2"],
                        ["report", "m.pop", "--section", "planned", "--order", "/dev/zero"],
                        ["import", "trace.json", "--rules", "/dev/zero", "-o", "t.pop"],
                        ["validate", FIXED, "/dev/zero"],
                        ["poprun", "--import-config", "/dev/zero", "run", FIXED],
                        ["poprun", "--hostfile", "/dev/zero", "run", FIXED]):
            status, _, err = self.run_it(*command, limits=limits)
            self.assertEqual(status, 2, f"{command}: {err}")
            self.assertRegex(err, "/dev/zero is larger than|no such plain file|is no|no configuration")

    def test_hosts_are_no_options(self):
        hosts = self.write("hosts", "# comment\n\n a slots=2\n-oProxyCommand=touch${IFS}x slots=1\n")
        for command in (["--host", "a,-oProxyCommand=x"], ["--host", "-[0-2]"], ["--host", "me@-x"],
                        ["--hostfile", hosts]):
            status, _, err = self.run_it("poprun", *command, "run", FIXED)
            self.assertEqual(status, 2)
            self.assertIn("begins with a dash", err)

    def test_long_names_of_outputs(self):
        self.done("run", FIXED, "-o", "p" * 247, "--progress", "off")
        self.assertEqual(self.run_it("run", FIXED, "-o", "p" * 248, "--progress", "off")[0], 2)
        self.done("run", FIXED, "-o", "p" * 247, "--progress", "off")  # with an older profile beside it
        for to in ("chrome", "sqlite", "csv"):
            self.done("export", "p" * 247, "--to", to, "-o", to[1] * 255)
        self.done("sweep", FIXED, "--vary", "gradient_accumulation=8", "-o", "s" * 251 + ".csv", "--progress", "off")
        self.assertEqual(sorted(len(name) for name in os.listdir(self.folder)), [247, 255, 255, 255, 255])

    def test_one_changed_bit_in_data(self):
        """NumPy refuses the archive, too."""
        header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (64, 4), }".ljust(127) + b"\n"
        labels = b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (64,), }".ljust(127) + b"\n"
        members = {"samples.npy": header + struct.pack("<256f", *([0.5] * 256)), "labels.npy": labels + bytes(256)}
        archive, central = b"", b""
        for name, content in members.items():
            facts = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(content), len(content), len(content), len(name), 0)
            central += struct.pack("<IH", 0x02014B50, 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, len(archive)) \
                + name.encode()
            archive += struct.pack("<I", 0x04034B50) + facts + name.encode() + content
        end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 2, 2, len(central), len(archive), 0)
        whole = archive + central + end
        os.makedirs(self.path("data"))
        self.write("c.toml", SMALL)
        for split in ("train", "test"):
            self.write(f"data/{split}.npz", whole)
        command = ["run", "c.toml", "--progress", "off", "-o", "m.pop"]
        self.done(*command)
        changed = bytearray(whole)
        changed[30 + len("samples.npy") + 128 + 3] ^= 0x40  # an exponent
        self.write("data/train.npz", bytes(changed))
        status, _, err = self.run_it(*command)
        self.assertEqual(status, 2)
        self.assertIn("CRC-32", err)

    def test_csv(self):
        name = "=1+\x1b[31mred\x07"
        self.write("c.toml", '[model]\nname = "x"\n[system]\nname = "fixed"\n'
                   '[[fixed.stages]]\nforward = 1.0\nbackward = 2.0\nname = "s"\n')
        self.write("c.json", json.dumps({"traceEvents": [
            {"ph": "X", "name": name, "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}))
        self.done("import", "c.json", "-o", "c.pop", "--progress", "off")
        export = ["export", "c.pop", "--to", "csv", "--table", "debug_context", "-o"]
        self.done(*export, "faithful.csv")
        with open(self.path("faithful.csv"), encoding="utf-8", newline="") as file:
            self.assertIn(name, file.read())
        self.done(*export, "safe.csv", "--csv-safe")
        with open(self.path("safe.csv"), encoding="utf-8", newline="") as file:
            self.assertIn("'" + name, file.read())
        reader, writer = os.openpty()
        attributes = termios.tcgetattr(writer)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(writer, termios.TCSANOW, attributes)
        subprocess.run([PIPESCOPE, *export, "-"], cwd=self.folder, stdout=writer, check=True)
        os.close(writer)
        shown = b""
        while True:
            try:
                shown += os.read(reader, 65536)
            except OSError:
                break
        self.assertNotIn(b"\x1b", shown)
        self.assertIn(b"=1+\\x1b[31mred\\x07", shown)
        self.assertEqual(self.run_it("report", "c.pop", "--csv-safe")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *["Trouble." + name for name in sys.argv[3:]]])
