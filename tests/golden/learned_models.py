#!/usr/bin/env python3
"""Simulates pipelines, writes them as dumps of Primus, learns a model of each, and compares what the model predicts for another
schedule, depth or number of micro-batches with a simulation of that.

learned_models.py PIPESCOPE. The simulation shares no code with the program.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
GIB = 1 << 30


def one_f_one_b(place, places, micro_batches):
    warm = min(places - 1 - place, micro_batches)
    order = [("F", i, 0) for i in range(warm)]
    for i in range(micro_batches - warm):
        order += [("F", warm + i, 0), ("B", i, 0)]
    return order + [("B", i, 0) for i in range(micro_batches - warm, micro_batches)]


def gpipe(place, places, micro_batches):
    return [("F", i, 0) for i in range(micro_batches)] + [("B", i, 0) for i in range(micro_batches)]


def interleaved(place, places, micro_batches, chunks=2):
    """Megatron's: groups of as many micro-batches as there are places, chunk by chunk."""
    group = places * chunks
    total = micro_batches * chunks

    def task(kind, n):
        chunk = n % group // places
        return kind, n // group * places + n % places, chunk if kind == "F" else chunks - 1 - chunk

    warm = min((places - place - 1) * 2 + (chunks - 1) * places, total)
    order = [task("F", n) for n in range(warm)]
    for n in range(total - warm):
        order += [task("F", warm + n), task("B", n)]
    return order + [task("B", n) for n in range(total - warm, total)]


def simulate(orders, cost, latency, launch=0.0, receive=0.0):
    """Passes of each place as {(kind, micro-batch, chunk): (start, end)}. `cost(kind, stage, micro_batch)` is in ms."""
    places = len(orders)
    stages = places * (1 + max(chunk for order in orders for _, _, chunk in order))
    done, at, free = {}, [0] * places, [0.0] * places
    while any(at[p] < len(orders[p]) for p in range(places)):
        moved = False
        for p in range(places):
            while at[p] < len(orders[p]):
                kind, i, chunk = orders[p][at[p]]
                stage = chunk * places + p
                source = stage - 1 if kind == "F" else stage + 1
                start = free[p] + launch
                if 0 <= source < stages:
                    if (kind, i, source) not in done:
                        break
                    # The pass starts when its input is there; taking the input costs the device `receive`.
                    start = max(free[p], done[kind, i, source][1] + latency) + launch + receive
                done[kind, i, stage] = start, start + cost(kind, stage, i)
                free[p] = done[kind, i, stage][1]
                at[p] += 1
                moved = True
        assert moved, "the order waits for itself"
    return done


def simulate_blocking(orders, cost, latency, launch=0.0):
    """The same where a send ends when the receiver has taken the message: it moves from the time at which the sender has made it
    and the receiver has ended what it computes before. A plain recursion over what each pass waits for."""
    places = len(orders)
    stages = places * (1 + max(chunk for order in orders for _, _, chunk in order))
    where = {(kind, i, chunk * places + p): (p, n) for p, order in enumerate(orders) for n, (kind, i, chunk) in enumerate(order)}
    spans = {}

    def reader(p, n):
        kind, i, chunk = orders[p][n]
        return where.get((kind, i, chunk * places + p + (1 if kind == "F" else -1)))

    def end(p, n):
        return span(p, n)[1] if n >= 0 else 0.0

    def span(p, n):
        if (p, n) not in spans:
            kind, i, chunk = orders[p][n]
            stage = chunk * places + p
            start = end(p, n - 1)
            maker = where.get((kind, i, stage + (-1 if kind == "F" else 1)))
            if maker:
                start = max(start, max(end(*maker), end(p, n - 1)) + latency)
            taker = reader(p, n - 1) if n else None
            if taker:
                start = max(start, max(end(p, n - 1), end(taker[0], taker[1] - 1)) + latency)
            spans[p, n] = start + launch, start + launch + cost(kind, stage, i)
        return spans[p, n]

    assert stages >= places
    done = {}
    for n in range(len(orders[0])):
        for p in range(places):
            kind, i, chunk = orders[p][n]
            done[kind, i, chunk * places + p] = span(p, n)
    return done


