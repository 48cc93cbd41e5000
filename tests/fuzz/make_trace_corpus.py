#!/usr/bin/env python3
"""Makes the corpus of trace_fuzz: small traces, each for one special case. make_trace_corpus.py FOLDER PIPESCOPE

The program exports a small run in the formats that carry the rows of a profile."""
import gzip
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import imported_pipelines  # noqa: E402


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def framed(content):
    return varint(len(content)) + content


def perfetto():
    track = lambda uuid, rest: block(1, number(10, 1) + block(60, number(1, uuid) + rest))
    event = lambda time, body: block(1, number(8, time) + number(10, 1) + block(11, body))
    names = block(12, block(2, number(1, 7) + block(2, b"matmul")))
    return (block(1, number(10, 1) + number(13, 1) + names) + track(10, block(3, number(1, 4) + block(6, b"python"))) +
            track(11, number(5, 10) + block(4, number(1, 4) + number(2, 40) + block(5, b"main"))) +
            track(13, number(5, 10) + block(2, b"memory") + block(8, b"")) +
            event(1000, number(9, 1) + number(11, 11) + number(10, 7)) + event(1500, number(9, 2) + number(11, 11)) +
            event(1600, number(9, 4) + number(11, 13) + number(30, 12)))


def chakra():
    node = lambda i, before: framed(number(1, i) + block(2, b"stage0/forward/mb%d" % i) + number(3, 4) +
                                    block(5, varint(before)) + number(7, 5))
    return framed(block(1, b"0.0.4")) + node(1, 0) + node(2, 1) + node(3, 2)


def xplane():
    name = lambda field, key, text: block(field, number(1, key) + block(2, number(1, key) + block(2, text)))
    stat = block(4, number(1, 7) + number(4, 99))
    event = lambda key, offset, length: block(4, number(1, key) + number(2, offset) + number(3, length) + stat)
    line = lambda key, text, events: block(3, number(1, key) + block(2, text) + number(3, 1700000000) + events)
    return (block(1, number(1, 1) + block(2, b"/host:CPU") + line(5, b"python", event(1, 0, 2000)) +
                  name(4, 1, b"launch") + name(5, 7, b"correlation_id")) +
            block(1, number(1, 2) + block(2, b"/device:TPU:0") +
                  line(1, b"XLA Ops", event(1, 500, 3000) + event(2, 4000, 900)) + line(2, b"Steps", event(3, 0, 9000)) +
                  name(4, 1, b"fusion.1") + name(4, 2, b"all-reduce.2") + name(4, 3, b"17") +
                  name(5, 7, b"correlation_id")) + block(3, b"events were dropped"))


def snapshot():
    entry = lambda action, size, time: {"action": action, "addr": 1, "size": size, "stream": 0, "time_us": 1700000000000000 + time,
                                        "frames": [{"name": "f", "filename": "a.py", "line": 3}]}
    return pickle.dumps({"segments": [{"device": 0, "total_size": 4096, "allocated_size": 512, "blocks": []}],
                         "device_traces": [[entry("segment_alloc", 4096, 0), entry("alloc", 512, 9), entry("oom", 1, 20)], []],
                         "allocator_settings": {"x": 1.5, "y": None, "z": (1, -2), "big": 2**70}}, protocol=4)


def primus():
    own = {"total": 9.5, "memory": 5.5, "fwd_start": [0, 1], "fwd_end": [1, 2], "bwd_start": [5, 7], "bwd_end": [7, 9]}
    rank = json.dumps({"1": own, "2": own}).encode()
    config = b'{"world_size": 2, "pp_size": 2, "vp_size": 1, "num_mbs": 2, "train_iters": 2}'
    return tar({"pp_rank_0.json": rank, "pp_rank_1.json": rank, "config.json": config})


def megatron():
    events = []
    for stage in (0, 1):
        thread = lambda queue: "PP rank %d, TP rank 0, %s" % (stage, queue)
        def add(queue, what, start, length, batch):
            events.append({"ph": "X", "pid": 0, "tid": thread(queue), "name": what, "cat": what, "ts": start, "dur": length,
                           "args": {"step": 3, "mb_id": batch, "seq_id": batch}})
        add("compute", "forward-compute", 20 * stage, 10, 0)
        add("pp-comm", ("forward-send", "forward-recv")[stage], 10, 8, 0)
        add("compute", "backward-compute", 60 - 20 * stage, 15, 0)
        add("pp-comm", ("backward-recv", "backward-send")[stage], 50, 8, 0)
        add("dp-comm", "grads-reduce-scatter", 80, 9, 0)
        add("compute", "optimizer", 90, 9, 0)
    return json.dumps(events).encode()


