"""Judges calibrated cards by published training rates of NVIDIA-NeMo/Megatron-Bridge.

The argument is a table with the columns of its docs/performance-summary (tokens per second and GPU by layout). For each system
with at least twenty rows of one size, some draws of ten rows calibrate it, and the other rows are predicted: how many lie in
the stated interval of 80 %, how wide it is beside the median error, and how much slower than the best measured layout
the one is that the calibrated system calls fastest. Layers are divided
among the places of the pipeline as the recipes of Megatron do: for Llama, embedding and loss count as one layer each; for DeepSeek
and Kimi, the last place gets the layers that are left. The script takes minutes, so it is run by hand:

    python3 tests/conformance/cards/megatron_bridge.py build/ci/app/pipescope TABLE.csv [DRAWS]
"""
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

SYSTEMS = {"DGX-GB300": ("gb300-nvl72", 64), "DGX-GB200": ("gb200-nvl72", 64), "DGX-B300": ("dgx-b300", 8),
           "DGX-B200": ("dgx-b200", 8), "DGX-H100": ("dgx-h100", 8)}
MODELS = {"DeepSeekV3": ("deepseek-v3", 61), "Qwen3_30B_a3B": ("qwen3-30b-a3b", 48), "LLAMA3.1_405B": ("llama-3.1-405b", 126),
          "Kimi_K2": ("kimi-k2", 61)}
KEYS = ["name", "model.builder", "model.sequence", "execution.precision", "execution.float8_scaling", "execution.tensor_parallel",
        "execution.sequence_parallel", "execution.overlap_tensor", "execution.context_parallel", "execution.expert_parallel",
        "execution.expert_exchange", "execution.overlap_experts", "execution.recorded_graphs", "execution.layers_per_stage",
        "execution.schedule", "execution.chunks", "training.micro_batch_size", "training.gradient_accumulation",
        "measured_tokens_per_second"]
LAYOUT = ["Precision", "GBS", "MBS", "TP", "PP", "CP", "VP", "EP"]


def number(text):
    return 1 if text in ("", "n/a") else int(text)


def release(row):
    return row["container"].split()[0]


def recipe(row):
    """Returns which kernels a recipe of the release records as graphs, and whether it hides exchanges of experts."""
    model, chip, late = row["model"], row["System"][4:], release(row) in ("26.06", "26.06.01", "26.08")
    graphs, hidden, part = "none", False, "*/attention, */router"
    if model == "DeepSeekV3":
        if chip == "GB300" and late:
            graphs, hidden = "all", True
        if chip == "GB200":
            graphs, hidden = ("all", True) if late else (part, False)
        if chip == "B300" and late:
            graphs = part
        if chip == "B200" and release(row) == "26.04.01":
            graphs, hidden = part, True
    if model == "Qwen3_30B_a3B":
        if chip == "H100":
            hidden = row["PP"] == "2"
        else:
            graphs = "all" if late else part
    if model == "LLAMA3.1_405B" and row["Precision"] == "NVFP4":
        graphs = "all"
    return graphs, hidden


