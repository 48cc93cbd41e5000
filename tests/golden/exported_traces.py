#!/usr/bin/env python3
"""Decodes what `export --to chakra` and `--to perfetto` write, without the classes that wrote it.

exported_traces.py PIPESCOPE SAMPLES CASE runs or imports one of the samples and checks, as far as the case is made for it, that
- a replay of the Chakra trace, in which a node starts when all that it depends on has ended, takes as long as the emulation,
  and puts each pass at its emulated time;
- the Perfetto trace has the slices, arrows and counters of the Chrome trace, and is smaller;
- all three, imported again, give reports in which every figure of every section is as before, except those of EXCEPTIONS: on IPUs
  and Gaudis and with given costs, of pipelines, sharding, replicas, inference, several calls and runs that do not fit; and of recorded runs;
- a trace that lacks an event is made of its events;
- events alone bring all passes back at their times;
- passes of a Chakra trace state the work of their operators;
- passes and steps of the other traces state it, too, with operator, block, stage and micro-batch, and counters of memory come back;
- messages of a model depend on the passes that made their data;
- reports on a run whose events were imported have the same figures of stages, bubbles, exchange, lost and waiting times,
  time by kind and critical path, with barriers and without, on IPUs, on Gaudis and with given costs;
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

# An export holds one executable of a run. What reports say of the others is not in it: their place in the list of
# executables, their outcomes, and how much of the host's time their calls took. With one executable nothing is excepted.
EXCEPTIONS = (".summary.executables", ".summary.outcomes", ".host.calls_count", ".host.calls_seconds", ".host.calls_share")


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
    """When each node starts, if it waits only for what it depends on."""
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
    """Of each slice of a Perfetto trace: its category and arguments."""
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
    def found(profile, all_messages):
        rate = int(exports.table(profile, "device")[0]["ticks_per_second"])
        rows = exports.passes(profile)
        first = min(int(row["start"]) for row in rows)
        times = lambda row: ((int(row["start"]) - first) * 10**12 // rate, (int(row["end"]) - first) * 10**12 // rate)
        passes = sorted((row["stage"], row["pass_name"], row["micro_batch"], *times(row)) for row in rows)
        messages = sorted((row["kind_name"], row["micro_batch"], *times(row)) for row in exports.table(profile, "transfer")
                          if all_messages or int(row["micro_batch"]) >= 0)
        return passes, messages

    for name, form in (("a.json", "chrome"), ("a.pb", "perfetto"), ("a.et", "chakra")):
        exports.export("a.pop", form, "b.trace", "--events-only")
        if len(exports.read("b.trace")) >= len(exports.read(name)):
            sys.exit(f"{name} is not larger than its events alone")
        exports.import_trace("b.trace", "b.pop")
        all_messages = form != "chakra"
        for what, ours, theirs in zip(("passes", "messages"), found("a.pop", all_messages), found("b.pop", all_messages)):
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
                if last_call and (int(row["run"]) != call or kind == "kind_name" and int(row["micro_batch"]) < 0):
                    continue
                length = (int(row["end"]) - int(row["start"])) * 10**12 // rate
                count, ticks = sums.get(row[kind], (0, 0))
                sums[row[kind]] = count + 1, ticks + length
        return sums

    names = [row["name"] for row in exports.table("a.pop", "device")]
    for form, options, iterations in (("chrome", ["--all", "--events-only"], 4), ("perfetto", ["--all", "--events-only"], 4),
                                      ("chakra", ["--events-only"], 2)):
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
        exports.export("a.pop", form, "b.trace", "--events-only")
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
    exports.export("a.pop", "chrome", "a.json", "--events-only")
    exports.export("a.pop", "perfetto", "a.pb", "--events-only")
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


def figures(exports, profile):
    """Figures of the reports by name: shares as they are, times in microseconds."""
    def report(name):
        return json.loads(exports.run("report", exports.path(profile), "--section", name, "--format", "json"))

    stages, execution, waits = report("stages"), report("execution"), report("waits")
    found = {"limiting stage": stages["limiting_stage"]}
    clock = execution["devices"][0]["clock_hz"]

    def add(name, value, unit=1):
        if value is not None:
            found[name] = value * unit

    def add_times(name, values):
        for key, value in values.items():
            add(f"{name} {key}", value, 1e6 / clock)

    def add_cycles(name, values):
        add_times(name, {key: value for key, value in values.items() if key.endswith("_cycles")})

    for key, value in stages.items():
        if key.startswith(("bubble_ramp", "bubble_steady", "bubble_exchange", "imbalance")):
            add(key, value)
    add_cycles("stages", {key: value for key, value in stages.items() if isinstance(value, (int, float))})
    for stage in stages["stages"]:
        add_cycles(f"stage {stage['index']}", stage)
        add_times(f"stage {stage['index']} waits", stage["waits"])
    for device in execution["devices"]:
        add_times(f"device {device['index']}", {key: device[key] for key in ("total_cycles", "idle_cycles")})
        add_times(f"device {device['index']} kind", device["by_kind"])
    add_cycles("waits", {key: value for key, value in waits.items() if key.startswith("critical_path")})
    for key, value in report("summary")["time_shares"].items():
        add(f"share {key}", value)
    return found


def compare_reports(exports, needed):
    """All figures come back. `needed` names those that must not be 0, so that the comparison says something."""
    ours = figures(exports, "a.pop")
    for name in needed:
        if not any(value for key, value in ours.items() if key.endswith(name)):
            sys.exit(f"the run has no {name}")
    step = ours["stages lost_step_cycles"] if "stages lost_step_cycles" in ours else max(ours.values())
    for form in ("chrome", "perfetto"):
        for source, copy in (("a.pop", "b.pop"), ("b.pop", "c.pop")):
            exports.export(source, form, "a.trace", "--events-only")
            exports.import_trace("a.trace", copy)
            theirs = figures(exports, copy)
            for name, figure in ours.items():
                # Times of a Perfetto trace are rounded to nanoseconds.
                most = 1e-4 * (1 if abs(figure) <= 1 else step)
                if name not in theirs or abs(theirs[name] - figure) > most:
                    sys.exit(f"{form}: {name} is {theirs.get(name)} instead of {figure} in {copy}")


def leaves(value, path=""):
    """All (path, value) of a report; a list has its length, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}#", len(value)
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def compare_sections(exports, what, *executable):
    """Every figure of every section comes back, also from a trace of the profile that was imported."""
    def figures_of(profile, *options):
        return dict(leaves(json.loads(exports.run("report", exports.path(profile), "--format", "json", *options))))

    ours = figures_of("a.pop", *executable)
    def content(profile):
        return json.loads(exports.run("verify", exports.path(profile), "--format", "json"))["content_hash"]

    exceptions = EXCEPTIONS if ours[".summary.executables#"] > 1 else ("nothing",)
    if len(ours) < 500:
        sys.exit(f"{what}: the reports have {len(ours)} figures only")
    forms = [("chrome", []), ("perfetto", ["--all"])]
    # A Chakra trace is made of the passes of stages.
    if any(int(row["stage"]) >= 0 for row in exports.passes("a.pop")):
        forms.append(("chakra", []))
    elif what != "gaudi3.csv.gz":
        sys.exit(f"{what}: there are no passes")
    for form, options in forms:
        for source, copy in (("a.pop", "b.pop"), ("b.pop", "c.pop")):
            exports.export(source, form, "a.trace", *options, *(executable if source == "a.pop" else ()))
            exports.import_trace("a.trace", copy)
            theirs = figures_of(copy)
            different = [path for path in {**ours, **theirs} if ours.get(path) != theirs.get(path)
                         and not path.startswith(exceptions)]
            for path in different[:5]:
                print(f"{path} is {theirs.get(path)} instead of {ours.get(path)}")
            if different:
                sys.exit(f"{what}: {len(different)} figures of {copy} are others after {form} {options}")
            # The content of a profile stands for all its rows, except those about the host.
            if exceptions == ("nothing",) and options and content(copy) != content("a.pop"):
                sys.exit(f"{what}: the content of {copy} is another one after {form}")


