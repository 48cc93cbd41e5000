#!/usr/bin/env python3
"""Simulates pipelines, writes their traces as other tools do, and compares what the reports say of them with the simulation.

imported_pipelines.py PIPESCOPE makes traces in the forms of scripts with record_function, of torch.distributed.pipelining, of
DeepSpeed and of Megatron, with several numbers of stages and replicas, clocks that are minutes apart, events in random order, begin
and end events, bare arrays, archives, and work on accelerators. Nothing here shares code with the importer.
"""
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile


class Pipeline:
    """Passes and messages of a pipeline, in µs of a common clock. Every rank does one thing at a time."""

    def __init__(self, stages, micro_batches, steps=2, schedule="1f1b", slow=None, latency=30, seed=1):
        self.stages, self.micro_batches, self.steps = stages, micro_batches, steps
        rng = random.Random(seed)
        self.passes = []    # step, stage, pass, micro-batch, start, end
        self.receives = {}  # (step, stage, pass, micro-batch): posted, received
        self.sends = {}     # the same: called, returned
        self.marks = []     # step, stage, start, end
        self.updates = []   # step, stage, start, end
        free = [1000 + 7 * s for s in range(stages)]
        for step in range(steps):
            orders = [self.order(s, schedule) for s in range(stages)]
            began, sent, at = list(free), {}, [0] * stages
            while any(at[s] < len(orders[s]) for s in range(stages)):
                moved = False
                for s in range(stages):
                    if at[s] == len(orders[s]):
                        continue
                    kind, mb = orders[s][at[s]]
                    source = s - 1 if kind == "forward" else s + 1
                    start = free[s] + 3
                    if 0 <= source < stages:
                        if (source, kind, mb) not in sent:
                            continue
                        posted = free[s] + 2
                        received = max(posted + 5, sent[source, kind, mb] + latency + rng.randrange(8))
                        self.receives[step, s, kind, mb] = posted, received
                        start = received + 4
                    moved = True
                    length = (400 if kind == "forward" else 800) + rng.randrange(60)
                    if slow is not None and s == slow:
                        length *= 2
                    end = start + length
                    self.passes.append((step, s, kind, mb, start, end))
                    free[s] = end
                    target = s + 1 if kind == "forward" else s - 1
                    if 0 <= target < stages:
                        self.sends[step, s, kind, mb] = end + 2, end + 6
                        sent[s, kind, mb] = end + 2
                        free[s] = end + 7
                    at[s] += 1
                assert moved
            for s in range(stages):
                self.updates.append((step, s, free[s] + 5, free[s] + 55))
                free[s] += 60
                self.marks.append((step, s, began[s] - 1 if step == 0 else began[s], free[s]))
                free[s] += 1

    def order(self, stage, schedule):
        count = self.micro_batches
        if schedule == "gpipe":
            return [("forward", m) for m in range(count)] + [("backward", m) for m in range(count)]
        warm = min(self.stages - 1 - stage, count)
        order = [("forward", m) for m in range(warm)]
        for m in range(count - warm):
            order += [("forward", m + warm), ("backward", m)]
        return order + [("backward", m) for m in range(count - warm, count)]

    def mean(self, stage, kind):
        lengths = [end - start for _, s, k, _, start, end in self.passes if (s, k) == (stage, kind)]
        return sum(lengths) / len(lengths)


