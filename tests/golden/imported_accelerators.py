#!/usr/bin/env python3
"""Writes traces of processes that drive several accelerators, and compares what the reports say with sums of its own.

imported_accelerators.py PIPESCOPE imports traces of PyTorch's profiler in which
- one process launches kernels on several GPUs, so that the training steps that it marks are those of each GPU;
- the launches are not stated, and the same holds;
- two processes of one file drive two GPUs each and mark steps of their own;
- one process runs a pipeline whose passes are annotations on the GPUs, so that each pass is of a marked step;
- passes are marked on the host alone, which launches their kernels in a short time and goes on, and state their stage or not;
traces of ranks whose dates are seconds apart though they meet in collectives, and of two replicas of a pipeline; traces of XLA, of
Ascend devices, of rocprof, of Nsight Systems, and of an accelerator whose collectives are told by an argument alone, whose devices
are busy and communicate as long as the events say; and traces that lack what sections need.
"""
import json
import os
import random
import subprocess
import sys
import tempfile


class Trace:
    """Events of a trace, and the kernels of each GPU by the process that launched them. Times are in µs."""

    def __init__(self, states_launches=True):
        self.events, self.kernels, self.steps = [], {}, {}
        self.states_launches = states_launches

    def add(self, pid, tid, name, category, start, end, **args):
        self.events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": start, "dur": end - start,
                            "args": args})

    def step(self, host, number, start, end):
        self.steps.setdefault(host, {})[number] = (start, end)
        self.add(host, host, f"ProfilerStep#{number}", "user_annotation", start, end)

    def kernel(self, host, gpu, name, launch, start, end, thread=None):
        number = len(self.events) + 1
        self.kernels.setdefault(gpu, []).append((start, end))
        args = {"correlation": number} if self.states_launches else {}
        self.add(host, thread or host, "cudaLaunchKernel", "cuda_runtime", launch, launch + 1, **args)
        self.add(gpu, 7, name, "kernel", start, end, device=gpu, stream=7, **args)

    def write(self, path):
        meta = [{"ph": "M", "name": "process_labels", "pid": gpu, "tid": 0, "ts": 0, "args": {"labels": f"GPU {gpu}"}}
                for gpu in self.kernels]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": meta + self.events}, file)


def covered(spans, start, end):
    """Time within [start, end] that some span covers."""
    total, last = 0, start
    for a, b in sorted(spans):
        a, b = max(a, last), min(b, end)
        if b > a:
            total += b - a
            last = b
    return total


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def imported(program, folder, trace):
    path, profile = os.path.join(folder, "t.json"), os.path.join(folder, "t.pop")
    trace.write(path)
    run(program, "import", path, "-o", profile, "--progress", "off", "--overwrite")
    return profile


def report(program, profile, section):
    return json.loads(run(program, "report", profile, "--section", section, "--format", "json"))


def check_steps(program, folder, name, trace, host_of):
    rows = report(program, imported(program, folder, trace), "kernels")["steps"]
    found = {(row["device_name"], row["step"]): (row["cycles"] / 1e6, row["busy_cycles"] / 1e6) for row in rows}
    wanted = {(f"GPU {gpu}", number): (end - start, covered(trace.kernels[gpu], start, end))
              for gpu, host in host_of.items() for number, (start, end) in trace.steps[host].items()}
    if found.keys() != wanted.keys():
        sys.exit(f"{name}: steps {sorted(found)} instead of {sorted(wanted)}")
    for key, times in wanted.items():
        if any(abs(ours - theirs) > 1e-5 for ours, theirs in zip(found[key], times)):
            sys.exit(f"{name}: step {key} has (length, busy) {found[key]} instead of {times}")


def work(trace, host, gpus, first, seed):
    rng = random.Random(seed)
    at = 100 * seed
    for number in range(first, first + 3):
        begin = at
        for gpu in gpus:
            time = at + 20
            for i in range(8):
                end = time + rng.randrange(10, 60)
                trace.kernel(host, gpu, f"gemm{i % 3}", time - 10, time, end)
                time = end + rng.randrange(0, 40)
            at = max(at, time)
        trace.step(host, number, begin, at)
        at += 15


