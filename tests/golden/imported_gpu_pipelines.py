#!/usr/bin/env python3
"""Simulates pipelines on GPUs, writes their traces as PyTorch's profiler does, and compares what the reports say with the simulation.

imported_gpu_pipelines.py PIPESCOPE runs data-parallel pipelines whose kernels, messages and sums of gradients wait for each other on
the streams of the GPUs. Passes are marked on the GPUs or on the host only, receives are posted early or late, clocks are tens of
milliseconds apart, and one worker or one stage is slow. Compared are the lengths of passes, the slowdowns that a replay of the
simulation gives, the critical path of the simulation, and what devices wait for. Nothing here shares code with the importer.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

COMPUTE, SUMS = 7, 28  # streams


class Job:
    """Operations in µs. Those of one stream follow each other; the members of a group start together."""

    def __init__(self, stages=4, replicas=2, micro_batches=6, steps=3, schedule="1f1b", slow_worker=None, slow_stage=None,
                 transfer=60, early=False):
        self.stages, self.replicas, self.micro_batches, self.steps = stages, replicas, micro_batches, steps
        self.schedule, self.slow_worker, self.slow_stage, self.early = schedule, slow_worker, slow_stage, early
        self.rng = random.Random(5)
        self.ops, self.groups, self.marks = [], {}, {}
        self.program = defaultdict(list)  # program of each rank, in the order of the host's calls
        self.build()
        self.run(transfer)

    def rank(self, stage, replica):
        return stage * self.replicas + replica

    def order(self, stage):
        count = self.micro_batches
        forward, backward = [("forward", m) for m in range(count)], [("backward", m) for m in range(count)]
        if self.schedule == "gpipe":
            return forward + backward
        ahead = min(self.stages - 1 - stage, count)
        steady = [entry for pair in zip(forward[ahead:], backward) for entry in pair]
        return forward[:ahead] + steady + backward[count - ahead:]

    def add(self, rank, kind, stream, length, after, step, **facts):
        op = {"index": len(self.ops), "rank": rank, "kind": kind, "stream": stream, "length": length, "after": after, "step": step,
              "group": (), "start": None, "end": None, **facts}
        self.ops.append(op)
        self.program[rank].append(op)
        return op

    def length(self, kind, stage, replica):
        length = (400 if kind == "forward" else 800) + self.rng.randrange(30)
        slow = stage == self.slow_stage or (stage, replica) == self.slow_worker
        return length * 3 // 2 if slow else length

    def build(self):
        sides = {}
        for step in range(self.steps):
            for stage in range(self.stages):
                for replica in range(self.replicas):
                    self.build_step(step, stage, replica, sides)
        for key, members in sides.items():
            for op in members:
                op["group"] = members

    def build_step(self, step, stage, replica, sides):
        rank, last = self.rank(stage, replica), None
        for kind, mb in self.order(stage):
            facts = {"stage": stage, "replica": replica, "mb": mb, "pass": kind}
            towards = 1 if kind == "forward" else -1
            after = []
            if 0 <= stage - towards < self.stages:
                receive = self.add(rank, "recv", f"{kind} in", 0, [] if self.early or not last else [last], step,
                                   peer=self.rank(stage - towards, replica), **facts)
                sides.setdefault((step, replica, kind, mb, stage), []).append(receive)
                after.append(receive)
            last = self.add(rank, kind, COMPUTE, self.length(kind, stage, replica), after, step, **facts)
            if 0 <= stage + towards < self.stages:
                send = self.add(rank, "send", f"{kind} out", 0, [last], step, peer=self.rank(stage + towards, replica), **facts)
                sides.setdefault((step, replica, kind, mb, stage + towards), []).append(send)
        gradients = self.add(rank, "sum", SUMS, 0, [last], step, stage=stage, replica=replica)
        sides.setdefault((step, stage), []).append(gradients)
        self.add(rank, "update", COMPUTE, 150, [gradients], step, stage=stage, replica=replica)

    def run(self, transfer):
        host = {rank: 1000 + 37 * rank for rank in self.program}
        for step in range(self.steps):
            streams = defaultdict(list)
            for rank, ops in self.program.items():
                self.marks[rank, step] = host[rank]
                for n, op in enumerate(op for op in ops if op["step"] == step):
                    op["launch"] = host[rank] + 10 + 6 * n  # the host runs ahead of its GPU
                    streams[rank, op["stream"]].append(op)
            self.settle(streams, transfer)
            for rank, ops in self.program.items():
                host[rank] = max(op["end"] for op in ops if op["step"] == step) + 12
                self.marks[rank, step] = self.marks[rank, step], host[rank] - 2

    def settle(self, streams, transfer):
        free, left = defaultdict(int), sum(len(ops) for ops in streams.values())
        while left > 0:
            before = left
            for stream, ops in streams.items():
                while ops and self.starts(ops[0], free[stream], transfer):
                    free[stream] = ops.pop(0)["end"]
                    left -= 1
            assert left < before, "the operations wait for each other in a circle"

    def starts(self, op, free, transfer):
        """True if the operation, and all of its group, have started."""
        if op["start"] is None:
            if any(other["end"] is None for other in op["after"]):
                return False
            op["start"] = max([op["launch"] + 5, free + 1] + [other["end"] + 2 for other in op["after"]])
        members = op["group"] or [op]
        if any(other["start"] is None for other in members):
            return False
        if op["end"] is None:
            length = op["length"] if not op["group"] else 270 if op["kind"] == "sum" else transfer + self.rng.randrange(8)
            for other in members:
                other["end"] = max(o["start"] for o in members) + length
        return True

    def transfer_of(self, op):
        return op["end"] - max(other["start"] for other in op["group"] or [op])

    def replayed(self, real):
        """Mean step time if the operations for which `real` holds take their recorded time, and the others the usual one of their
        type. Sums of gradients and updates are left out."""
        lengths = defaultdict(list)
        ops = [op for op in self.ops if op["kind"] not in ("sum", "update")]
        for op in ops:
            lengths[op["kind"], op["pass"]].append(self.transfer_of(op))
        usual = {}
        for (kind, of), all_lengths in lengths.items():
            ordered = sorted(all_lengths)
            usual[kind, of] = ordered[len(ordered) // 2] if kind in ("send", "recv", "fused") else sum(ordered) / len(ordered)
        ends, free, latest = {}, defaultdict(float), defaultdict(float)
        begins = {}
        queues = defaultdict(list)
        for op in ops:
            queues[op["step"], op["rank"], op["stream"]].append(op)
        while any(queues.values()):
            for stream, queue in queues.items():
                while queue and self.replays(queue[0], stream, begins, ends, free, real, usual):
                    op = queue.pop(0)
                    free[stream] = ends[op["index"]]
                    latest[op["step"]] = max(latest[op["step"]], ends[op["index"]])
        return sum(latest.values()) / len(latest)

    def replays(self, op, stream, begins, ends, free, real, usual):
        if op["index"] not in begins:
            if any(other["index"] not in ends for other in op["after"]):
                return False
            begins[op["index"]] = max([free[stream]] + [ends[other["index"]] for other in op["after"]])
        members = [other["index"] for other in op["group"]] or [op["index"]]
        if any(member not in begins for member in members):
            return False
        length = self.transfer_of(op) if real(op) else usual[op["kind"], op["pass"]]
        ends[op["index"]] = max(begins[member] for member in members) + length
        return True

    def critical(self):
        """Time of each (pass, stage) on the critical path."""
        sums, before, last = defaultdict(int), {}, {}
        for ops in self.program.values():
            for op in ops:
                before[op["index"]] = last.get((op["rank"], op["stream"]))
                last[op["rank"], op["stream"]] = op
        op = max(self.ops, key=lambda op: op["end"])
        while op is not None:
            op = max(op["group"] or [op], key=lambda other: other["start"])
            if not op["group"]:
                sums[op["kind"], op["stage"]] += op["length"]
            earlier = op["after"] + ([before[op["index"]]] if before[op["index"]] else [])
            op = max(earlier, key=lambda other: other["end"], default=None)
        return sums


class FusedJob(Job):
    """Passes that follow each other in a stage send and receive in one kernel, as batches of messages do: such a kernel states no
    peers, and both of its ranks leave it together."""

    def build_step(self, step, stage, replica, sides):
        rank, count = self.rank(stage, replica), self.micro_batches
        ahead = min(self.stages - 1 - stage, count)
        steady = count - ahead
        last = None

        def exchange(*parts):  # parts are (what, pass, micro-batch, stage at the other side)
            nonlocal last
            parts = [part for part in parts if 0 <= part[3] < self.stages]
            if not parts:
                return
            what, kind, mb, other = parts[0]
            last = self.add(rank, what if len(parts) == 1 else "fused", "messages", 0, [last] if last else [], step, stage=stage,
                            replica=replica, mb=mb, peer=self.rank(other, replica), **{"pass": kind})
            key = (step, replica, min(stage, other), *sorted((part[1], part[2]) for part in parts))
            sides.setdefault(key, []).append(last)

        def compute(kind, mb):
            nonlocal last
            last = self.add(rank, kind, COMPUTE, self.length(kind, stage, replica), [last] if last else [], step, stage=stage,
                            replica=replica, mb=mb, **{"pass": kind})

        for mb in range(ahead):
            exchange(("recv", "forward", mb, stage - 1))
            compute("forward", mb)
            exchange(("send", "forward", mb, stage + 1))
        exchange(("recv", "forward", ahead, stage - 1))
        for k in range(steady):
            compute("forward", ahead + k)
            exchange(("send", "forward", ahead + k, stage + 1), ("recv", "backward", k, stage + 1))
            compute("backward", k)
            more = [("recv", "forward", ahead + k + 1, stage - 1)] if k + 1 < steady else []
            exchange(("send", "backward", k, stage - 1), *more)
        for mb in range(steady, count):
            exchange(("recv", "backward", mb, stage + 1))
            compute("backward", mb)
            exchange(("send", "backward", mb, stage - 1))
        self.add(rank, "update", COMPUTE, 150, [last], step, stage=stage, replica=replica)


class Kineto:
    """The trace of one rank."""

    def __init__(self, job, rank, shift, name, on_gpu, states_peers):
        self.job, self.rank, self.shift, self.states_peers = job, rank, shift, states_peers
        self.host, self.gpu, self.events = 5000 + rank, rank % 8, []
        for op in job.program[rank]:
            self.operation(op, name, on_gpu)
        for step in range(job.steps):
            start, end = job.marks[rank, step]
            self.add(self.host, self.host, f"ProfilerStep#{step + 4}", "user_annotation", start, end)

    def add(self, pid, tid, name, category, start, end, **args):
        self.events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": start + self.shift,
                            "dur": end - start, "args": args})

    def stream(self, op):
        return op["stream"] if isinstance(op["stream"], int) else 20 + ["forward in", "forward out", "backward in", "backward out",
                                                                       "messages"].index(op["stream"])

    def kernel(self, op, name, start, end, **args):
        number = len(self.events) + 1
        thread = self.host + (op["kind"] == "backward")
        self.add(self.host, thread, "cudaLaunchKernel", "cuda_runtime", op["launch"], op["launch"] + 2, correlation=number)
        self.add(self.gpu, self.stream(op), name, "kernel", start, end, device=self.gpu, stream=self.stream(op),
                 correlation=number, **args)

    def annotate(self, op, name, on_gpu):
        self.add(self.host, self.host, name, "user_annotation", op["launch"] - 1, op["launch"] + 4)
        if on_gpu:
            self.add(self.gpu, self.stream(op), name, "gpu_user_annotation", op["start"], op["end"])

    def operation(self, op, name, on_gpu):
        kind, start, end = op["kind"], op["start"], op["end"]
        if kind in ("forward", "backward"):
            middle = (start + end) // 2
            if name:
                self.annotate(op, name(op), on_gpu)
            elif kind == "backward":
                self.add(self.host, self.host + 1, "autograd::engine::evaluate_function: MmBackward0", "cpu_op", op["launch"] - 1,
                         op["launch"] + 4)
            self.kernel(op, f"gemm_{kind}", start, middle - 1)
            self.kernel(op, f"elementwise_{kind}", middle, end)
        elif kind in ("send", "recv"):
            peers = {"Collective name": kind, "Process Group Name": f"pp{op['replica']}",
                     "Dst Rank" if kind == "send" else "Src Rank": op["peer"] // self.job.replicas} if self.states_peers else {}
            self.annotate(op, f"nccl:{kind} {op['rank']}->{op['peer']}", on_gpu)
            self.kernel(op, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end, **peers)
        elif kind == "fused":
            self.annotate(op, "nccl:coalesced", on_gpu)
            self.kernel(op, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end,
                        **{"Collective name": "coalesced", "Process Group Name": f"pp{op['replica']}"})
        elif kind == "sum":
            group = {"Collective name": "allreduce", "Process Group Name": f"dp{op['stage']}"} if self.states_peers else {}
            self.kernel(op, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, end, **group)
        else:
            self.annotate(op, "Optimizer.step#AdamW.step", on_gpu)
            self.kernel(op, "multi_tensor_apply_kernel", start, end)

    def write(self, folder):
        job = self.job
        groups = [{"pg_name": f"pp{d}", "ranks": [job.rank(s, d) for s in range(job.stages)]} for d in range(job.replicas)]
        groups += [{"pg_name": f"dp{s}", "ranks": [job.rank(s, d) for d in range(job.replicas)]} for s in range(job.stages)]
        labels = [{"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "ts": 0, "args": {"labels": label}}
                  for pid, label in ((self.gpu, f"GPU {self.gpu}"), (self.host, "CPU"))]
        with open(os.path.join(folder, f"rank{self.rank}.json"), "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": self.rank, "world_size": len(job.program), "pg_config": groups},
                       "baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": labels + self.events}, file)


class Case:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed = program, folder, False

    def expect(self, name, what, found, wanted, within=0.0):
        near = found is not None and abs(found - wanted) <= within * abs(wanted) if within else found == wanted
        if not near:
            print(f"{name}: {what} is {found} instead of {wanted}")
            self.failed = True

    def report(self, profile, section):
        done = subprocess.run([self.program, "report", profile, "--section", section, "--format", "json"], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    def proposed(self, name, job):
        """Nothing names passes, but messages and operators of the backward pass divide them: each replica is a pipeline."""
        profile = self.imported(name, job, None, False, True)
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        passes = 2 * job.stages * job.replicas * job.micro_batches * job.steps
        row = rows["passes within a training step"]
        self.expect(name, "passes within a step", (row["recognised"], row["all"]), (passes, passes))
        self.expect(name, "number of stages", len(self.report(profile, "stages")["stages"]), job.stages)
        for row in self.report(profile, "stages")["stages"]:
            for kind in ("forward", "backward"):
                own = [op["length"] for op in job.ops if op["kind"] == kind and (op["stage"], op["replica"]) == (row["index"], 0)]
                # The passes of the first and the last stage have no messages at both ends.
                if 0 < row["index"] < job.stages - 1:
                    self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6, sum(own) / len(own), 0.02)
        rank = job.rank(*job.slow_worker)
        found = self.report(profile, "stragglers")
        self.expect(name, "culprit", (found["cause"], found["culprit"]), ("slow_worker", f"rank {rank} GPU {rank % 8}"))

    def imported(self, name, job, pass_name, on_gpu, states_peers):
        folder, profile = os.path.join(self.folder, name), os.path.join(self.folder, name + ".pop")
        os.makedirs(folder)
        rng = random.Random(99)
        for rank in job.program:
            Kineto(job, rank, rng.randrange(-40_000, 40_000), pass_name, on_gpu, states_peers).write(folder)
        subprocess.run([self.program, "import", folder, "-o", profile, "--progress", "off"], capture_output=True, text=True,
                       check=True)
        return profile

    def fused(self, name, job):
        """Kernels that send and receive at once bind the passes at both sides, although no message of theirs is known."""
        profile = self.imported(name, job, script, True, True)
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        plain = sum(op["kind"] in ("send", "recv") for op in job.ops)
        self.expect(name, "messages with both sides", rows["messages with both sides"]["recognised"], plain)
        self.expect(name, "kernels that are both", rows["communication kernels matched over ranks"]["all"],
                    sum(op["kind"] == "fused" for op in job.ops))
        self.stragglers(name, job, profile, 0.015)

    def threads(self, name, job):
        """One process runs the stages, each in a thread of its own, as schedules are often drawn."""
        path, profile = os.path.join(self.folder, name + ".json"), os.path.join(self.folder, name + ".pop")
        passes = [op for op in job.ops if op["kind"] in ("forward", "backward")]
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"ph": "X", "pid": "model", "tid": f"worker {op['stage']}", "name": script(op), "ts": op["start"],
                        "dur": op["length"]} for op in passes], file)
        subprocess.run([self.program, "import", path, "-o", profile, "--progress", "off"], capture_output=True, text=True, check=True)
        found = self.report(profile, "stages")
        busy = []
        for row in found["stages"]:
            self.expect(name, f"device of stage {row['index']}", row["device_name"], f"model thread worker {row['index']}")
            own = [sum(op["length"] for op in passes if op["stage"] == row["index"] and op["kind"] == kind) / job.micro_batches /
                   job.steps for kind in ("forward", "backward")]
            for kind, length in zip(("forward", "backward"), own):
                self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6, length, 1e-5)
            busy.append(sum(own))
        self.expect(name, "imbalance", found["imbalance"], max(busy) * job.stages / sum(busy), 1e-5)
        bubbles = []
        for step in range(job.steps):
            own = [op for op in passes if op["step"] == step]
            flush = max(op["end"] for op in own) - min(op["start"] for op in own)
            bubbles.append(1 - sum(op["length"] for op in own) / (job.stages * flush))
        self.expect(name, "bubble", found["bubble_fraction"], sum(bubbles) / len(bubbles), 1e-5)

    def run(self, name, job, pass_name, on_gpu=True, states_peers=True):
        profile = self.imported(name, job, pass_name, on_gpu, states_peers)
        self.passes(name, job, profile)
        for key in ("programs", "functions", "calls"):
            self.expect(name, f"{key} of a compiler", self.report(profile, "programs")[key], None)
        self.stragglers(name, job, profile)
        if states_peers:
            self.waits(name, job, profile)

    def missing(self, name, job, ranks, pass_name, placed=True):
        """Ranks of some stages alone give the figures of these stages; what needs all stages is withheld, and sections say why."""
        folder, profile = os.path.join(self.folder, name), os.path.join(self.folder, name + ".pop")
        os.makedirs(folder)
        for rank in ranks:
            Kineto(job, rank, 7_000 * rank, pass_name, True, True).write(folder)
        subprocess.run([self.program, "import", folder, "-o", profile, "--progress", "off"], capture_output=True, text=True,
                       check=True)
        done = subprocess.run([self.program, "report", profile, "--format", "json"], capture_output=True, text=True, check=True)
        sections = json.loads(done.stdout)
        rows = {row["what"]: row for row in sections["coverage"]["coverage"]}
        row = rows["ranks of the run"]
        self.expect(name, "ranks", (row["recognised"], row["all"]), (len(ranks), len(job.program)))
        stages, there = sections["stages"], {rank // job.replicas for rank in ranks if rank % job.replicas == 0}
        for key in ("limiting_stage", "bubble_fraction", "step_cycles", "flush_cycles", "useful_cycles", "lost_imbalance_cycles"):
            self.expect(name, key, stages[key], None)
        self.expect(name, "critical path", sections["waits"]["critical_path_cycles"], None)
        self.expect(name, "slowdown", sections["stragglers"]["slowdown"], None)
        if not placed:
            self.expect(name, "stages", stages["stages"], [])
            wanted = "The stages of"
            self.expect(name, f"'{wanted}' is in the summary", wanted in " ".join(sections["summary"]["remarks"]), True)
            return
        # Messages tell of the rank behind the last one that was recorded.
        count = min(max(there) + 2, job.stages)
        missing = [stage for stage in range(count) if stage not in there]
        numbers = " and ".join(filter(None, [", ".join(map(str, missing[:-1])), str(missing[-1])]))
        wanted = f"no passes of stage{'s' if len(missing) > 1 else ''} {numbers} of replica 0"
        for section in ("summary", "stages", "waits"):
            self.expect(name, f"'{wanted}' is in {section}", wanted in " ".join(sections[section]["remarks"]), True)
        planned = f"No passes of stage {missing[0]} were recorded, so no schedule"
        self.expect(name, f"'{planned}' is in planned", planned in " ".join(sections["planned"]["remarks"]), True)
        self.expect(name, "numbers of stages", [row["index"] for row in stages["stages"]], list(range(count)))
        busy = []
        for row in stages["stages"]:
            own = [sum(times) / len(times) for times in
                   ([op["length"] for op in job.ops if op["kind"] == kind and (op["stage"], op["replica"]) == (row["index"], 0)]
                    for kind in ("forward", "backward"))]
            for kind, length in zip(("forward", "backward"), own):
                if row["index"] not in there:
                    self.expect(name, f"{kind} of stage {row['index']}", row[f"{kind}_cycles"], None)
                else:
                    self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6, length, 1e-5)
            if row["index"] in there:
                busy.append(sum(own))
        self.expect(name, "imbalance", stages["imbalance"], max(busy) * len(busy) / sum(busy), 1e-5)
        self.waits_of_missing(name, job, ranks, sections["waits"]["waits"])
        done = subprocess.run([self.program, "what-if", profile, "--set", "stages.0.forward=*0.5"], capture_output=True, text=True,
                              check=False)
        wanted = "does not hold the passes of all stages"
        self.expect(name, f"exit status of what-if, and '{wanted}' in it", (done.returncode, wanted in done.stderr), (2, True))
        done = subprocess.run([self.program, "diff", profile, profile], capture_output=True, text=True, check=True)
        for side in ("first", "second"):
            wanted = f"The {side} profile holds no passes of stage"
            self.expect(name, f"'{wanted}' is in the comparison", wanted in done.stdout, True)

    def waits_of_missing(self, name, job, ranks, waits):
        """No wait names what was not recorded, and a rank whose neighbour is missing waits for its messages."""
        by_rank = defaultdict(float)
        for row in waits:
            if row["reason"] == "other side not recorded":
                by_rank[int(row["device_name"].split()[1])] += row["cycles"] / 1e6
        for rank in ranks:
            receives = [op for op in job.program[rank] if op["kind"] == "recv"]
            open_ones = [op for op in receives if op["peer"] not in ranks]
            self.expect(name, f"rank {rank} waits for ranks that were not recorded", by_rank[rank] > 0, bool(open_ones))
            # Waits between the passes of a rank cannot be longer than its messages took.
            took = sum(op["end"] - op["start"] for op in job.program[rank] if op["kind"] in ("recv", "send") and
                       op["peer"] not in ranks) / job.steps
            self.expect(name, f"rank {rank} waits at most {took} µs for them", by_rank[rank] <= took, True)

    def passes(self, name, job, profile):
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        sides = 2 * 2 * (job.stages - 1) * job.micro_batches * job.steps * job.replicas
        self.expect(name, "messages", rows["messages with both sides"]["all"], sides)
        self.expect(name, "messages with both sides", rows["messages with both sides"]["recognised"], sides)
        for row in self.report(profile, "system")["devices"]:
            rank = int(row["name"].split()[1])
            self.expect(name, f"stages of rank {rank}", row["stages"], str(rank // job.replicas))
        stages = self.report(profile, "stages")
        remarks = [text for text in stages["remarks"] if "These figures are of replica 0." in text]
        self.expect(name, "remarks on a slow replica", len(remarks), 1 if job.slow_worker else 0)
        if job.slow_worker:
            stage, replica = job.slow_worker
            took = [sum(op["length"] for op in job.ops if op["kind"] in ("forward", "backward") and
                        (op["stage"], op["replica"]) == (stage, each)) for each in (replica, 0)]
            wanted = f"In replica {replica} stage {stage} (rank {job.rank(stage, replica)} GPU {job.rank(stage, replica) % 8}) " \
                     f"takes {took[0] / took[1]:.2f} times as long"
            self.expect(name, f"'{wanted}' is in the remarks", wanted in " ".join(remarks), True)
            self.expect(name, f"'{wanted}' is in the summary", wanted in " ".join(self.report(profile, "summary")["remarks"]), True)
        own = [op for op in job.ops if op["kind"] in ("forward", "backward", "update") and op["replica"] == 0]
        length = max(op["end"] for op in own) - min(op["start"] for op in own)
        # The uncertainty of the clocks is that of the first and the last pass.
        self.expect(name, "step time, µs", stages["step_cycles"] / 1e6, length / job.steps, 0.01)
        for row in stages["stages"]:
            for kind in ("forward", "backward"):
                own = [op["length"] for op in job.ops if op["kind"] == kind and (op["stage"], op["replica"]) == (row["index"], 0)]
                self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6, sum(own) / len(own), 1e-5)

    def stragglers(self, name, job, profile, within=0.01):
        found = self.report(profile, "stragglers")
        usual = job.replayed(lambda op: False)
        self.expect(name, "slowdown", found["slowdown"], job.replayed(lambda op: True) / usual, within)
        for stage in range(job.stages):
            self.expect(name, f"slowdown of stage {stage}", found["by_stage"].get(str(stage)),
                        job.replayed(lambda op: op["stage"] == stage) / usual, within)
        for rank in job.program:
            own = [value for key, value in found["by_worker"].items() if key.startswith(f"rank_{rank}_")]
            self.expect(name, f"slowdown of rank {rank}", own[0] if own else None,
                        job.replayed(lambda op: op["rank"] == rank) / usual, within)
        if job.slow_worker:
            rank = job.rank(*job.slow_worker)
            self.expect(name, "cause", found["cause"], "slow_worker")
            self.expect(name, "culprit", found["culprit"], f"rank {rank} GPU {rank % 8}")
        else:
            self.expect(name, "cause", found["cause"], "stage_imbalance")
            self.expect(name, "culprit", found["culprit"], str(job.slow_stage))

    def waits(self, name, job, profile):
        found = self.report(profile, "waits")
        path = {(row["what"], row["stage"]): row["cycles"] / 1e6 for row in found["critical_path"]}
        # The uncertainty of the clocks leaves open which of two paths that are nearly equally long is the critical one.
        whole = max(op["end"] for op in job.ops)
        for (kind, stage), length in job.critical().items():
            if abs(path.get((kind, stage), 0) - length) > 0.05 * whole:
                print(f"{name}: {kind} of stage {stage} is {path.get((kind, stage), 0)} µs of the critical path instead of {length}")
                self.failed = True
        if job.replicas == 1 or not job.slow_worker:
            return
        # The ranks of the other replicas wait in the sums of gradients for the one whose stage is late.
        late = job.slow_worker[1]
        for row in found["waits"]:
            if row["cause"] == "collective" and row["reason"] == "collective straggler":
                rank, other = (int(row[key].split()[1]) for key in ("device_name", "waits_for"))
                self.expect(name, f"rank that rank {rank} waits for", other, rank - rank % job.replicas + late)
        waiting = [row for row in found["waits"] if row["reason"] == "collective straggler"]
        self.expect(name, "number of ranks that wait in sums", len(waiting), job.stages * (job.replicas - 1))


def script(op):
    return f"stage{op['stage']}/{op['kind']}/mb{op['mb']}"


def runtime(op):
    return f"PP:{op['stage']}{op['kind'][0].upper()}{op['mb']}"


def unnamed(op):
    return f"{op['kind'].title()} {op['mb']}"


def megatron(op):
    return f"{op['kind']}_step"


def main():
    with tempfile.TemporaryDirectory() as folder:
        case = Case(sys.argv[1], folder)
        case.run("annotations", Job(slow_worker=(2, 1)), script)
        case.run("host", Job(slow_worker=(1, 1)), runtime, on_gpu=False)
        case.run("gpipe", Job(schedule="gpipe", slow_stage=2), script)
        case.run("one pipeline", Job(replicas=1, slow_stage=1), megatron)
        case.run("early receives", Job(slow_worker=(2, 1), transfer=300, early=True), unnamed)
        case.run("long transfers", Job(slow_worker=(2, 1), transfer=900, early=True), script)
        case.run("unrelated replicas", Job(slow_worker=(2, 1)), megatron, states_peers=False)
        case.threads("threads of one process", Job(replicas=1, slow_stage=1))
        case.fused("sends and receives at once", FusedJob(replicas=1, slow_stage=1))
        case.fused("sends and receives at once in two replicas", FusedJob(slow_worker=(1, 1)))
        case.proposed("nothing names passes", Job(slow_worker=(2, 1)))
        case.missing("two stages missing", Job(), [0, 1, 6, 7], script)
        case.missing("one rank alone", Job(), [4], script)
        case.missing("first stage missing", Job(replicas=1, slow_stage=1), [1, 2, 3], script)
        case.missing("last stage missing", Job(replicas=1, slow_stage=1), [0, 1, 2], script)
        case.missing("one of two replicas lacks a stage", Job(slow_stage=1), [0, 1, 2, 3, 5, 6, 7], script)
        case.missing("unnamed stage missing", Job(replicas=1, slow_stage=1), [0, 2, 3], unnamed)
        case.missing("unnamed last stage missing", Job(replicas=1, slow_stage=1), [0, 1, 2], megatron)
        case.missing("unnamed first stage missing", Job(replicas=1, slow_stage=1), [1, 2, 3], megatron, placed=False)
    sys.exit(1 if case.failed else 0)


if __name__ == "__main__":
    main()