def tar(names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zipped(names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def pipeline(form, together=False):
    """A small pipeline of three stages in a form of tests/golden/imported_pipelines.py: a tar of ranks, or one trace."""
    pipe = imported_pipelines.Pipeline(3, 2, steps=2)
    ranks = [form(pipe, stage) for stage in range(3)]
    for rank, events in enumerate(ranks):
        for event in events:
            event["ts"] += 0 if together else 10**7 * rank
            event["pid"] = rank
    if together:
        return json.dumps(sum(ranks, [])).encode()
    return tar({f"rank{rank}.json": json.dumps(events).encode() for rank, events in enumerate(ranks)})


plain = b'[{"ph":"X","name":"a","ts":1700000000123456.789,"dur":2,"pid":1,"tid":"t"},{"ph":"B","name":"b","ts":1700000000123457},{"ph":"E","ts":1700000000123458}]'
kineto = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 2, "world_size": 4}, "baseTimeNanoseconds": 5, "traceEvents": [
    {"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}},
    {"ph": "X", "name": "ProfilerStep#4", "ts": 0, "dur": 30, "pid": 9, "tid": 9},
    {"ph": "X", "name": "launch", "ts": 1, "dur": 2, "pid": 9, "tid": 9, "cat": "cuda_runtime", "args": {"correlation": 3}},
    {"ph": "X", "name": "ncclKernel_AllReduce", "ts": 5, "dur": 4, "pid": 0, "tid": 7, "cat": "kernel", "args": {"correlation": 3}},
    {"ph": "s", "id": 3, "cat": "ac2g", "ts": 1, "pid": 9, "tid": 9}, {"ph": "f", "id": 3, "cat": "ac2g", "ts": 5, "pid": 0, "tid": 7},
    {"ph": "C", "name": "memory", "ts": 4, "pid": 0, "args": {"allocated": 5, "reserved": 9}},
    {"ph": "b", "id": 1, "name": "n", "ts": 2}, {"ph": "e", "id": 1, "name": "n", "ts": 7}]}).encode()
gaudi = (b"Name,Trace Source,Engine,Event type,Timestamp[usec],Device,Operation,HW Event description,SPMU value\n"
         b"conv,HW,[HD0] TPC 1,BEGIN,554804519.935268,accel0,Convolution,START,\n"
         b'"a, ""b""",HW,[HD1] MME,INSTANT,554804519.95,accel0,Add,X,\n'
         b"conv,HW,[HD0] TPC 1,END,554804520.035268,accel0,Convolution,HALT,\n"
         b"writes,HW,[D0] Cache,COUNTER,554804520.2,accel0,,SPMU,17\n")
corpus = {
    "plain.json": plain,
    "kineto.json": kineto,
    "gaudi.csv": gaudi,
    "perfetto.pb": perfetto(),
    "chakra.et": chakra(),
    "xplane.pb": xplane(),
    "snapshot.pickle": snapshot(),
    "primus.tar": primus(),
    "lost_quote.json": kineto.replace(b'"launch"', b'launch"'),
    "megatron.json": megatron(),
    "gzip.gz": gzip.compress(kineto, mtime=0),
    "ranks.tar": tar({"rank0.json": plain, "rank1.json": kineto.replace(b'"rank": 2', b'"rank": 1')}),
    "ranks.zip": zipped({"rank0.json": plain, "rank1.json.gz": gzip.compress(plain, mtime=0)}),
    "cut.json": kineto[:-90],
    "script.json": pipeline(imported_pipelines.script, True),
    "script.tar": pipeline(imported_pipelines.script),
    "unnamed.tar": pipeline(imported_pipelines.unnamed),
    "operators.tar": pipeline(imported_pipelines.operators),
    "deepspeed.tar": pipeline(imported_pipelines.deepspeed),
    "accelerator.tar": pipeline(imported_pipelines.accelerator),
    "deep.json": b'[{"ph":"X","name":"d","ts":1,"args":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}]",
    "escapes.json": b'[{"ph":"X","name":"\\ud800 \\u12 \xff\xc0","ts":"1e3","dur":-4,"pid":{"x":1}}]',
    "far.json": b'[{"ph":"X","ts":0,"dur":1},{"ph":"X","ts":1e300,"dur":1},{"ph":"X","ts":9,"dur":1e18}]',
    "empty": b"",
    "nothing.json": b"[]",
}
sample = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples/fixed/zero_bubble.toml")
with tempfile.TemporaryDirectory(dir="/tmp") as own:
    # The profile states paths: they should be those of no machine.
    place = os.path.basename(own)
    shutil.copy(sample, os.path.join(own, "run.toml"))
    program = lambda *arguments: subprocess.run([sys.argv[2], *arguments], check=True, cwd="/tmp")
    program("run", f"{place}/run.toml", "-o", f"{place}/a.pop", "--progress", "off", "--schedule", "1f1b",
            "--gradient-accumulation", "4", "--device-iterations", "1", "--set", "fixed.calls=1")
    for name, form in (("exported.json", "chrome"), ("exported.pb", "perfetto"), ("exported.et", "chakra")):
        options = [] if form == "chakra" else ["--no-steps"]
        program("export", f"{place}/a.pop", "--to", form, *options, "-o", f"{place}/{name}")
        with open(os.path.join(own, name), "rb") as file:
            corpus[name] = file.read()
for name, content in corpus.items():
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(content)