def check_pipeline(program, folder):
    """Four stages on the GPUs of one process: passes carry the numbers of the marked steps."""
    trace = Trace()
    for number in range(3, 6):
        begin = 10000 * number
        for stage in range(4):
            for mb in range(4):
                for kind, offset in (("forward", 0), ("backward", 4000)):
                    place = stage if kind == "forward" else 3 - stage
                    start = begin + 100 + offset + 300 * (place + mb) + 20 * stage
                    trace.kernel(77, stage, "gemm", start - 50, start, start + 200 + 20 * stage)
                    trace.add(stage, 7, f"stage{stage}/{kind}/mb{mb}", "gpu_user_annotation", start, start + 200 + 20 * stage)
        trace.step(77, number, begin, begin + 9000)
    profile = imported(program, folder, trace)
    rows = {row["what"]: row for row in report(program, profile, "coverage")["coverage"]}
    row = rows["passes within a training step"]
    if (row["recognised"], row["all"]) != (96, 96):
        sys.exit(f"{row['recognised']} of {row['all']} passes are within a step instead of 96 of 96")
    stages = report(program, profile, "stages")
    costs = [stage["forward_cycles"] / 1e6 for stage in stages["stages"]]
    if any(abs(cost - 200 - 20 * s) > 1e-5 for s, cost in enumerate(costs)) or len(costs) != 4:
        sys.exit(f"the forward passes take {costs} µs")