def simulate_sharing(orders, cost, latency, cores):
    """The same for processes that share cores: while n of them compute, each advances at min(1, cores / n). Goes from event to
    event and advances all that compute."""
    places = len(orders)
    stages = places * (1 + max(chunk for order in orders for _, _, chunk in order))
    done, at, running, ready = {}, [0] * places, {}, [0.0] * places
    now = 0.0
    while any(at[p] < len(orders[p]) for p in range(places)):
        coming = []
        for p in range(places):
            if p in running or at[p] == len(orders[p]):
                continue
            kind, i, chunk = orders[p][at[p]]
            stage = chunk * places + p
            source = stage - 1 if kind == "F" else stage + 1
            start = ready[p]
            if 0 <= source < stages:
                if (kind, i, source) not in done:
                    continue
                start = max(start, done[kind, i, source][1] + latency)
            if start <= now + 1e-12:
                running[p] = [now, cost(kind, stage, i), (kind, i, stage)]
            else:
                coming.append(start)
        assert running or coming, "the order waits for itself"
        pace = min(1.0, cores / len(running)) if running else 1.0
        until = min([now + left / pace for _, left, _ in running.values()] + coming)
        for p in list(running):
            running[p][1] -= (until - now) * pace
            if running[p][1] < 1e-9:
                begun, _, key = running.pop(p)
                done[key] = begun, until
                ready[p] = until
                at[p] += 1
        now = until
    return done


def length(done):
    return max(end for _, end in done.values()) - min(start for start, _ in done.values())


def stash_peak(order, bytes_of_stage, place, places):
    held, most = 0, 0
    for kind, _, chunk in order:
        held += bytes_of_stage(chunk * places + place) * (1 if kind == "F" else -1)
        most = max(most, held)
    return most


class Job:
    """A job of equal layers with an embedding before them and a loss behind them; costs in ms, memory in GiB."""

    def __init__(self, layers, forward, backward, extra_forward, extra_backward, latency, launch=0.0, receive=0.0, seed=1, blocking=False,
                 cores=0.0):
        self.layers, self.forward, self.backward = layers, forward, backward
        self.extra = {"F": extra_forward, "B": extra_backward}
        self.latency, self.launch, self.receive = latency, launch, receive
        self.blocking, self.cores = blocking, cores
        self.rng = random.Random(seed)
        self.held, self.stash, self.held_first = 0.5, 0.125, 1.0

    def cost(self, split, noise):
        def of(kind, stage, _):
            value = split[stage] * (self.forward if kind == "F" else self.backward)
            if stage == len(split) - 1:
                value += self.extra[kind]
            return value * (1 + noise * self.rng.gauss(0, 1))
        return of

    def step(self, schedule, places, micro_batches, split, noise=0.0):
        orders = [schedule(p, places, micro_batches) for p in range(places)]
        if self.cores:
            return simulate_sharing(orders, self.cost(split, noise), self.latency, self.cores)
        if self.blocking:
            return simulate_blocking(orders, self.cost(split, noise), self.latency, self.launch)
        return simulate(orders, self.cost(split, noise), self.latency, self.launch, self.receive)

    def memory(self, schedule, places, micro_batches, split):
        sizes = []
        for p in range(places):
            stages = range(p, len(split), places)
            size = self.held * sum(split[s] for s in stages) + (self.held_first if p == 0 else 0)
            size += stash_peak(schedule(p, places, micro_batches), lambda s: self.stash * split[s], p, places)
            sizes.append(size)
        return sizes

    def dump(self, folder, schedule, places, micro_batches, split, iterations=8, noise=0.01, warm_up=2):
        memory = self.memory(schedule, places, micro_batches, split)
        ranks = [{} for _ in range(places)]
        for iteration in range(1, iterations + 1):
            slow = 1.8 if iteration <= warm_up else 1.0
            done = self.step(schedule, places, micro_batches, split, noise)
            begin = min(start for start, _ in done.values())
            for p in range(places):
                own = {"total": length(done) * slow, "memory": round(memory[p] * 512) / 512}
                for kind, key in (("F", "fwd"), ("B", "bwd")):
                    passes = sorted(done[k, i, s] for k, i, s in done if k == kind and s % places == p)
                    own[key + "_start"] = [(start - begin) * slow for start, _ in passes]
                    own[key + "_end"] = [(end - begin) * slow for _, end in passes]
                ranks[p][str(iteration)] = own
        os.makedirs(folder)
        for p, rank in enumerate(ranks):
            with open(f"{folder}/pp_rank_{p}.json", "w") as file:
                json.dump(rank, file)
        with open(f"{folder}/config.json", "w") as file:
            json.dump({"world_size": places, "pp_size": places, "vp_size": len(split) // places,
                       "num_mbs": micro_batches, "train_iters": iterations}, file)


