#!/usr/bin/env python3
"""Decodes what `export --to chakra` and `--to perfetto` write, without the classes that wrote it.

exported_traces.py PIPESCOPE SAMPLES CASE runs or imports one of the samples and checks, as far as the case is made for it, that
- a replay of the Chakra trace, in which a node starts when all that it depends on has ended, takes as long as the emulation,
  and puts each pass at its emulated time;
- the Perfetto trace has the slices, arrows and counters of the Chrome trace, and is smaller;
- imported as any trace is, they bring all passes and messages back at their times;
- passes of a Chakra trace state the work of their operators;
- passes and steps of the other traces state it, too, with operator, block, stage and micro-batch, and counters of memory come back;
- messages of a model depend on the passes that made their data;
- several calls in one trace stay apart, also of a schedule with barriers, and devices keep their names in a Chakra trace.
The formats are those of et_def.proto (mlcommons/chakra) and of Perfetto's trace protos.
"""
import csv
import io
import json
import os
import struct
import subprocess
import sys
import tempfile


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """All (field, value) of a message: integers of varints and fixed numbers, bytes of blocks."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            sys.exit(f"wire type {wire} is in neither format")
        found.append((tag >> 3, value))
    return found


def one(message, field, default=None):
    values = [value for number, value in message if number == field]
    return values[-1] if values else default


def numbers(message, field):
    """A repeated number, packed or not."""
    found = []
    for number, value in message:
        if number != field:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            element, at = varint(value, at)
            found.append(element)
    return found


def chakra(data):
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(fields(data[at:at + size]))
        at += size
    if one(messages[0], 1) is None:
        sys.exit("the Chakra trace does not begin with its metadata")
    nodes = {}
    for message in messages[1:]:
        attributes = {one(fields(value), 1).decode(): fields(value)[-1][1] for number, value in message if number == 10}
        nodes[one(message, 1)] = {"name": one(message, 2).decode(), "type": one(message, 3, 0),
                                  "before": numbers(message, 4) + numbers(message, 5), "micros": one(message, 7, 0),
                                  "ps": attributes["duration_ps"], "attributes": attributes}
    return nodes


def replay(nodes):
    """Start of each node, if it waits only for what it depends on."""
    starts = {}
    pending = list(nodes)
    while pending:
        rest = []
        for node in pending:
            before = nodes[node]["before"]
            if all(b in starts for b in before):
                starts[node] = max([starts[b] + nodes[b]["ps"] for b in before], default=0)
            else:
                rest.append(node)
        if len(rest) == len(pending):
            sys.exit("nodes of the Chakra trace wait for each other in a circle")
        pending = rest
    return starts


def annotations(data):
    """Return the category and arguments of each slice of a Perfetto trace."""
    tables, found = {number: {} for number in (1, 3, 29)}, []
    for _, packet in fields(data):
        packet = fields(packet)
        for number, value in fields(one(packet, 12, b"")):
            if number in tables:
                tables[number][one(fields(value), 1)] = one(fields(value), 2).decode()
        event = fields(one(packet, 11, b""))
        if one(event, 9) != 1:
            continue
        arguments = {}
        for value in (fields(value) for number, value in event if number == 4):
            text, whole = one(value, 17), one(value, 4, 0)
            arguments[tables[3][one(value, 1)]] = tables[29][text] if text is not None else whole - (whole >> 63 << 64)
        found.append((tables[1][one(event, 3)], arguments))
    return found


def perfetto(data):
    """Slices (process, name, start, end), arrows and counter values, in nanoseconds."""
    names, processes, parents = {}, {}, {}
    open_slices, slices, arrows, samples = {}, [], {}, 0
    for number, packet in fields(data):
        if number != 1:
            sys.exit("something else than a packet")
        packet = fields(packet)
        for kind, table in ((12, names),):
            interned = one(packet, kind)
            if interned:
                for entry in [fields(v) for n, v in fields(interned) if n == 2]:
                    table[one(entry, 1)] = one(entry, 2).decode()
        descriptor = one(packet, 60)
        if descriptor:
            descriptor = fields(descriptor)
            process = one(descriptor, 3)
            if process:
                processes[one(descriptor, 1)] = one(fields(process), 6).decode()
            parents[one(descriptor, 1)] = one(descriptor, 5)
        event = one(packet, 11)
        if not event:
            continue
        event, time = fields(event), one(packet, 8, 0)
        track, kind = one(event, 11), one(event, 9)
        if kind == 1:
            open_slices.setdefault(track, []).append((names[one(event, 10)], time))
            for number, value in event:
                if number in (47, 48):
                    arrows.setdefault(struct.unpack("<Q", value)[0], []).append(number)
        elif kind == 2:
            name, start = open_slices[track].pop()
            slices.append((processes[parents[track]], name, start, time))
        elif kind == 4:
            samples += 1
    if any(open_slices.values()):
        sys.exit("a slice of the Perfetto trace does not end")
    return sorted(slices), arrows, samples


class Exports:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        done = subprocess.run([self.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr.decode()}")
        return done.stdout

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def export(self, profile, form, name, *options):
        self.run("export", self.path(profile), "--to", form, "-o", self.path(name), "--overwrite", *options)

    def import_trace(self, name, profile):
        return self.run("import", self.path(name), "-o", self.path(profile), "--progress", "off", "--overwrite").decode()

    def table(self, profile, name):
        text = self.run("export", self.path(profile), "--to", "csv", "--table", name, "-o", "-").decode()
        return list(csv.DictReader(io.StringIO(text)))

    def passes(self, profile):
        kept = {"forward", "recompute", "backward", "weight gradient", "update", "collective"}
        rows = [row for row in self.table(profile, "placement") if row["pass_name"] in kept]
        return rows


def compare_chakra(exports, schedule):
    rows = exports.passes("a.pop")
    exports.run("export", exports.path("a.pop"), "--to", "chakra", "-o", exports.path("a.et"))
    nodes = chakra(exports.read("a.et"))
    starts = replay(nodes)
    per_tick = 10**12 // int(exports.table("a.pop", "device")[0]["ticks_per_second"])
    first = min(int(row["start"]) for row in rows)
    ours = (max(int(row["end"]) for row in rows) - first) * per_tick
    theirs = max(starts[n] + nodes[n]["ps"] for n in nodes)
    if ours != theirs:
        sys.exit(f"{schedule}: the emulation takes {ours} ps, the replay of the Chakra trace {theirs}")
    emulated = sorted((int(row["device"]), (int(row["start"]) - first) * per_tick) for row in rows)
    replayed = sorted((node["attributes"]["rank"], starts[n]) for n, node in nodes.items() if node["type"] in (4, 7))
    if emulated != replayed:
        sys.exit(f"{schedule}: passes start at other times in the replay")
    if any(node["micros"] * 10**6 != node["ps"] for node in nodes.values()):
        sys.exit(f"{schedule}: a duration in microseconds is not exact, though costs are whole microseconds")
    if not any(node["type"] == 5 for node in nodes.values()) or not any(node["type"] == 6 for node in nodes.values()):
        sys.exit(f"{schedule}: the Chakra trace has no messages")


def compare_perfetto(exports):
    exports.run("export", exports.path("a.pop"), "--to", "chrome", "-o", exports.path("a.json"))
    exports.run("export", exports.path("a.pop"), "--to", "perfetto", "-o", exports.path("a.pb"))
    events = json.loads(exports.read("a.json"))["traceEvents"]
    names = {e["pid"]: e["args"]["name"].split(" (")[0] for e in events if e["name"] == "process_name"}
    chrome = sorted((names[e["pid"]], e["name"].strip(), round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
                    for e in events if e["ph"] == "X")
    slices, arrows, samples = perfetto(exports.read("a.pb"))
    slices = sorted((process.split(" (")[0], *rest) for process, *rest in slices)
    if chrome != slices:
        different = [pair for pair in zip(chrome, slices) if pair[0] != pair[1]]
        sys.exit(f"{len(chrome)} slices in Chrome's format, {len(slices)} in Perfetto's; {different[:3]}")
    if len(arrows) != sum(e["ph"] == "s" for e in events) or any(sorted(ends) != [47, 48] for ends in arrows.values()):
        sys.exit("the arrows of the Perfetto trace are not those of the Chrome trace")
    if samples != sum(e["ph"] == "C" for e in events):
        sys.exit("the counters of the Perfetto trace are not those of the Chrome trace")
    if len(exports.read("a.pb")) >= len(exports.read("a.json")):
        sys.exit("the Perfetto trace is not smaller than the Chrome trace")


def compare_imports(exports):
    """Each format brings passes and messages back, at their times after the first event."""
    def found(profile):
        rate = int(exports.table(profile, "device")[0]["ticks_per_second"])
        rows = exports.passes(profile)
        first = min(int(row["start"]) for row in rows)
        times = lambda row: ((int(row["start"]) - first) * 10**12 // rate, (int(row["end"]) - first) * 10**12 // rate)
        passes = sorted((row["stage"], row["pass_name"], row["micro_batch"], *times(row)) for row in rows)
        messages = sorted((row["kind_name"], row["micro_batch"], *times(row)) for row in exports.table(profile, "transfer")
                          if int(row["micro_batch"]) >= 0)
        return passes, messages

    for name, form in (("a.json", "chrome"), ("a.pb", "perfetto"), ("a.et", "chakra")):
        exports.export("a.pop", form, "b.trace")
        exports.import_trace("b.trace", "b.pop")
        for what, ours, theirs in zip(("passes", "messages"), found("a.pop"), found("b.pop")):
            if ours != theirs:
                sys.exit(f"{name}, imported again, has other {what}, {len(theirs)} instead of {len(ours)}: "
                         f"{sorted(set(theirs) - set(ours))[:3]} instead of {sorted(set(ours) - set(theirs))[:3]}")


def compare_calls(exports):
    """The iterations of several calls in one trace are different ones, and barriers' empty exchange is in no Chakra trace."""
    def totals(profile, last_call):
        rate = int(exports.table(profile, "device")[0]["ticks_per_second"])
        call = max(int(row["run"]) for row in exports.passes(profile))
        sums = {}
        for kind, rows in (("pass_name", exports.passes(profile)), ("kind_name", exports.table(profile, "transfer"))):
            for row in rows:
                if row[kind] == "arrow" or last_call and \
                        (int(row["run"]) != call or kind == "kind_name" and int(row["micro_batch"]) < 0):
                    continue
                length = (int(row["end"]) - int(row["start"])) * 10**12 // rate
                count, ticks = sums.get(row[kind], (0, 0))
                sums[row[kind]] = count + 1, ticks + length
        return sums

    names = [row["name"] for row in exports.table("a.pop", "device")]
    for form, options, iterations in (("chrome", ["--all"], 4), ("perfetto", ["--all"], 4),
                                      ("chakra", [], 2)):
        exports.export("a.pop", form, "a.trace", *options)
        exports.import_trace("a.trace", "b.pop")
        ours, theirs = totals("a.pop", form == "chakra"), totals("b.pop", form == "chakra")
        if ours != theirs:
            sys.exit(f"{form}: several calls, imported again, add up to {theirs} instead of {ours}")
        found = {row["iteration"] for row in exports.passes("b.pop")}
        if found != {str(i) for i in range(iterations)}:
            sys.exit(f"{form}: the iterations of several calls are {sorted(found)}")
        again = [row["name"] for row in exports.table("b.pop", "device")]
        if [name.split(" (")[0] for name in again] != names:
            sys.exit(f"{form}: devices are called {again} instead of {names}")
        stages = json.loads(exports.run("report", exports.path("b.pop"), "--section", "stages", "--format", "json"))
        lost = [stages[f"lost_{part}_cycles"] for part in ("fill_and_drain", "imbalance", "exchange_update_host")]
        if any(part is None or part < -1 for part in lost):
            sys.exit(f"{form}: the lost times are {lost}")


