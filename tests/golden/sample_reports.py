#!/usr/bin/env python3
"""Holds the reports of a sample to what programs may rely on.

sample_reports.py [--together] PIPESCOPE SAMPLE.toml|TRACE [OPTION…] runs the sample without numerics and with these options of
`run`, or imports the trace, and checks that
- the JSON of all sections together, of each section alone and of a comparison with itself obeys the schema that
  `report --schema` and `diff --schema` print;
- keys are in snake_case, no number has more than 12 significant digits unless it is an integer, and `device` is always the
  index of a device whose name `execution` gives;
- a comparison of the profile with itself shows the figures of the other sections, and no change;
- every table is written as CSV with as many cells in each row as its header has;
- without a call (which a run with --require-fit may end with), the sections about time have no figure, and a check of one
  ends with status 2;
- what the addresses of a memory call a gap is what its span is longer than what it holds;
- on the system `fixed` no figure of bytes or FLOP is a number;
- `plan --present` says the rate, and how long each stage is occupied, of a sample that runs as its file says.
With --together, all sections are printed at once only and no table as CSV, because each takes a process of its own.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_type(value, name):
    if name == "null":
        return value is None
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, path):
    """The places where a value does not obey a schema. Knows the keywords that our schemas use."""
    known = {"$schema", "$comment", "title", "description", "type", "properties", "required", "additionalProperties",
             "patternProperties", "items"}
    if set(schema) - known:
        return [f"{path}: the schema has the unknown keywords {sorted(set(schema) - known)}"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_type(value, name) for name in types):
        return [f"{path}: {value!r} is not one of {types}"]
    found = []
    if isinstance(value, dict):
        found += [f"{path}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, member in value.items():
            patterns = [part for pattern, part in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
            part = schema.get("properties", {}).get(key, patterns[0] if patterns else None)
            found += [f"{path}: {key} is not in the schema"] if part is None else faults(member, part, f"{path}.{key}")
    if isinstance(value, list):
        for number, element in enumerate(value):
            found += faults(element, schema["items"], f"{path}[{number}]")
    return found


def members(value, path=""):
    """All (path, key, value) of nested objects."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield f"{path}.{key}", key, member, value
            yield from members(member, f"{path}.{key}")
    if isinstance(value, list):
        for number, element in enumerate(value):
            yield from members(element, f"{path}[{number}]")