def program(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
    return done.stdout


def predicted(model, *settings):
    """Step in ms and memory of each device in GiB."""
    program("run", model, "--progress", "off", "--overwrite", "-o", "predicted.pop", *settings)
    report = json.loads(program("report", "predicted.pop", "--section", "stages", "--section", "memory", "--section", "execution", "--format", "json"))
    clock = report["execution"]["devices"][0]["clock_hz"]
    devices = report["memory"]["devices"]
    return report["stages"]["step_cycles"] / clock * 1e3, [d["total_bytes"] / GIB for d in devices]


def refused(sentence, *arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and sentence in done.stderr, f"{' '.join(arguments)}: {done.returncode} {done.stderr}"


def refusals(model, profile):
    """What a model cannot be asked."""
    run = ["run", model, "--progress", "off", "--overwrite", "-o", "refused.pop"]
    refused("has 16 layers that count, but there are 32 stages", *run, "--set", "fixed.places=32")
    refused("fixed.split divides 15 layers among 4 stages, but there are 16 layers and 4 stages", *run, "--set",
            "fixed.split=[4,4,4,3]")
    refused("set fixed.places", *run, "--set", "fixed.places=0")
    refused("[[fixed.layers]] belongs to system.name", *run, "--set", "system.name=pod4")
    with open("both.toml", "w") as file:
        file.write(open(model).read() + "\n[[fixed.stages]]\nforward = 1\n")
    refused("both state the costs", "run", "both.toml", "--progress", "off", "-o", "refused.pop")
    refused("15 layers are not the same number on each of 4 stages", "learn", profile, "--layers", "15")
    refused("--layers names 3 numbers", "learn", profile, "--layers", "5,5,6")
    refused("Each stage has 1 to 100,000 layers", "learn", profile, "--layers", "5,5,6,0")
    assert not os.path.exists("refused.pop")


def from_emulation(model):
    """A run of a model is learned from as a trace is, and gives the same steps as the model itself."""
    program("run", model, "--progress", "off", "-o", "emulated.pop", "--schedule", "gpipe")
    refused("the profile comes from an emulation", "learn", "emulated.pop", "--cores", "2")
    program("learn", "emulated.pop", "--layers", "16", "-o", "again.toml")
    gpipe_too = ["--schedule", "gpipe"]
    for settings in (gpipe_too, ["--schedule", "1f1b"], ["--schedule", "zb-h1"],
                     [*gpipe_too, "--gradient-accumulation", "24"]):
        wanted = predicted(model, *settings)
        found = predicted("again.toml", *settings)
        near(f"learned from an emulation, {settings}", found[0], wanted[0], 0.01)
        for device, size in enumerate(wanted[1]):
            near(f"learned from an emulation, {settings}, memory of {device}", found[1][device], size, 0.01)


def near(what, value, wanted, share):
    difference = value / wanted - 1
    assert abs(difference) <= share, f"{what}: {value:.3f} instead of {wanted:.3f} ({100 * difference:+.2f} %)"
    return difference


def main():
    worst = 0
    cases = [Job(16, 3.0, 4.0, 2.0, 1.5, 0.4), Job(16, 2.0, 4.5, 6.0, 3.0, 0.1, launch=0.2),
             Job(16, 5.0, 6.0, 0.0, 0.0, 1.0, receive=0.7),
             Job(16, 2.0, 3.0, 4.0, 5.0, 0.8, blocking=True), Job(16, 3.0, 4.0, 9.0, 2.0, 3.0, launch=0.2, blocking=True),
             Job(16, 3.0, 4.5, 2.0, 1.5, 0.1, cores=1.4), Job(16, 3.0, 6.0, 0.0, 0.0, 0.3, cores=2.6)]
    for number, job in enumerate(cases):
        folder, places, micro_batches = f"job{number}", 4, 8
        # Equal stages do not show whether sends block, because no device is still computing when the one before it sends.
        split = [3, 3, 6, 4] if job.blocking else [4] * places
        job.dump(folder, one_f_one_b, places, micro_batches, split)
        program("import", folder, "-o", f"{folder}.pop", "--progress", "off")
        answer = json.loads(program("learn", f"{folder}.pop", "--layers", ",".join(map(str, split)), "-o", f"{folder}.toml", "--format", "json"))
        assert answer["schedule"] == "1f1b" and answer["warm_up_iterations"] == 2, answer
        assert answer["blocking_sends"] == job.blocking, answer
        assert bool(answer["shared_compute"]) == bool(job.cores), answer
        if job.cores:
            near(f"{folder}, cores", answer["shared_compute"], job.cores, 0.08)
        questions = [
            ("same", one_f_one_b, places, micro_batches, split, []),
            ("gpipe", gpipe, places, micro_batches, split, ["--schedule", "gpipe"]),
            ("interleaved", interleaved, places, micro_batches, [2] * 8,
             ["--schedule", "interleaved-1f1b", "--set", "execution.chunks=2"]),
            ("two places", one_f_one_b, 2, micro_batches, [8, 8],
             ["--set", "fixed.places=2", "--set", "fixed.split=[8,8]"]),
            ("uneven", one_f_one_b, places, micro_batches, [5, 4, 4, 3], ["--set", "fixed.split=[5,4,4,3]"]),
            ("32 micro-batches", one_f_one_b, places, 32, split, ["--gradient-accumulation", "32"])]
        if job.blocking:
            # Programs post the receives of this schedule earlier, so that a device that receives only for its next pass waits
            # for ever.
            refused("a send ends only when the receiver takes the message", "run", f"{folder}.toml", *questions.pop(2)[5], "--set",
                    "fixed.split=[2,2,2,2,2,2,2,2]", "--progress", "off", "-o", "refused.pop")
        for what, schedule, count, batches, division, settings in questions:
            step, memory = predicted(f"{folder}.toml", *settings)
            wanted = length(job.step(schedule, count, batches, division))
            worst = max(worst, abs(near(f"{folder}, {what}, step", step, wanted, 0.03 if job.cores else 0.015)))
            for place, size in enumerate(job.memory(schedule, count, batches, division)):
                near(f"{folder}, {what}, memory of {place}", memory[place], size, 0.03)
    refusals("job0.toml", "job0.pop")
    refused("The schedule popart exchanges behind barriers", "run", "job3.toml", "--schedule", "popart", "--progress", "off",
            "-o", "refused.pop")
    refused("Behind the barriers of the schedule popart", "run", "job5.toml", "--schedule", "popart", "--progress", "off", "-o",
            "refused.pop")
    refused("fixed.shared_compute is about the devices of one replica", "run", "job5.toml", "--replication-factor", "2", "--progress",
            "off", "-o", "refused.pop")
    # Two processes on two cores do not tell what four do to each other, but --cores does.
    two = Job(16, 3.0, 4.5, 0.0, 0.0, 0.1, cores=2.0)
    two.dump("two", one_f_one_b, 2, 8, [8, 8])
    program("import", "two", "-o", "two.pop", "--progress", "off")
    program("learn", "two.pop", "--layers", "8,8", "--cores", "2", "-o", "two.toml")
    step, _ = predicted("two.toml", "--set", "fixed.places=4")
    near("four processes on two cores", step, length(two.step(one_f_one_b, 4, 8, [4] * 4)), 0.02)
    from_emulation("job0.toml")
    print(f"The largest error of a step is {100 * worst:.2f} %.")


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    main()