def layers_of(layers, stages):
    if stages == 1:
        return ""
    if layers % stages == 0:
        return str([layers // stages] * stages)
    if (layers + 2) % stages == 0 and layers + 2 > stages:
        each = (layers + 2) // stages
        return str([each - 1] + [each] * (stages - 2) + [each - 1])
    each, left, parts = -(-layers // stages), layers, []
    for stage in range(stages):
        parts.append(min(each, left - (stages - 1 - stage)))
        left -= parts[-1]
    return str(parts)


def settings(row):
    ranks = {key: number(row[key]) for key in ("TP", "PP", "CP", "VP", "EP")}
    if MODELS[row["model"]][1] < ranks["PP"] * ranks["VP"]:  # a stage of the embedding alone cannot be said
        ranks["VP"] //= 2
    gpus, builder = int(row["#-GPUs"]), MODELS[row["model"]]
    replicas = gpus // (ranks["TP"] * ranks["PP"] * ranks["CP"])
    graphs, hidden = recipe(row)
    precision, word = row["Precision"], lambda truth: "true" if truth else "false"
    return [f"{release(row)} {row['model']} {precision}", builder[0], row["Sequence Length"],
            "float4" if precision == "NVFP4" else "float8",
            {"MXFP8": "blocks", "FP8": "current"}.get(precision, ""), ranks["TP"], word(ranks["TP"] > 1),
            word(ranks["TP"] > 1 and precision != "NVFP4"), ranks["CP"], ranks["EP"],
            "forwarded" if ranks["EP"] > 1 else "auto", word(hidden), graphs,
            layers_of(builder[1], ranks["PP"] * ranks["VP"]), "interleaved-1f1b" if ranks["VP"] > 1 else "1f1b",
            ranks["VP"] if ranks["VP"] > 1 else 0, row["MBS"], int(row["GBS"]) // (int(row["MBS"]) * replicas),
            float(row["Tokens / sec / GPU"]) * gpus]


def system_name(name, gpus):
    system, box = SYSTEMS[name]
    if gpus <= box:
        return f"{system}:{gpus}"
    return f"{system}:{box}x{gpus // box}"


def write(path, rows):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(KEYS)
        table.writerows(settings(row) for row in rows)


def call(binary, *arguments):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def predict(binary, folder, system, gpus, rows):
    """Returns emulated / measured of each row, and how many measurements lie in the intervals."""
    write(f"{folder}/rows.csv", rows)
    with open(f"{folder}/base.toml", "w") as file:
        file.write(f'[execution]\nzero = 1\nmode = "training"\n[system]\nname = "{system}"\ndevices = {gpus}\n')
    answer = json.loads(call(binary, "validate", f"{folder}/base.toml", f"{folder}/rows.csv", "--progress", "off",
                             "--format", "json"))
    agreement = answer["agreement"][0]
    ratios = [variant["tokens_per_second_ratio"] for variant in answer["variants"]]
    return ratios, agreement["inside_interval"], agreement["with_interval"]


def regret(rows, ratios):
    """Returns how much slower than the best one of its model the layout is that the emulation calls fastest."""
    lost = []
    groups = {}
    for row, ratio in zip(rows, ratios):
        groups.setdefault((release(row), row["model"], row["GBS"]), []).append(
            (float(row["Tokens / sec / GPU"]) * ratio, float(row["Tokens / sec / GPU"]), [row[key] for key in LAYOUT]))
    for layouts in groups.values():
        if len({tuple(layout[2]) for layout in layouts}) > 1:
            lost.append(max(layout[1] for layout in layouts) / max(layouts)[1])
    return lost


def main():
    binary, path = os.path.abspath(sys.argv[1]), sys.argv[2]
    draws = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with open(path) as file:
        table = list(csv.DictReader(file))
    inside = of = 0
    errors, widths, lost = [], [], []
    sizes = sorted({(row["System"], int(row["#-GPUs"])) for row in table})
    for name, gpus in sizes:
        rows = [row for row in table if row["System"] == name and int(row["#-GPUs"]) == gpus]
        if len(rows) < 20:
            continue
        for draw in range(draws):
            picked = random.Random(draw).sample(range(len(rows)), 10)
            chosen = [rows[i] for i in picked]
            others = [row for i, row in enumerate(rows) if i not in picked]
            with tempfile.TemporaryDirectory() as folder:
                system = system_name(name, gpus)
                ratios, _, _ = predict(binary, folder, system, gpus, others)
                write(f"{folder}/chosen.csv", chosen)
                call(binary, "calibrate", system, f"{folder}/chosen.csv", f"{folder}/base.toml", "-o", f"{folder}/mine.toml",
                     "--progress", "off")
                mine = system.replace(SYSTEMS[name][0], f"{folder}/mine.toml")
                after, held, counted = predict(binary, folder, mine, gpus, others)
                every, _, _ = predict(binary, folder, mine, gpus, rows)
                text = open(f"{folder}/mine.toml").read()
            found = [line for line in text.splitlines() if line.startswith("step_error")]
            width = 1.2816 * float(found[0].split("value = ")[1].split(",")[0])
            missed = [abs(1 / ratio - 1) for ratio in after]
            losses = regret(rows, every)
            inside, of = inside + held, of + counted
            errors += missed
            widths.append(math.expm1(width))
            lost += losses
            print(f"{name}, {gpus} cards, draw {draw}: others {len(others)}, median error before "
                  f"{statistics.median(abs(1 / ratio - 1) for ratio in ratios):.3f}, after {statistics.median(missed):.3f}, worst "
                  f"{max(missed):.3f}; in interval {held} of {counted}, half width {math.expm1(width):.3f}; regret "
                  f"{statistics.mean(losses) if losses else 1:.3f}", flush=True)
    print(f"all: in interval {inside} of {of} ({inside / of:.0%}), median half width {statistics.median(widths):.3f}, median error "
          f"{statistics.median(errors):.3f}, ratio {statistics.median(widths) / statistics.median(errors):.2f}; regret "
          f"{statistics.mean(lost):.3f} over {len(lost)} choices")


if __name__ == "__main__":
    main()