def compare_work(exports):
    """A pass in a Chakra trace states the FLOP and bytes of its operators, and the import keeps them."""
    def sums(profile, executable):
        found = {}
        for row in exports.table(profile, "operator"):
            if row["pass_name"] in ("forward", "recompute", "backward") and row["executable"] == executable:
                flops, size = found.get((row["stage"], row["pass_name"]), (0, 0))
                found[row["stage"], row["pass_name"]] = flops + float(row["flops"]), size + int(row["bytes"])
        return {key: (round(flops), size) for key, (flops, size) in found.items() if flops > 0}

    ours = sums("a.pop", "0")
    exports.export("a.pop", "chakra", "a.et")
    stated = {}
    for node in chakra(exports.read("a.et")).values():
        if node["attributes"].get("num_ops", 0) > 0:
            stage, kind = node["name"].split("/")[:2]
            work = node["attributes"]["num_ops"], node["attributes"]["tensor_size"]
            if stated.setdefault((stage.removeprefix("stage"), kind), work) != work:
                sys.exit(f"{node['name']} has other work than the other micro-batches")
    ran = {(row["stage"], row["pass_name"]) for row in exports.passes("a.pop")}
    ours = {key: work for key, work in ours.items() if key in ran}
    if not ours or stated != ours:
        sys.exit(f"the passes of the Chakra trace have the work {stated} instead of {ours}")
    for form in ("chrome", "perfetto", "chakra"):
        exports.export("a.pop", form, "b.trace")
        exports.import_trace("b.trace", "b.pop")
        if sums("b.pop", "0") != ours:
            sys.exit(f"the events of {form}, imported, have the work {sums('b.pop', '0')} instead of {ours}")