class Interleaved:
    """Interleaved 1F1B (Narayanan et al. 2021): rank r of p holds the chunks r, r + p, ... of the model as stages."""

    def __init__(self, ranks, chunks, micro_batches, steps=2, slow=None, seed=1):
        self.ranks, self.chunks, self.micro_batches, self.steps = ranks, chunks, micro_batches, steps
        self.stages = ranks * chunks
        rng = random.Random(seed)
        self.passes, self.receives, self.sends, self.marks, self.updates = [], {}, {}, [], []
        free = [1000 + 9 * r for r in range(ranks)]
        for step in range(steps):
            began, sent, at = list(free), {}, [0] * ranks
            orders = [self.order(r) for r in range(ranks)]
            while any(at[r] < len(orders[r]) for r in range(ranks)):
                before = list(at)
                for r in range(ranks):
                    if at[r] == len(orders[r]):
                        continue
                    kind, mb, stage = orders[r][at[r]]
                    source = stage - 1 if kind == "forward" else stage + 1
                    start = free[r] + 3
                    if 0 <= source < self.stages:
                        if (source, kind, mb) not in sent:
                            continue
                        posted = free[r] + 2
                        received = max(posted + 5, sent[source, kind, mb] + 20 + rng.randrange(8))
                        self.receives[step, stage, kind, mb] = posted, received
                        start = received + 4
                    length = ((300 if kind == "forward" else 600) + rng.randrange(40)) * (2 if stage == slow else 1)
                    self.passes.append((step, stage, kind, mb, start, start + length))
                    free[r] = start + length
                    target = stage + 1 if kind == "forward" else stage - 1
                    if 0 <= target < self.stages:
                        self.sends[step, stage, kind, mb] = free[r] + 2, free[r] + 6
                        sent[stage, kind, mb] = free[r] + 2
                        free[r] += 7
                    at[r] += 1
                assert at != before, "the order waits for itself"
            for r in range(ranks):
                self.updates.append((step, r, free[r] + 5, free[r] + 55))
                free[r] += 60
                self.marks.append((step, r, began[r], free[r]))
                free[r] += 1

    def order(self, rank):
        p, v, m = self.ranks, self.chunks, self.micro_batches
        forwards, backwards = [], []
        for first in range(0, m, p):
            for chunk in range(v):
                forwards += [("forward", mb, chunk * p + rank) for mb in range(first, first + p)]
                backwards += [("backward", mb, (v - 1 - chunk) * p + rank) for mb in range(first, first + p)]
        warm = min(2 * (p - rank - 1) + (v - 1) * p, m * v)
        order = forwards[:warm]
        for f, b in zip(forwards[warm:], backwards):
            order += [f, b]
        return order + backwards[m * v - warm:]

    mean = Pipeline.mean


def slice_(name, start, end, tid=1, pid=7, cat=None, args=None):
    event = {"ph": "X", "name": name, "ts": start, "dur": end - start, "tid": tid, "pid": pid}
    if cat:
        event["cat"] = cat
    if args:
        event["args"] = args
    return event


def script(pipe, stage):
    """record_function names of a script, and the calls and transfers of gloo."""
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, s, a, b in pipe.marks if s == stage]
    for step, s, kind, mb, a, b in pipe.passes:
        if s == stage:
            events.append(slice_(f"stage{s}/{kind}/mb{mb}", a, b))
            events.append(slice_("aten::linear", a + 1, b - 1))
    for (step, s, kind, mb), (posted, received) in pipe.receives.items():
        if s == stage:
            events += [slice_("c10d::recv_", posted, posted + 2), slice_("gloo:recv", posted + 1, received)]
    for (step, s, kind, mb), (called, returned) in pipe.sends.items():
        if s == stage:
            events += [slice_("c10d::send", called, returned), slice_("gloo:send", called + 1, returned + 1)]
    events += [slice_("update", a, b) for _, s, a, b in pipe.updates if s == stage]
    return events


def runtime(pipe, stage):
    """Actions of torch.distributed.pipelining: the receive is posted by an action of its own, and the pass waits for it."""
    letter = {"forward": "F", "backward": "B"}
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, s, a, b in pipe.marks if s == stage]
    for step, s, kind, mb, a, b in pipe.passes:
        if s != stage:
            continue
        posted, received = pipe.receives.get((step, s, kind, mb), (None, None))
        if posted is not None:
            events += [slice_(f"PP:{s}RECV_{letter[kind]}{mb}", posted, posted + 3), slice_("gloo:recv", posted + 1, a, tid=2)]
        events.append(slice_(f"PP:{s}{letter[kind]}{mb}", a if posted is None else posted + 4, b))
    for (step, s, kind, mb), (called, returned) in pipe.sends.items():
        if s == stage:
            events += [slice_(f"PP:{s}SEND_{letter[kind]}{mb}", called, returned), slice_("gloo:send", called + 1, returned + 1, tid=2)]
    return events