def compare_changed(exports):
    """Who takes an event out of a trace gets a profile of the events that are left."""
    exports.export("a.pop", "chrome", "a.trace")
    trace = json.loads(exports.read("a.trace"))
    passes = [e for e in trace["traceEvents"] if e.get("cat") == "pass"]
    trace["traceEvents"].remove(passes[-1])
    with open(exports.path("a.trace"), "w") as file:
        json.dump(trace, file)
    exports.import_trace("a.trace", "b.pop")
    if len(exports.passes("b.pop")) != len(passes) - 1:
        sys.exit(f"of {len(passes)} passes less one, {len(exports.passes('b.pop'))} were imported")
    said = " ".join(row["text"] for row in exports.table("b.pop", "diagnostic"))
    if "changed after it was exported" not in said:
        sys.exit(f"the diagnostics of a changed trace are: {said}")


def compare_schedule(exports, samples, schedule):
    exports.run("run", os.path.join(samples, "fixed/zero_bubble.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--schedule", schedule, "--device-iterations", "1", "--set", "fixed.calls=1", "--set", "fixed.exchange=0.25")
    compare_chakra(exports, schedule)
    compare_perfetto(exports)
    compare_imports(exports)
    compare_sections(exports, schedule)
    compare_changed(exports)


def compare_several_calls(exports, samples, schedule):
    exports.run("run", os.path.join(samples, "fixed/zero_bubble.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--schedule", schedule, "--device-iterations", "2", "--set", "fixed.calls=2", "--set", "fixed.exchange=0.25")
    compare_calls(exports)
    compare_reports(exports, ["bubble_steady"] + (["exchange_cycles"] if schedule == "popart" else []))


def compare_model(exports, samples):
    exports.run("run", os.path.join(samples, "mnist/two_stages.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--no-numerics", "--training", "--samples", "4000", "--device-iterations", "2", "--epochs", "1")
    compare_messages(exports)
    compare_work(exports)
    compare_arguments(exports)
    compare_sections(exports, "a model on IPUs")
    compare_reports(exports, ["exchange_cycles", "kind sync", "kind stream_copy", "host_in_cycles"])


def compare_gaudis(exports, samples):
    exports.run("run", os.path.join(samples, "mnist/eight_gaudis.toml"), "-o", exports.path("a.pop"), "--progress", "off",
                "--no-numerics", "--training", "--device-iterations", "2", "--epochs", "1")
    compare_reports(exports, ["kind global_exchange", "kind control", "waits collective"])
    compare_sections(exports, "Gaudis")


# Runs whose sections all come back: the sample, its options, and the executable that is exported.
RUNS = {
    "mnist": ("mnist/pipelined", ["--samples", "4000", "--epochs", "2"], []),
    "inference_beside_training": ("mnist/pipelined", ["--samples", "4000", "--epochs", "1"], ["--executable", "inference"]),
    "inference": ("mnist/pipelined", ["--inference", "--test-samples", "8000"], []),
    "sharding": ("mnist/sharded", ["--training", "--samples", "4000", "--epochs", "1"], []),
    "grouped": ("mnist/pipelined", ["--training", "--samples", "4000", "--epochs", "1", "--schedule", "tf-grouped",
                                    "--gradient-accumulation", "16", "--device-iterations", "2"], []),
    "sequential": ("mnist/pipelined", ["--training", "--samples", "4000", "--epochs", "1", "--schedule", "tf-sequential"], []),
    "replicas": ("mnist/two_stages", ["--training", "--devices", "4", "--record-replicas", "all", "--samples", "8000",
                                      "--epochs", "1"], []),
    "no_recompute": ("mnist/two_stages", ["--training", "--recompute", "none", "--samples", "4000", "--epochs", "1"], []),
    "single_tiles": ("mnist/two_stages", ["--training", "--record", "tiles", "--samples", "4000", "--epochs", "1"], []),
    "out_of_memory": ("bert_large/hls_gaudi2", ["--training", "--micro-batch-size", "256", "--samples", "65536"], []),
}
TRACES = ("pipeline_1f1b", "stage_imbalance.json.gz", "gaudi3.csv.gz")


def main():
    binary, samples, case = sys.argv[1:]
    kind, _, name = case.partition(".")
    with tempfile.TemporaryDirectory() as folder:
        exports = Exports(binary, folder)
        if kind == "schedule":
            compare_schedule(exports, samples, name)
        elif kind == "calls":
            compare_several_calls(exports, samples, name)
        elif case == "model":
            compare_model(exports, samples)
        elif case == "gaudis":
            compare_gaudis(exports, samples)
        elif kind == "run":
            sample, options, executable = RUNS[name]
            exports.run("run", os.path.join(samples, sample + ".toml"), "-o", exports.path("a.pop"), "--progress", "off",
                        "--no-numerics", *options)
            compare_sections(exports, name, *executable)
        else:
            trace = next(trace for trace in TRACES if trace.startswith(name))
            exports.run("import", os.path.join(samples, "traces", trace), "-o", exports.path("a.pop"), "--progress", "off")
            compare_sections(exports, trace)
    print("as emulated")


main()