def compare_arguments(exports):
    """Passes state their work, which is that of their operators; so do their steps, with operator and block, and both
    say which pass they are. Counters of the devices' memory are in the trace, and come back from its events alone."""
    programs = {row["id"]: row for row in exports.table("a.pop", "program")}
    operators = {row["id"]: row for row in exports.table("a.pop", "operator")}
    call = max(int(row["run"]) for row in exports.table("a.pop", "placement"))
    passes = {int(row["id"]): row for row in exports.table("a.pop", "placement") if int(row["run"]) == call}
    sums = {}
    for row in operators.values():
        flops, size = sums.get((row["stage"], row["pass_name"]), (0, 0))
        sums[row["stage"], row["pass_name"]] = flops + round(float(row["flops"])), size + int(row["bytes"])
    exports.export("a.pop", "chrome", "a.json")
    exports.export("a.pop", "perfetto", "a.pb")
    events = json.loads(exports.read("a.json"))["traceEvents"]
    blocks = {row["block"] for row in operators.values()}
    for form, slices in (("chrome", [(e["cat"], e["args"]) for e in events if e["ph"] == "X"]),
                         ("perfetto", annotations(exports.read("a.pb")))):
        stated, of_steps, seen = {}, {}, set()
        for category, own in slices:
            if category in ("wait", "transfer") or "placement" not in own:
                continue
            row = passes[own["placement"]]
            if own["pass"] != row["pass_name"] or str(own.get("stage", -1)) != row["stage"] or \
                    str(own.get("micro_batch", -1)) != row["micro_batch"]:
                sys.exit(f"{form}: {own} is not of {row}")
            work = own.get("flops", 0), own.get("operand_bytes", 0)
            if category == "pass":
                stated[own["placement"]] = work
            else:
                of_steps[own["placement"]] = tuple(map(sum, zip(work, of_steps.get(own["placement"], (0, 0)))))
                seen.add(own.get("block", ""))
        whole = {}
        for place, (flops, size) in stated.items():
            row = passes[place]
            own = of_steps.get(place, (0, 0))
            # Operators such as Reshape move nothing: they have operands, but no steps.
            if own[0] != flops or not size / 2 <= own[1] <= size:
                sys.exit(f"{form}: the steps of {row} have the work {of_steps.get(place)}, the pass {flops, size}")
            key = row["device"], row["iteration"], row["micro_batch"], row["stage"], row["pass_name"]
            whole[key] = tuple(map(sum, zip((flops, size), whole.get(key, (0, 0)))))
        different = [(key, work) for key, work in whole.items() if work != sums.get(key[3:], (0, 0))]
        if different or len(stated) != len(passes) or not any(flops for flops, _ in whole.values()):
            sys.exit(f"{form}: the work of {len(different)} passes is another one: {different[:3]}")
        if not seen <= blocks or len(seen) < 3:
            sys.exit(f"{form}: the blocks of steps are {seen}")
    counters = {row["id"]: (row["device"], row["name"]) for row in exports.table("a.pop", "counter") if int(row["device"]) >= 0}
    def samples(profile, own):
        rate = int(exports.table(profile, "device")[0]["ticks_per_second"])
        rows = [row for row in exports.table(profile, "counter_sample") if row["counter"] in own]
        first = min(int(row["time"]) for row in rows)
        return sorted((*own[row["counter"]], round((int(row["time"]) - first) * 10**9 / rate), float(row["value"]))
                      for row in rows)
    exports.import_trace("a.json", "b.pop")
    again = {row["id"]: (row["device"], row["name"]) for row in exports.table("b.pop", "counter") if int(row["device"]) >= 0}
    rows = [row for row in exports.table("a.pop", "counter_sample") if row["counter"] in counters and int(row["run"]) == call]
    rate = int(exports.table("a.pop", "device")[0]["ticks_per_second"])
    first = min(int(row["time"]) for row in rows)
    ours = sorted((*counters[row["counter"]], round((int(row["time"]) - first) * 10**9 / rate), float(row["value"])) for row in rows)
    if ours != samples("b.pop", again) or not any(name == "live_bytes" for _, name, *_ in ours):
        sys.exit(f"of {len(ours)} samples of counters, {len(samples('b.pop', again))} came back, or others")