def runtime_rank(pipe, rank):
    """The same of a rank with several stages."""
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, r, a, b in pipe.marks if r == rank]
    letter = {"forward": "F", "backward": "B"}
    for step, s, kind, mb, a, b in pipe.passes:
        if s % pipe.ranks == rank:
            events.append(slice_(f"PP:{s}{letter[kind]}{mb}", a, b))
    for what, sides in (("RECV", pipe.receives), ("SEND", pipe.sends)):
        for (step, s, kind, mb), (a, b) in sides.items():
            if s % pipe.ranks == rank:
                events += [slice_(f"PP:{s}{what}_{letter[kind]}{mb}", a, a + 3), slice_(f"gloo:{what.lower()}", a + 1, b, tid=2)]
    events += [slice_("Optimizer.step#Adam.step", a, b) for _, r, a, b in pipe.updates if r == rank]
    return events


def repeated_rank(pipe, rank):
    """The same, but passes state the micro-batch only, and messages only their direction."""
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, r, a, b in pipe.marks if r == rank]
    for step, s, kind, mb, a, b in pipe.passes:
        if s % pipe.ranks == rank:
            events.append(slice_(f"{kind.capitalize()} {mb}", a, b))
    for what, sides in (("recv", pipe.receives), ("send", pipe.sends)):
        for (step, s, kind, mb), (a, b) in sides.items():
            if s % pipe.ranks == rank:
                events.append(slice_(f"{what}_{kind}", a, b))
    return events


