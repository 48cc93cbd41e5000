#!/usr/bin/env python3
"""Holds figures that the documents state to what the program prints.

document_figures.py PIPESCOPE PROJECT runs the commands that stand beside a figure in resources/help and samples/*/README.md, without
numerics, and looks for the sentence or table row that states their result. If a document is older than the device models, the test
prints what it should say.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

binary, project = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
failures = []


def run(*arguments):
    done = subprocess.run([binary, *arguments], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def report(profile, section):
    return json.loads(run("report", profile, "--section", section, "--format", "json"))


def states(document, sentence):
    """Notes a failure if the document, with its line breaks taken as spaces, does not contain the sentence."""
    with open(os.path.join(project, document), encoding="utf-8") as file:
        text = " ".join(file.read().split())
    if " ".join(sentence.split()) not in text:
        failures.append(f"{document} should say: {sentence}")


def percent(fraction, decimals):
    return f"{100 * fraction:.{decimals}f} %"


def check_what_if(folder):
    profile = os.path.join(folder, "mnist.pop")
    run("run", "samples/mnist/pipelined.toml", "-o", profile, "--progress", "off", "--no-numerics")
    changes = ["--set", "execution.schedule=1f1b", "--set", "training.gradient_accumulation=20"]
    answer = json.loads(run("what-if", profile, *changes, "--format", "json"))
    recorded, replayed = answer["before_samples_per_second"], answer["after_samples_per_second"]
    states("resources/help/questions.md", f"on the MNIST sample, {replayed:,.0f} instead of {recorded:,.0f} samples/s")


def check_plan(folder):
    plan = json.loads(run("plan", "samples/resnet50/pipelined.toml", "-o", os.path.join(folder, "planned.toml"), "--format", "json",
                          "--progress", "off"))
    states("resources/help/questions.md", f"finds one that is {percent(plan['gain'], 1)} faster than the split in the file")


def check_scaling(folder):
    def rate(system, *options):
        profile = os.path.join(folder, "scaling.pop")
        run("run", f"samples/scaling/{system}.toml", "-o", profile, "--progress", "off", *options)
        return report(profile, "execution")["samples_per_second"], report(profile, "summary")

    def row(name, *options):
        small, large = (rate(system, *options)[0] for system in ("pod16", "pod64"))
        states("samples/scaling/README.md", f"| {name} | {small:,.0f} | {large:,.0f} | {large / small:.2f} |")

    row("emulated")
    row("emulated with distributed batch norm", "--norm-replicas", "2", "--set",
        'execution.float32_operators=["BatchNormalization"]', "--micro-batch-size", "8", "--gradient-accumulation", "25")
    fed, summary = rate("pod64", "--loader-rate", "1094")
    states("samples/scaling/README.md",
           f"trains {fed:,.0f} images a second and waits {percent(summary['time_shares']['host'], 0)} of its time for the host")


def check_error_bands():
    """The medians of trust.md, from the file that the conformance programs write."""
    with open(os.path.join(project, "resources/devices/bands.toml"), encoding="utf-8") as file:
        bands = [dict(re.findall(r'^(\w+) = "?([^"\n]+)"?$', part, re.M)) for part in file.read().split("[[band]]")[1:]]
    medians = {band["kind"]: float(band["median"]) for band in bands if (band["device"], band["quantity"]) == ("mk2", "cycles")}
    states("resources/help/trust.md", f"median error of cycles is {percent(medians['matrix product'], 1)} for matrix products, "
           f"{percent(medians['fully connected'], 1)} for fully connected layers and {percent(medians['convolution'], 1)} for convolutions")


with tempfile.TemporaryDirectory() as scratch:
    check_what_if(scratch)
    check_plan(scratch)
    check_scaling(scratch)
check_error_bands()
if failures:
    sys.exit("\n".join(failures))
