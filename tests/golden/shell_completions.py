#!/usr/bin/env python3
"""Tries the completions in real shells.

shell_completions.py PIPESCOPE SHELL loads what `pipescope help --completions SHELL` prints into that shell (bash, zsh or fish),
types the beginnings of command lines, and compares what the shell makes of them or offers.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

# Typed words, and words that the shell must offer for them. A single word is also completed.
TYPED = [
    ("pipescope repo", ["report"]),
    ("pipescope run --epo", ["--epochs"]),
    ("pipescope run --strategy s", ["serial_phased", "sharded"]),
    ("pipescope report --format ", ["csv", "html", "json", "text"]),
    ("pipescope report --section mem", ["memory"]),
    ("pipescope run --schedule zb", ["zb-h1", "zb-h2", "zb-v"]),
    ("pipescope help --completions f", ["fish"]),
    ("pipescope help training.epo", ["training.epochs"]),
    ("pipescope help --epo", ["--epochs"]),
    ("pipescope help sch", ["schedule"]),
    ("pipescope run --system hls-g", ["hls-gaudi2"]),
    ("pipescope devices gaudi", ["gaudi", "gaudi2", "gaudi3"]),
    ("pipescope run --builder v", ["vit"]),
    ("pipescope report --executable t", ["training"]),
    ("pipescope run --set training.epo", ["training.epochs="]),
    ("pipescope sweep --vary training.epo", ["training.epochs="]),
    ("pipescope plan --schedule zb", ["zb-h1", "zb-h2", "zb-v"]),
    ("pipescope report --table conf", []),
    ("pipescope run conf", ["configuration.toml"]),
    ("pipescope run configuration.toml --no-shuf", ["--no-shuffle"]),
    ("pipescope export x.pop --to sq", ["sqlite"]),
]

BASH = """source ./completions
for typed in "$@"; do
  COMP_WORDS=($typed); [[ $typed == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _pipescope; echo "${COMPREPLY[@]}"
done"""

# The widget completes what was typed and shows the line and all matches. Files in this folder are the only ones it can find.
ZSH = """PS1= PS2= RPS1=
fpath=($PWD $fpath)
autoload -U compinit && compinit -u -D
offered=()
compadd() { local -a found; builtin compadd -O found "$@"; offered+=($found); builtin compadd "$@" }
show() { offered=(); zle complete-word; zle -I; print -r -- "OFFERED[${offered[*]}]"; BUFFER= }
zle -N show
bindkey '^X' show
print READY
"""


def in_bash(folder):
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", *[typed for typed, _ in TYPED]], cwd=folder,
                          capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def in_fish(folder):
    offered = []
    for typed, _ in TYPED:
        done = subprocess.run(["fish", "--no-config", "-c", f"source ./completions; complete -C {typed!r}"], cwd=folder,
                              env={**os.environ, "HOME": folder}, capture_output=True, text=True, check=True)
        offered.append([line.split("\t")[0] for line in done.stdout.splitlines()])
    return offered


def read_until(terminal, pattern):
    seen = ""
    while True:
        found = re.search(pattern, seen)
        if found:
            return found
        if not select.select([terminal], [], [], 30)[0]:
            sys.exit(f"zsh says nothing more after {seen!r}")
        seen += os.read(terminal, 65536).decode(errors="replace")


def in_zsh(folder):
    os.rename(os.path.join(folder, "completions"), os.path.join(folder, "_pipescope"))
    with open(os.path.join(folder, ".zshrc"), "w") as file:
        file.write(ZSH)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-i"], {**os.environ, "ZDOTDIR": folder, "HOME": folder, "TERM": "dumb"})
    read_until(terminal, "READY")
    offered = []
    for typed, _ in TYPED:
        os.write(terminal, (typed + "\x18").encode())
        offered.append(read_until(terminal, r"OFFERED\[([^$\]]*)\]").group(1).split())
    os.write(terminal, b"exit\n")
    os.close(terminal)
    os.waitpid(process, 0)
    return offered


def main():
    binary, shell = sys.argv[1:]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "completions"), "w") as file:
            subprocess.run([binary, "help", "--completions", shell], stdout=file, check=True)
        open(os.path.join(folder, "configuration.toml"), "w").close()
        offered = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}[shell](folder)
    for (typed, words), found in zip(TYPED, offered, strict=True):
        if sorted(set(found)) != words:
            wrong.append(f"{shell} offers {found} for {typed!r} instead of {words}")
    if wrong:
        sys.exit("\n".join(wrong))


main()