def timeline(pipe):
    """A Megatron-style timeline of all ranks in one file. Messages state the number among those of their rank."""
    events = []
    for step, s, kind, mb, a, b in pipe.passes:
        thread = f"PP rank {s % pipe.ranks}, TP rank 0, compute"
        events.append(slice_(f"{kind}-compute", a, b, tid=thread, pid=0, cat=f"{kind}-compute",
                             args={"step": step, "model_chunk": s // pipe.ranks, "mb_id": mb, "seq_id": mb}))
    for what, sides in (("recv", pipe.receives), ("send", pipe.sends)):
        numbers = {}
        for (step, s, kind, mb), (a, b) in sorted(sides.items(), key=lambda side: side[1]):
            queue = step, s % pipe.ranks, kind
            numbers[queue] = numbers.get(queue, -1) + 1
            events.append(slice_(f"{kind}-{what}", a, b, tid=f"PP rank {s % pipe.ranks}, TP rank 0, {kind} {what}", pid=0,
                                 cat=f"{kind}-{what}",
                                 args={"step": step, "model_chunk": -1, "mb_id": -1, "seq_id": numbers[queue]}))
    for step, r, a, b in pipe.updates:
        events.append(slice_("optimizer", a, b, tid=f"PP rank {r}, TP rank 0, compute", pid=0, cat="optimizer",
                             args={"step": step, "model_chunk": -1, "mb_id": -1, "seq_id": 0}))
    return events


def unnamed(pipe, stage):
    """One stage a rank of torch.distributed.pipelining: passes state no stage and enclose their messages."""
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, s, a, b in pipe.marks if s == stage]
    for step, s, kind, mb, a, b in pipe.passes:
        if s != stage:
            continue
        posted, _ = pipe.receives.get((step, s, kind, mb), (a, a))
        _, returned = pipe.sends.get((step, s, kind, mb), (b, b))
        events.append(slice_(f"{kind.capitalize()} {mb}", min(a, posted), max(b, returned)))
        if (step, s, kind, mb) in pipe.receives:
            events.append(slice_("gloo:recv", posted, a))
        if (step, s, kind, mb) in pipe.sends:
            events.append(slice_("gloo:send", b, returned))
    return events


def deepspeed(pipe, stage):
    """Functions of DeepSpeed's engine, as begin and end events. They state neither stages nor micro-batches nor steps."""
    names = {"forward": "_exec_forward_pass", "backward": "_exec_backward_pass"}
    carried = {"forward": "activations", "backward": "grads"}
    slices = [(names[k], a, b) for _, s, k, _, a, b in pipe.passes if s == stage]
    slices += [(f"_exec_recv_{carried[k[2]]}", *v) for k, v in pipe.receives.items() if k[1] == stage]
    slices += [(f"_exec_send_{carried[k[2]]}", *v) for k, v in pipe.sends.items() if k[1] == stage]
    slices += [("_exec_optimizer_step", a, b) for _, s, a, b in pipe.updates if s == stage]
    events = []
    for name, a, b in slices:
        name = f"deepspeed/runtime/pipe/engine.py(700): {name}"
        events += [{"ph": "B", "name": name, "ts": a, "tid": "main", "pid": "python"},
                   {"ph": "E", "ts": b, "tid": "main", "pid": "python"}]
    return events


def megatron(pipe, stage):
    """Functions of Megatron's schedules within the steps of PyTorch's profiler."""
    events = [slice_(f"ProfilerStep#{step + 40}", a, b) for step, s, a, b in pipe.marks if s == stage]
    file = "megatron/core/pipeline_parallel/schedules.py(172): "
    for _, s, kind, _, a, b in pipe.passes:
        if s == stage:
            events += [slice_(f"{file}{kind}_step", a, b), slice_(f"pretrain_gpt.py(200): {kind}_step", a + 1, b - 1)]
    for (_, s, kind, _), (a, b) in pipe.receives.items():
        if s == stage:
            events.append(slice_(f"megatron/core/pipeline_parallel/p2p_communication.py(90): recv_{kind}", a, b))
    for (_, s, kind, _), (a, b) in pipe.sends.items():
        if s == stage:
            events.append(slice_(f"megatron/core/pipeline_parallel/p2p_communication.py(130): send_{kind}", a, b))
    return events


def operators(pipe, stage):
    """Nothing but operators and the messages between them: no rule recognises a pass."""
    events = [slice_(f"ProfilerStep#{step}", a, b) for step, s, a, b in pipe.marks if s == stage]
    for step, s, kind, mb, a, b in pipe.passes:
        if s == stage:
            name = "aten::linear" if kind == "forward" else "autograd::engine::evaluate_function: AddmmBackward0"
            events.append(slice_(name, a, b))
    for (step, s, kind, mb), (posted, received) in pipe.receives.items():
        if s == stage:
            events += [slice_("c10d::recv_", posted, posted + 2), slice_("gloo:recv", posted + 1, received)]
    for (step, s, kind, mb), (called, returned) in pipe.sends.items():
        if s == stage:
            events += [slice_("c10d::send", called, returned), slice_("gloo:send", called + 1, returned + 1)]
    return events


def accelerator(pipe, stage):
    """Annotations on the host, which only launches, and the same ones around the kernels on the accelerator."""
    events = []
    number = 0
    for step, s, a, b in pipe.marks:
        if s == stage:
            events.append(slice_(f"ProfilerStep#{step}", a - 90, b, cat="user_annotation"))
            events.append(slice_(f"ProfilerStep#{step}", a, b, tid=7, pid=0, cat="gpu_user_annotation"))
    for _, s, kind, mb, a, b in pipe.passes:
        if s != stage:
            continue
        number += 1
        name = f"stage{s}/{kind}/mb{mb}"
        events += [slice_(name, a - 50, a - 20, cat="user_annotation"),
                   slice_("cudaLaunchKernel", a - 40, a - 30, cat="cuda_runtime", args={"correlation": number}),
                   slice_(name, a, b, tid=7, pid=0, cat="gpu_user_annotation"),
                   slice_("sgemm", a, b, tid=7, pid=0, cat="kernel", args={"correlation": number, "stream": 7})]
    for (_, s, kind, mb), (a, b) in pipe.receives.items():
        if s == stage:
            events.append(slice_("ncclDevKernel_SendRecv(x)", a, b, tid=20, pid=0, cat="kernel",
                                 args={"Collective name": "recv", "stream": 20}))
    for (_, s, kind, mb), (a, b) in pipe.sends.items():
        if s == stage:
            events.append(slice_("ncclDevKernel_SendRecv(x)", a, b, tid=21, pid=0, cat="kernel",
                                 args={"Collective name": "send", "stream": 21}))
    return events


def data_parallel(rank, steps=3, kernels=6):
    """A rank that computes alone on its accelerator and sums gradients with the others: no stages, but weight updates."""
    events = [{"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": label}}
              for pid, label in ((0, "GPU 0"), (500 + rank, "CPU"))]
    work = []
    for step in range(steps):
        at = 1000 + 3000 * step
        events.append(slice_(f"ProfilerStep#{step}", at - 10, at + 2900, pid=500 + rank, tid=1, cat="user_annotation"))
        for _ in range(kernels):
            work.append((at, at + (140 if rank == 2 else 100)))
            events.append(slice_("sgemm", *work[-1], pid=0, tid=7, cat="kernel"))
            at += 150
        work.append((at - 40, 3000 * step + 2000))
        events.append(slice_("ncclDevKernel_AllReduce_Sum", *work[-1], pid=0, tid=20, cat="kernel"))
        work.append((3000 * step + 2005, 3000 * step + 2105))
        events.append(slice_("multi_tensor_apply_kernel", *work[-1], pid=0, tid=7, cat="kernel"))
        events.append(slice_("Optimizer.step#AdamW.step", *work[-1], pid=0, tid=7, cat="gpu_user_annotation"))
    return events, work


def bare(events):
    return json.dumps(events).encode()


def kineto(rank, ranks):
    def write(events):
        return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
                           "traceEvents": events, "traceName": "trace.json"}).encode()
    return write