def check_launched(program, folder, gpus_of, name):
    """Passes are marked on the host alone, which launches their kernels in 20 µs: they last as long as these kernels. Another
    thread launches those of backward passes."""
    run_folder, profile = os.path.join(folder, name), os.path.join(folder, "t.pop")
    os.makedirs(run_folder)
    for rank, gpus in enumerate(gpus_of):
        trace, host, at, free = Trace(), 100 + rank, 0, {gpu: 0 for gpu in gpus}
        for mb in range(5):
            for gpu in gpus:
                for kind, length in (("forward", 100), ("backward", 240)):
                    trace.add(host, host, f"stage{gpu}/{kind} mb{mb}", "user_annotation", at, at + 20)
                    for i in range(2):
                        start = max(free[gpu], at + 12)
                        free[gpu] = start + length // 2 * (1 + gpu)
                        trace.kernel(host, gpu, "gemm", at + 2 + 8 * i, start, free[gpu], 7 if kind == "backward" else None)
                    at += 30
        meta = [{"ph": "M", "name": "process_labels", "pid": gpu, "tid": 0, "ts": 0, "args": {"labels": f"GPU {gpu}"}}
                for gpu in gpus]
        with open(os.path.join(run_folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": len(gpus_of)}, "traceEvents": meta + trace.events}, file)
    run(program, "import", run_folder, "-o", profile, "--progress", "off", "--overwrite")
    stages = report(program, profile, "stages")
    found = [(row["index"], round(row["forward_cycles"] / 1e6, 6), round(row["backward_cycles"] / 1e6, 6))
             for row in stages["stages"]]
    wanted = [(stage, 100 * (1 + stage), 240 * (1 + stage)) for stage in range(3)]
    if found != wanted:
        sys.exit(f"{name}: the passes of the stages take {found} µs instead of {wanted}")
    if stages["limiting_stage"] != 2:
        sys.exit(f"{name}: stage {stages['limiting_stage']} limits instead of stage 2")


def check_stages_by_messages(program, folder):
    """The host marks passes as torch.distributed.pipelining does, without a stage. Messages of the GPUs tell the order of the
    ranks. A function of the host that has the name of a pass, but launches no kernel, is none."""
    costs, batches, run_folder = [120, 300, 180], 4, os.path.join(folder, "stages by messages")
    traces = [Trace() for _ in costs]
    done, free, at = {}, [0] * len(costs), [0] * len(costs)

    def compute(rank, kind, mb, length, source):
        """A pass that waits for the one of rank `source`, if there is one; a kernel of NCCL receives its input."""
        host, arrival = 100 + rank, 0 if source is None else done[source, kind, mb] + 5
        traces[rank].add(host, host, f"{kind} {mb}", "user_annotation", at[rank], at[rank] + 20)
        if source is not None:
            for side, own, peer in (("recv", rank, source), ("send", source, rank)):
                begin = free[rank] if side == "recv" else arrival - 5
                traces[own].add(own, 20, "ncclDevKernel_SendRecv", "kernel", begin, max(arrival, begin), device=own, stream=20, **{
                    "Collective name": side, "Src Rank" if side == "recv" else "Dst Rank": peer})
        start = max(free[rank], arrival, at[rank] + 5)
        traces[rank].kernel(host, rank, "gemm", at[rank] + 2, start, start + length)
        free[rank] = done[rank, kind, mb] = start + length
        at[rank] += 30

    last = len(costs) - 1
    for kind, factor, ranks in (("Forward", 1, range(last + 1)), ("Backward", 2, range(last, -1, -1))):
        for mb in range(batches):
            for rank in ranks:
                neighbour = rank - 1 if kind == "Forward" else rank + 1
                compute(rank, kind, mb, factor * costs[rank], neighbour if 0 <= neighbour <= last else None)
    os.makedirs(run_folder)
    for rank, trace in enumerate(traces):
        trace.add(100 + rank, 9, "schedules.py(93): forward_step", "python_function", at[rank] + 10, at[rank] + 400)
        trace.kernels.setdefault(rank, [])
        meta = [{"ph": "M", "name": "process_labels", "pid": rank, "tid": 0, "ts": 0, "args": {"labels": f"GPU {rank}"}}]
        with open(os.path.join(run_folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": len(costs)}, "traceEvents": meta + trace.events}, file)
    profile = os.path.join(folder, "t.pop")
    run(program, "import", run_folder, "-o", profile, "--progress", "off", "--overwrite")
    stages = report(program, profile, "stages")
    found = [(row["index"], round(row["forward_cycles"] / 1e6, 6), round(row["backward_cycles"] / 1e6, 6))
             for row in stages["stages"]]
    wanted = [(stage, cost, 2 * cost) for stage, cost in enumerate(costs)]
    if found != wanted or stages["limiting_stage"] != 1:
        sys.exit(f"stages by messages: the passes take {found} µs instead of {wanted}")


def check_replicas(program, folder, collectives):
    """Two replicas of a pipeline of two ranks, whose clocks are off by tens of milliseconds. Messages join the ranks of a
    pipeline, and collectives, if there are any, the pipelines."""
    name = f"replicas {'with' if collectives else 'without'} collectives"
    run_folder, profile = os.path.join(folder, name), os.path.join(folder, "t.pop")
    os.makedirs(run_folder)
    costs, off, batches = [(200, 400), (300, 600)], [0, 31_000, -24_000, 55_000], 6
    for replica in range(2):
        free, done, events = [0, 0], {}, [[], []]

        def add(stage, tid, name, start, end, **args):
            rank = 2 * stage + replica
            events[stage].append({"ph": "X", "pid": stage, "tid": tid, "name": name, "cat": "kernel", "ts":
                                  1_700_000_000_000_000 + off[rank] + start, "dur": end - start, "args": {"stream": tid, **args}})

        for kind, stages in ((0, (0, 1)), (1, (1, 0))):
            for mb in range(batches):
                for stage in stages:
                    other = 1 - stage
                    waits = stage != stages[0]
                    arrival = done[other, kind, mb] + 10 if waits else 0
                    start = max(free[stage], arrival)
                    if waits:
                        for side, own, begin in (("recv", stage, free[stage]), ("send", other, arrival - 10)):
                            add(own, 20, "ncclDevKernel_SendRecv", begin, max(arrival, begin), **{
                                "Collective name": side, "Src Rank" if side == "recv" else "Dst Rank": 2 * (1 - own) + replica})
                    free[stage] = done[stage, kind, mb] = start + costs[stage][kind]
                    add(stage, 7, f"stage{stage}/{('forward', 'backward')[kind]}/mb{mb}", start, free[stage])
        flush = max(free)
        for stage in range(2):
            if collectives:
                add(stage, 28, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", free[stage] + 5 + 40 * replica, free[stage] + 130, **{
                    "Collective name": "allreduce", "Process Group Name": f"dp{stage}"})
            meta = [{"ph": "M", "name": "process_labels", "pid": stage, "tid": 0, "ts": 0, "args": {"labels": f"GPU {stage}"}}]
            groups = [{"pg_name": f"dp{stage}", "ranks": [2 * stage, 2 * stage + 1]}]
            rank = 2 * stage + replica
            with open(os.path.join(run_folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
                json.dump({"distributedInfo": {"rank": rank, "world_size": 4, "pg_config": groups},
                           "traceEvents": meta + events[stage]}, file)
    run(program, "import", run_folder, "-o", profile, "--progress", "off", "--overwrite")
    stages = report(program, profile, "stages")
    if stages["limiting_stage"] != 1 or abs(stages["flush_cycles"] / 1e6 - flush) > 20:
        sys.exit(f"{name}: a flush takes {stages['flush_cycles'] / 1e6} µs instead of {flush}")
    if collectives:
        for row in report(program, profile, "collectives")["collectives"]:
            if row["ranks"] != 2 or abs(row["spread_cycles"] / 1e6 - 40) > 60:
                sys.exit(f"{name}: {row['ranks']} ranks begin a collective {row['spread_cycles'] / 1e6} µs apart")


def check_dates(program, folder):
    """Three ranks meet seconds apart in each collective by their dates, though it takes a millisecond: they are wrong."""
    run_folder, profile = os.path.join(folder, "ranks"), os.path.join(folder, "t.pop")
    os.makedirs(run_folder)
    starts = [[1000 * n + 13 * rank for n in range(5)] for rank in range(3)]
    for rank in range(3):
        date = 1_700_000_000_000_000 + 2_000_000 * (rank == 1)
        events = [{"ph": "X", "pid": 0, "tid": 9, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "cat": "kernel",
                   "ts": date + start, "dur": 1000 * n + 800 - start, "args": {"stream": 9}}
                  for n, start in enumerate(starts[rank])]
        with open(os.path.join(run_folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events}, file)
    for clock, spread in (([], 26), (["--clock", "absolute"], 2_000_000)):
        run(program, "import", run_folder, "-o", profile, "--progress", "off", "--overwrite", *clock)
        for row in report(program, profile, "collectives")["collectives"]:
            # The middle of the possible offsets may be off by half of what the collective takes.
            if row["ranks"] != 3 or abs(row["spread_cycles"] / 1e6 - spread) > 400:
                sys.exit(f"{clock}: {row['ranks']} ranks begin a collective {row['spread_cycles'] / 1e6} µs apart")


class Device:
    """Events of one device, whose work and collectives are known."""

    def __init__(self, process, thread, beside):
        self.work, self.collectives = [], []
        self.events = [{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": process}},
                       {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "/host:CPU"}}]
        for tid, name in enumerate([thread, *beside]):
            self.events.append({"ph": "M", "name": "thread_name", "pid": 3, "tid": tid, "args": {"name": name}})
            if tid > 0:  # slices that the profiler repeats beside the work, such as the whole program
                self.add(3, tid, "jit_train_step(12)", 0, 9000, {})

    def add(self, pid, tid, name, start, length, more):
        self.events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": start, "dur": length, **more})

    def run(self, work, collective, seed, more_work=None, more_collective=None):
        rng, at = random.Random(seed), 10
        for i in range(60):
            length = rng.randrange(5, 90)
            communicates = i % 6 == 5
            name = collective if communicates else work[i % len(work)]
            (self.collectives if communicates else self.work).append((at, at + length))
            self.add(3, 0, name, at, length, (more_collective if communicates else more_work) or {})
            self.add(9, 1, "launch", at - 4, 3, {})
            at += length + rng.randrange(0, 25)
        return self

    def check(self, program, folder, name):
        path, profile = os.path.join(folder, "t.json"), os.path.join(folder, "t.pop")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.events, file)
        run(program, "import", path, "-o", profile, "--progress", "off", "--overwrite")
        rows = report(program, profile, "engines")["devices"]
        row = next((row for row in rows if row["communication_cycles"]), rows[0])
        last = max(end for _, end in self.work + self.collectives)
        for what, cycles, spans in (("busy", row["any_busy"] * row["total_cycles"], self.work + self.collectives),
                                    ("communicates", row["communication_cycles"], self.collectives),
                                    ("communicates alone", row["exposed_communication_cycles"], self.collectives)):
            if abs(cycles / 1e6 - covered(spans, 0, last)) > 1e-2:
                sys.exit(f"{name}: the device {what} for {cycles / 1e6} µs instead of {covered(spans, 0, last)}")
        kernels = report(program, profile, "kernels")
        sums = {}
        for event in self.events:
            if event.get("ph") == "X" and (event["pid"], event["tid"]) == (3, 0):
                count, length = sums.get(event["name"], (0, 0))
                sums[event["name"]] = count + 1, length + event["dur"]
        found = {row["name"]: (row["count"], round(row["cycles"] / 1e6)) for row in kernels["kernels"]}
        if found != sums or kernels["kernels_and_copies"] != 60:
            sys.exit(f"{name}: the kernels are {found} instead of {sums}")


def check_ascend(program, folder, process):
    """Ascend's profiler shows the collectives of a device in a process of their own, once as a whole and once by their parts."""
    names = ((1, "CANN"), (2, "Ascend Hardware"), (3, process))
    events = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}} for pid, name in names]
    events += [{"ph": "M", "name": "process_labels", "pid": 2, "tid": 0, "args": {"labels": "NPU"}}]
    for pid, tid, name in ((2, 5, "Stream 5"), (3, 0, "Group 0 Communication"), (3, 1, "Plane 0")):
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})
    work, collectives, rng, at = [], [], random.Random(8), 50
    for i in range(40):
        length = rng.randrange(20, 60)
        work.append((at, at + length))
        events.append({"ph": "X", "pid": 1, "tid": 9, "name": "launch", "ts": at - 30, "dur": 5})
        events.append({"ph": "X", "pid": 2, "tid": 5, "name": "MatMulV2", "ts": at, "dur": length})
        if i % 4 == 3:
            start = at + length // 2  # the collective overlaps the work
            collectives.append((start, start + 70))
            events.append({"ph": "X", "pid": 3, "tid": 0, "name": f"hcom_allReduce__7_{i}", "ts": start, "dur": 70})
            events += [{"ph": "X", "pid": 3, "tid": 1, "name": part, "ts": start + 35 * k, "dur": 35}
                       for k, part in enumerate(("Notify_Wait", "Reduce_Inline"))]
        at += length + rng.randrange(30, 60)
    path, profile = os.path.join(folder, "t.json"), os.path.join(folder, "t.pop")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(events, file)
    run(program, "import", path, "-o", profile, "--progress", "off", "--overwrite")
    rows = {row["name"]: row for row in report(program, profile, "engines")["devices"]}
    if process in rows:
        sys.exit(f"{process} is a device beside the one whose collectives it shows")
    row, last = rows["NPU"], max(end for _, end in work + collectives)
    alone = covered(work + collectives, 0, last) - covered(work, 0, last)
    for what, cycles, wanted in (("busy", row["any_busy"] * row["total_cycles"], covered(work + collectives, 0, last)),
                                 ("communicates", row["communication_cycles"], covered(collectives, 0, last)),
                                 ("communicates alone", row["exposed_communication_cycles"], alone)):
        if abs(cycles / 1e6 - wanted) > 1e-2:
            sys.exit(f"{process}: the device {what} for {cycles / 1e6} µs instead of {wanted}")
    kernels = report(program, profile, "kernels")
    row = kernels["devices"][0]
    for what, cycles, wanted in (("works", row["busy_cycles"], covered(work + collectives, 0, last)),
                                 ("communicates", row["communication_cycles"], covered(collectives, 0, last)),
                                 ("communicates alone", row["exposed_communication_cycles"], alone)):
        if abs(cycles / 1e6 - wanted) > 1e-2:
            sys.exit(f"{process}: by its kernels the device {what} for {cycles / 1e6} µs instead of {wanted}")
    if kernels["kernels_and_copies"] != len(work + collectives):
        sys.exit(f"{process}: there are {kernels['kernels_and_copies']} kernels instead of {len(work + collectives)}")