class Reports:
    def __init__(self, binary, sample, folder, options):
        self.binary, self.profile = binary, os.path.join(folder, "sample.pop")
        status = 1 if "--require-fit" in options else 0
        if sample.endswith(".toml"):
            self.run("run", sample, "-o", self.profile, "--progress", "off", "--no-numerics", *options, status=status)
        else:
            self.run("import", sample, "-o", self.profile, "--progress", "off", *options)

    def run(self, *arguments, status=0):
        done = subprocess.run([self.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != status:
            sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def report(self, *arguments):
        return self.run("report", self.profile, *arguments)


def wrong_digits(text):
    numbers = re.findall(r"(?<=[ \[])-?\d[\d.eE+-]*(?=,?\n)", text)
    return [n for n in numbers
            if re.search(r"[.eE]", n) and len(re.sub(r"[eE].*|\D", "", n).lstrip("0")) > 12]


def wrong_names(report):
    names = {row["index"]: row["name"] for row in report["execution"]["devices"]}
    found = []
    for path, key, value, around in members(report):
        # Figures by stage or iteration have its number as key.
        if not re.fullmatch(r"[0-9]+|[a-z][a-z0-9]*(_[a-z0-9]+)*", key):
            found.append(f"{path} is not in snake_case")
        if key == "device" and value is not None and "device_name" in around:
            expected = names.get(value, around["device_name"])  # other replicas are not in `execution`
            if around["device_name"] != expected:
                found.append(f"{path} is {value}, but device_name is {around['device_name']}")
        if key == "device" and not (value is None or is_type(value, "integer")):
            found.append(f"{path} is {value!r}, not the index of a device")
    return found


def wrong_comparison(comparison, report):
    """Faults of a comparison of a profile with itself."""
    found = []
    step = {row["quantity"]: row for row in comparison["step"]}
    for section in ("stages", "execution", "memory"):
        for quantity, row in step.items():
            if quantity in report[section] and row["after"] != report[section][quantity]:
                found.append(f"diff: {quantity} is {row['after']}, but {report[section][quantity]} in {section}")
    stages = {(row["stage"], row["quantity"]): row["after_cycles"] for row in comparison["stages"]}
    for row in report["stages"]["stages"]:
        expected = {name: row[f"{name}_cycles"] for name in ("forward", "recompute", "backward", "busy", "update")}
        expected.update({f"wait_{cause}": ticks for cause, ticks in row["waits"].items()})
        for quantity, value in expected.items():
            if stages[row["index"], quantity] != value:
                found.append(f"diff: {quantity} of stage {row['index']} is not {value}")
    memory = {(row["stage"], row["quantity"]): row["after_bytes"] for row in comparison["stage_memory"]}
    for row in report["stages"]["memory"]:
        if memory[row["index"], "always_live"] != row["always_live_bytes"]:
            found.append(f"diff: the always live memory of stage {row['index']} is not {row['always_live_bytes']}")
    for path, key, value, _ in members(comparison):
        if key.startswith("delta") and value not in (0, None):
            found.append(f"diff: {path} is {value} between equal profiles")
    return found


def wrong_tables(reports, report):
    found = []
    for section, content in report.items():
        tables = [key for key, value in content.items() if isinstance(value, list) and key != "remarks"]
        facts = ["facts"] if len(content) > len(tables) + 1 else []
        for table in facts + tables:
            text = reports.report("--section", section, "--format", "csv", "--table", table)
            rows = list(csv.reader(io.StringIO(text)))
            if any(len(row) != len(rows[0]) for row in rows):
                found.append(f"{section}, table {table}: the rows have different numbers of cells")
            if table != "facts" and len(rows) != 1 + len(content[table]):
                found.append(f"{section}, table {table}: {len(rows) - 1} rows instead of {len(content[table])}")
    return found


def wrong_without_call(reports, report):
    """Forecasts of the bubble, boundaries and memory are known without a call."""
    found = []
    for section in ("execution", "stages", "waits"):
        for path, key, value, _ in members(report[section], section):
            if is_type(value, "number") and key not in ("index", "device") \
                    and not path.startswith(("stages.memory", "stages.boundaries", "stages.bubble_fraction_")):
                found.append(f"{path} is {value}, but nothing ran")
    for figure in ("execution.total_cycles", "stages.imbalance", "stages.stages[*].share", "execution.devices[*].idle_cycles",
                   "waits.critical_path_cycles", "summary.samples_per_second"):
        reports.run("report", reports.profile, "--fail-if", f"{figure} > 0", status=2)
    return found


def wrong_without_placements(reports, report):
    """Only the length of calls is known with --record off, and what compiling tells."""
    found = []
    for section in ("stages", "waits", "operations"):
        for path, key, value, _ in members(report[section], section):
            known = path.startswith(("stages.memory", "stages.boundaries", "stages.bubble_fraction_")) or \
                key in ("index", "device", "stage", "layers_of_origin", "flops", "operand_bytes", "flop_per_byte", "code_bytes",
                        "always_live_bytes") or path.startswith("operations.ceilings")
            if is_type(value, "number") and not known:
                found.append(f"{path} is {value}, but no placement is recorded")
    for row in report["execution"]["devices"]:
        found += [f"execution.devices[].{key} is {row[key]}" for key in ("idle_cycles", "parallel_efficiency")
                  if row[key] is not None]
    for figure in ("stages.stages[*].share", "execution.devices[*].idle_cycles", "waits.critical_path_cycles"):
        reports.run("report", reports.profile, "--fail-if", f"{figure} > 0", status=2)
    return found


def wrong_costs(report):
    """Times are costs on the system `fixed`, and nothing is known of memory, work or sizes that the file does not state."""
    return [f"{path} is {value}, but the configuration states only costs" for path, key, value, _ in members(report)
            if is_type(value, "number") and ("byte" in key or "flop" in key)]


def wrong_addresses(memory):
    """Devices whose memory is one piece show the addresses of all of it."""
    found = []
    for device in memory["devices"]:
        ranges = [row for row in memory["addresses"] if row["device"] == device["index"] and row["tile"] in (0, None)]
        if not ranges or max(row["tile"] or 0 for row in memory["addresses"]) > 0:
            continue
        if any(before["to"] != after["from"] for before, after in zip(ranges, ranges[1:])):
            found.append(f"the addresses of device {device['index']} have holes")
        gaps = sum(row["bytes"] for row in ranges if row["category"] == "gap")
        expected = device["total_bytes_including_gaps"] - device["total_bytes"]
        # A step before or behind the fullest one may lie in what that one leaves free.
        if gaps > expected:
            found.append(f"the addresses of device {device['index']} have gaps of {gaps} bytes, its memory {expected}")
    return found


def wrong_alone(reports, report):
    found = []
    for section, content in report.items():
        alone = json.loads(reports.report("--format", "json", "--section", section))
        schema = json.loads(reports.run("report", "--schema", "--section", section))
        found += faults(alone, schema, section)
        if alone != content:
            found.append(f"{section} is different when it is printed alone")
    return found


def wrong_prediction(reports, report, sample):
    """Compare what the planner says of the configuration as it is with the figures of its profile."""
    plan = json.loads(reports.run("plan", "--present", sample, "--format", "json"))
    found = []
    rates = plan["samples_per_second"], report["execution"]["samples_per_second"]
    if rates[0] != rates[1]:
        found.append(f"plan --present says {rates[0]} samples per second, the profile {rates[1]}")
    clock = report["execution"]["devices"][0]["clock_hz"]
    for planned, recorded in zip(plan["stages"], report["stages"]["stages"], strict=True):
        occupied = recorded["occupied_cycles"] / clock * 1000
        if abs(planned["occupied_ms"] - occupied) > 1e-3 * occupied:
            found.append(f"plan --present says that stage {recorded['index']} is occupied for {planned['occupied_ms']} ms, "
                         f"the profile {occupied} ms")
    return found


def main():
    together = sys.argv[1] == "--together"
    binary, sample, *options = sys.argv[1 + together:]
    with tempfile.TemporaryDirectory() as folder:
        reports = Reports(binary, sample, folder, options)
        text = reports.report("--format", "json")
        report = json.loads(text)
        wrong = faults(report, json.loads(reports.run("report", "--schema")), "report")
        wrong += [f"{number} has more than 12 digits" for number in wrong_digits(text)]
        wrong += wrong_names(report) + wrong_addresses(report["memory"])
        if not together:
            wrong += wrong_alone(reports, report) + wrong_tables(reports, report)
        if report["summary"]["system"] == "fixed":
            wrong += wrong_costs(report)
        if "off" in options:
            wrong += wrong_without_placements(reports, report)
        if report["execution"]["total_cycles"] is None:
            wrong += wrong_without_call(reports, report)
        else:
            comparison = json.loads(reports.run("diff", reports.profile, reports.profile, "--format", "json"))
            wrong += faults(comparison, json.loads(reports.run("diff", "--schema")), "diff")
            wrong += wrong_names({"execution": report["execution"], "diff": comparison})
            wrong += wrong_comparison(comparison, report)
        if sample.endswith(".toml") and not options and report["execution"]["samples_per_second"] is not None:
            wrong += wrong_prediction(reports, report, sample)
    if wrong:
        sys.exit("\n".join(wrong[:50]))


main()