def write_folder(folder, files):
    os.makedirs(folder)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder


def write_gzip(folder, files):
    return write_folder(folder, {name + ".gz": gzip.compress(data) for name, data in files.items()})


def write_zip(path, files):
    with zipfile.ZipFile(path + ".zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path + ".zip"


def write_tar(path, files):
    with tarfile.open(path + ".tar.gz", "w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo("run/" + name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path + ".tar.gz"


class Case:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failed = 0

    def expect(self, name, what, got, wanted, within=0.0):
        good = got == wanted if within == 0 else got is not None and abs(got - wanted) <= within
        if not good:
            self.failed += 1
            print(f"{name}: {what} is {got}, not {wanted}")

    def report(self, profile, section, *more):
        done = subprocess.run([self.program, "report", profile, "--section", section, "--format", "json", *more],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"report --section {section} fails: {done.stderr}")
        return json.loads(done.stdout)

    def run(self, name, form, pipe, write, replicas=1, neighbours=True, offset=True, wrap=None, inferred=False, schedule="1f1b"):
        ranks = pipe.stages * replicas
        files = {}
        rng = random.Random(name)
        for rank in range(ranks):
            stage = rank % pipe.stages if neighbours else rank // replicas
            events = form(pipe, stage)
            # Clocks with zeros of their own, dates that agree, or dates of clocks that are 5 ms apart.
            shift = {True: rng.randrange(10**9), False: 1_700_000_000_000_000}.get(offset, 1_700_000_000_000_000 - 5000 * rank)
            for event in events:
                event["ts"] += shift
            if not any(event["ph"] == "B" for event in events):
                rng.shuffle(events)
            encode = wrap(rank, ranks) if wrap else bare
            files[f"trace_rank{rank}.json"] = encode(events)
        profile = os.path.join(self.folder, name + ".pop")
        traces = write(os.path.join(self.folder, name), files)
        done = subprocess.run([self.program, "import", traces, "-o", profile, "--progress", "off"], capture_output=True, text=True)
        if done.returncode != 0:
            self.failed += 1
            print(f"{name}: the import fails: {done.stderr}")
            return
        if "arrives before it was sent" in done.stderr or ("By the dates" in done.stderr) != (offset == "apart"):
            self.failed += 1
            print(f"{name}: {done.stderr}")
        self.check(name, pipe, profile, replicas, inferred, schedule)

    def propose(self, name, pipe):
        """Passes are proposed from messages and operators, and are said to be. Times are those between the messages."""
        files = {}
        for stage in range(pipe.stages):
            events = operators(pipe, stage)
            for event in events:
                event["ts"] += 10**8 * (stage + 1)
            files[f"rank{stage}.json"] = bare(events)
        profile = os.path.join(self.folder, name + ".pop")
        done = subprocess.run([self.program, "import", write_folder(os.path.join(self.folder, name), files), "-o", profile,
                               "--progress", "off"], capture_output=True, text=True, check=True)
        self.expect(name, "contradictions", "arrives before it was sent" in done.stderr, False)
        self.expect(name, "aligned clocks", "were aligned by" in done.stderr, True)
        stages = self.report(profile, "stages")
        self.expect(name, "number of stages", len(stages["stages"]), pipe.stages)
        for row in stages["stages"]:
            for kind in ("forward", "backward"):
                # The few µs between a pass and its messages belong to the proposed pass.
                self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6,
                            pipe.mean(row["index"], kind), 12)
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        passes = 2 * pipe.stages * pipe.micro_batches * pipe.steps
        self.expect(name, "passes", rows["passes with a micro-batch"]["recognised"], passes)
        self.expect(name, "passes with a stated stage", rows["passes whose stage the trace states"]["recognised"], 0)
        remarks = " ".join(self.report(profile, "summary")["remarks"])
        self.expect(name, "says that passes are proposed", "are proposed from the sends and receives" in remarks, True)
        self.expect(name, "follows 1F1B", self.report(profile, "planned", "--schedule", "1f1b")["follows"], True)

    def interleaved(self, name, pipe, files, inferred=False):
        """Several stages on a rank: every stage has its own figures, and the order is that of the schedule."""
        profile = os.path.join(self.folder, name + ".pop")
        done = subprocess.run([self.program, "import", write_folder(os.path.join(self.folder, name), files), "-o", profile,
                               "--progress", "off"], capture_output=True, text=True, check=True)
        self.expect(name, "contradictions", "arrives before it was sent" in done.stderr, False)
        self.figures(name, pipe, profile, 1, inferred)
        rows = self.report(profile, "stages")["stages"]
        self.expect(name, "devices", len({row["device_name"] for row in rows}), pipe.ranks)
        self.expect(name, "stages of the first device",
                    [row["index"] for row in rows if row["device_name"] == rows[0]["device_name"]],
                    list(range(0, pipe.stages, pipe.ranks)))
        plan = self.report(profile, "planned", "--schedule", "interleaved-1f1b")
        self.expect(name, "follows its schedule", plan["follows"], True)
        fit = self.report(profile, "planned")
        self.expect(name, "schedule that fits best", fit["plan"], "interleaved-1f1b")

    def contradictory(self, name, pipe):
        """The report says that chunks cannot be told apart, instead of showing times that contradict the step time."""
        files = {f"rank{r}.json": bare([e for e in repeated_rank(pipe, r) if r > 0 or e["name"] != "Forward 1"])
                 for r in range(pipe.ranks)}
        profile = os.path.join(self.folder, name + ".pop")
        subprocess.run([self.program, "import", write_folder(os.path.join(self.folder, name), files), "-o", profile,
                        "--progress", "off"], capture_output=True, text=True, check=True)
        stages = self.report(profile, "stages")
        self.expect(name, "step time is known", stages["step_cycles"] > 0, True)
        for key in ("useful", "lost_fill_and_drain", "lost_imbalance", "lost_exchange_update_host"):
            self.expect(name, key, stages[key + "_cycles"], None)
        self.expect(name, "says why", "cannot be replayed" in " ".join(stages["remarks"]), True)
        row = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}["passes that occur once in their step"]
        self.expect(name, "passes that occur once", row["recognised"] < row["all"], True)

    def no_stages(self, name, ranks=4):
        """Weight updates alone give no verdict on stages, and do not hide what the accelerators do."""
        made = [data_parallel(rank) for rank in range(ranks)]
        profile = os.path.join(self.folder, name + ".pop")
        files = {f"rank{r}.json": kineto(r, ranks)(events) for r, (events, _) in enumerate(made)}
        subprocess.run([self.program, "import", write_folder(os.path.join(self.folder, name), files), "-o", profile,
                        "--progress", "off"], capture_output=True, text=True, check=True)
        for row, (_, work) in zip(self.report(profile, "engines")["devices"], made):
            busy, last = 0, 0
            for start, end in sorted(work):
                busy += max(0, end - max(start, last))
                last = max(last, end)
            computing = sum(end - start for start, end in work if end % 1000 != 0)
            self.expect(name, f"{row['name']}, busy µs", row["any_busy"] * row["total_cycles"] / 1e6, busy, 1e-3)
            self.expect(name, f"{row['name']}, computing µs", row["compute_utilisation"] * row["total_cycles"] / 1e6,
                        computing, 1e-3)
        self.expect(name, "slowdown", self.report(profile, "stragglers")["slowdown"], None)
        self.expect(name, "critical path", self.report(profile, "waits")["critical_path_cycles"], None)
        self.expect(name, "matched collectives", len(self.report(profile, "collectives")["collectives"]), 3)

    def some_ranks(self, name, pipe, replicas, ranks):
        """Import only some ranks of a folder, so that replicas are not whole."""
        files = {f"rank{r}.json": bare([dict(event, ts=event["ts"] + 1_700_000_000_000_000)
                                        for event in script(pipe, r % pipe.stages)]) for r in range(pipe.stages * replicas)}
        profile = os.path.join(self.folder, name + ".pop")
        done = subprocess.run([self.program, "import", write_folder(os.path.join(self.folder, name), files), "-o", profile,
                               "--ranks", ranks, "--progress", "off"], capture_output=True, text=True, check=True)
        self.expect(name, "notes", done.stderr, "")
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        # Ranks 4 and 9 are stages 0 and 1 of other replicas, so no other side of their messages is there.
        self.expect(name, "messages with both sides", rows["messages with both sides"]["recognised"],
                    2 * 2 * (pipe.stages - 1) * pipe.micro_batches * pipe.steps)

    def again(self, name, pipe, profile):
        """The events that the profile exports can be imported with the same figures."""
        for form in ("chrome", "perfetto"):
            trace, copy = f"{profile}.{form}", f"{profile}.{form}.pop"
            for command in (["export", profile, "--to", form, "-o", trace],
                            ["import", trace, "-o", copy, "--progress", "off"]):
                subprocess.run([self.program, *command], capture_output=True, text=True, check=True)
            self.figures(f"{name}, {form}", pipe, copy, 1, False)

    def check(self, name, pipe, profile, replicas, inferred, schedule):
        self.figures(name, pipe, profile, replicas, inferred)
        if name == "script_dated":
            self.again(name, pipe, profile)
        plan = self.report(profile, "planned", "--schedule", schedule)
        self.expect(name, "follows its schedule", plan["follows"], True)
        other = self.report(profile, "planned", "--schedule", "gpipe" if schedule == "1f1b" else "1f1b")
        self.expect(name, "follows another schedule", other["follows"], False)

    def figures(self, name, pipe, profile, replicas, inferred):
        stages = self.report(profile, "stages")
        self.expect(name, "number of stages", len(stages["stages"]), pipe.stages)
        costs = []
        for row in stages["stages"]:
            if row["index"] >= pipe.stages:
                continue
            costs.append(pipe.mean(row["index"], "forward") + pipe.mean(row["index"], "backward"))
            for kind in ("forward", "backward"):
                self.expect(name, f"{kind} of stage {row['index']}, µs", row[f"{kind}_cycles"] / 1e6,
                            pipe.mean(row["index"], kind), 1e-5)
        self.expect(name, "slowest stage", stages["slowest_stage"], costs.index(max(costs)))
        rows = {row["what"]: row for row in self.report(profile, "coverage")["coverage"]}
        sides = 2 * 2 * (pipe.stages - 1) * pipe.micro_batches * pipe.steps * replicas
        self.expect(name, "messages", rows["messages with both sides"]["all"], sides)
        self.expect(name, "messages with both sides", rows["messages with both sides"]["recognised"], sides)
        passes = 2 * pipe.stages * pipe.micro_batches * pipe.steps * replicas
        self.expect(name, "passes", rows["passes with a micro-batch"]["recognised"], passes)
        self.expect(name, "passes within a step", rows["passes within a training step"]["recognised"], passes)
        stated = rows["passes whose stage the trace states"]
        self.expect(name, "passes with a stated stage", stated["recognised"], 0 if inferred else stated["all"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        case = Case(sys.argv[1], folder)
        case.run("script", script, Pipeline(4, 8, slow=2), write_gzip)
        case.run("script_gpipe", script, Pipeline(3, 5, schedule="gpipe", slow=0), write_zip, schedule="gpipe")
        case.run("script_eight", script, Pipeline(8, 12, steps=3, slow=5), write_tar)
        case.run("script_replicas", script, Pipeline(4, 6, slow=1), write_folder, replicas=2)
        case.some_ranks("script_some_ranks", Pipeline(4, 6, slow=1), 3, "0-4,9")
        case.run("script_layers", script, Pipeline(3, 6, slow=2), write_folder, replicas=3, neighbours=False)
        case.run("script_dated", script, Pipeline(4, 6), write_folder, offset=False)
        case.run("script_apart", script, Pipeline(4, 6), write_folder, offset="apart")
        case.run("runtime", runtime, Pipeline(5, 7, slow=1), write_folder)
        case.run("unnamed", unnamed, Pipeline(4, 6, slow=3), write_folder, inferred=True)
        case.run("unnamed_replicas", unnamed, Pipeline(3, 4, slow=1), write_gzip, replicas=2, inferred=True)
        case.run("deepspeed", deepspeed, Pipeline(4, 6, slow=2), write_folder, replicas=2, neighbours=False, inferred=True)
        case.run("megatron", megatron, Pipeline(6, 8, slow=4), write_folder, inferred=True)
        case.run("accelerator", accelerator, Pipeline(4, 6, slow=1), write_folder, wrap=kineto)
        two = Interleaved(4, 2, 8, slow=5)
        case.interleaved("interleaved_runtime", two, {f"rank{r}.json": bare(runtime_rank(two, r)) for r in range(4)})
        three = Interleaved(3, 3, 6, slow=4)
        case.interleaved("interleaved_timeline", three, {"timeline.json": bare(timeline(three))})
        again = Interleaved(2, 2, 4, slow=1)
        case.interleaved("interleaved_repeated", again, {f"rank{r}.json": bare(repeated_rank(again, r)) for r in range(2)}, True)
        case.contradictory("contradictory", again)
        case.no_stages("no_stages")
        case.propose("operators", Pipeline(4, 6, slow=2))
        sys.exit(1 if case.failed else 0)


if __name__ == "__main__":
    main()