def check_devices(program, folder):
    for process in ("Communication(HCCL)", "HCCL", "Communication"):
        check_ascend(program, folder, process)
    xla = Device("/device:TPU:0", "XLA Ops", ["XLA Modules", "Steps"])
    xla.run(["fusion.12", "convolution.3", "copy.1"], "all-reduce-start.7", 1).check(program, folder, "XLA")
    ascend = Device("Ascend Hardware", "Stream 2", [])
    ascend.run(["MatMulV2", "Add"], "hcom_allReduce__123_0", 2).check(program, folder, "Ascend")
    gpu = Device("/device:GPU:0", "Stream #13(Compute)", ["XLA Ops", "XLA Modules", "Steps"])
    gpu.run(["loop_fusion", "sm80_xmma_gemm"], "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4).check(program, folder, "XLA on a GPU")
    rocprof = Device("2 GPU0", "0", [])
    rocprof.run(["Cijk_Ailk_Bljk", "vectorized_elementwise"], "ncclDevKernel_Generic(ncclDevComm*)", 5).check(program, folder, "rocprof")
    nsys = Device("Device 0", "Stream 7", ["NVTX Thread 12"])
    nsys.run(["ampere_sgemm", "softmax"], "ncclKernel_AllReduce_RING_LL_Sum_float", 6, {"cat": "cuda"}, {"cat": "cuda"})
    nsys.check(program, folder, "Nsight Systems")
    other = Device("accelerator", "queue 5", [])
    other.run(["gemm", "add"], "all_reduce", 3, {"cat": "mtia_ccp_events"},
              {"cat": "mtia_ccp_events", "args": {"Collective name": "allreduce"}}).check(program, folder, "stated collectives")


def check_reasons(program, folder):
    """A section has no figures and says why if the trace lacks what it needs."""
    counters = [{"ph": "C", "pid": 1, "name": "memory", "ts": 5 * i, "args": {"bytes": i}} for i in range(9)]
    slices = [{"ph": "X", "pid": 1, "tid": 1, "name": "task", "ts": 10 * i, "dur": 4} for i in range(9)]
    path, profile = os.path.join(folder, "t.json"), os.path.join(folder, "t.pop")
    for events, sections in ((counters, ("summary", "stages", "waits", "execution", "engines", "stragglers", "kernels")),
                             (slices, ("stages", "waits", "stragglers", "kernels", "collectives", "planned"))):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)
        run(program, "import", path, "-o", profile, "--progress", "off", "--overwrite")
        for name in sections:
            section = report(program, profile, name)
            figures = [key for key, value in section.items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
            if name not in ("summary", "execution") and figures:
                sys.exit(f"{name} of a trace without passes and kernels shows {figures}")
            if not section["remarks"] or any("--record" in remark for remark in section["remarks"]):
                sys.exit(f"{name} of a trace without passes and kernels remarks {section['remarks']}")
        if any(device["stages"] is not None for device in report(program, profile, "system")["devices"]):
            sys.exit("a device of a trace without passes holds a stage, or idles")
        for device in report(program, profile, "execution")["traffic"]:
            if any(value is not None for key, value in device.items() if key.endswith("_bytes")):
                sys.exit(f"the trace states no bytes, but the traffic is {device}")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, states in (("one process", True), ("without launches", False)):
            trace = Trace(states)
            work(trace, 4711, range(4), 2, 1)
            check_steps(program, folder, name, trace, {gpu: 4711 for gpu in range(4)})
        trace = Trace()
        work(trace, 500, (0, 1), 2, 1)
        work(trace, 501, (2, 3), 7, 2)
        check_steps(program, folder, "two processes", trace, {0: 500, 1: 500, 2: 501, 3: 501})
        check_pipeline(program, folder)
        check_launched(program, folder, [[0, 1, 2]], "one process")
        check_launched(program, folder, [[0], [1], [2]], "a process for each GPU")
        check_stages_by_messages(program, folder)
        check_replicas(program, folder, False)
        check_replicas(program, folder, True)
        check_devices(program, folder)
        check_dates(program, folder)
        check_reasons(program, folder)
    print("as written")


if __name__ == "__main__":
    main()