def compare_messages(exports):
    """Each message of a model on IPUs depends on the pass that made its data, although its row names the sync before it."""
    exports.run("export", exports.path("a.pop"), "--to", "chakra", "-o", exports.path("a.et"), "--overwrite")
    nodes = chakra(exports.read("a.et"))
    call = max(int(row["run"]) for row in exports.table("a.pop", "placement"))
    wanted = sum(int(row["run"]) == call and int(row["micro_batch"]) >= 0 and row["kind_name"] in ("activation", "gradient")
                 for row in exports.table("a.pop", "transfer"))
    sends = [node for node in nodes.values() if node["type"] == 5]
    if wanted == 0 or len(sends) != wanted:
        sys.exit(f"the Chakra trace has {len(sends)} messages instead of {wanted}")
    for send in sends:
        kind = "forward" if "activation" in send["name"] else "backward"
        own = send["attributes"]
        made = [nodes[b] for b in send["before"] if nodes[b]["type"] == 4]
        if [node["name"] for node in made] != [f"stage{own['stage']}/{kind}/mb{own['micro_batch']}"] or \
                any(made[0]["attributes"][key] != own[key] for key in ("rank", "iteration", "replica")):
            sys.exit(f"{send['name']} depends on {[node['name'] for node in made]}")


def compare_schedule(exports, samples, schedule):
    exports.run("run", os.path.join(samples, "fixed/zero_bubble.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--schedule", schedule, "--device-iterations", "1", "--set", "fixed.calls=1", "--set", "fixed.exchange=0.25")
    compare_chakra(exports, schedule)
    compare_perfetto(exports)
    compare_imports(exports)


def compare_several_calls(exports, samples, schedule):
    exports.run("run", os.path.join(samples, "fixed/zero_bubble.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--schedule", schedule, "--device-iterations", "2", "--set", "fixed.calls=2", "--set", "fixed.exchange=0.25")
    compare_calls(exports)


def compare_model(exports, samples):
    exports.run("run", os.path.join(samples, "mnist/two_stages.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--no-numerics", "--training", "--samples", "4000", "--device-iterations", "2", "--epochs", "1")
    compare_messages(exports)
    compare_work(exports)
    compare_arguments(exports)


def main():
    binary, samples, case = sys.argv[1:]
    kind, _, name = case.partition(".")
    with tempfile.TemporaryDirectory() as folder:
        exports = Exports(binary, folder)
        if kind == "schedule":
            compare_schedule(exports, samples, name)
        elif kind == "calls":
            compare_several_calls(exports, samples, name)
        else:
            compare_model(exports, samples)
    print("as emulated")


main()
