#!/usr/bin/env python3
"""Checks the help: help_pages.py PIPESCOPE SOURCE [WINDOW].

- `pipescope help WORD` has a paragraph on each command, section of the reports, figure of a section, key of a configuration and
  page of the window. WINDOW is the program pipescope-gui, whose --help names the pages.
- The window prints the same version as the command line.
- No page of resources/help describes a page of the window that there is not.
- In all Markdown files, links lead to files and headings that exist.
"""
import json
import os
import re
import subprocess
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

PIPESCOPE, SOURCE, *WINDOW = sys.argv[1:]
LEAST = 40  # characters of a paragraph
faults = []


def check(condition, sentence):
    if not condition:
        faults.append(sentence)


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    return done.stdout if done.returncode == 0 else ""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_topic(kind, topic, figures=()):
    text = output_of(PIPESCOPE, "help", topic)
    for figure in figures:
        check(re.search(rf"^  {figure}(?::.*)?\n {{4,}}\S.{{10,}}", text, re.MULTILINE), f"pipescope help {topic} does not say what {figure} means")
    check(len(" ".join(text.split()).removeprefix(topic)) >= LEAST, f"pipescope help {topic} says too little of the {kind}: {text!r}")
    if kind in ("section", "page"):
        check(f"{kind.capitalize()} {topic} of the" in text, f"pipescope help {topic} has no paragraph on the {kind}")


def pages():
    """Names of the pages of the window: those of its --help, or those that the sources register."""
    if WINDOW:
        said = re.search(r"the page to open: (.+?)\n", output_of(WINDOW[0], "--help"))[1]
        return re.findall(r"[a-z-]+", said.split(": the settings")[0].replace(" or ", " "))
    return re.findall(r"registry\.add\(\s*\{QStringLiteral\(\"([a-z-]+)\"\)", "".join(
        read(os.path.join(SOURCE, "views", "pages", file)) for file in os.listdir(os.path.join(SOURCE, "views", "pages"))
        if file.endswith(".cpp")))


def topics():
    commands = re.findall(r"^  ([a-z-]+) {2,}\S", output_of(PIPESCOPE, "--help").split("Subcommands:")[1], re.MULTILINE)
    check(len(commands) >= 15, f"there are only the commands {commands}")
    yield from (("command", command) for command in commands)
    sections = json.loads(output_of(PIPESCOPE, "report", "--schema"))["properties"]
    check(len(sections) >= 20, f"there are only the sections {list(sections)}")
    for name, section in sections.items():
        yield "section", name, [figure for figure, value in section["properties"].items()
                                if value["type"] != "array" and figure not in ("system", "state", "device_model")]  # texts
    yield "figure", "stages.imbalance"
    keys = re.findall(r"^## `(\[+[\w.]+\]+)`|^\| `([\w.]+)` \|", output_of(PIPESCOPE, "run", "--help-keys"), re.MULTILINE)
    table, entries = "", {}
    for heading, key in keys:
        table = heading or table
        if key:
            entries.setdefault(table, []).append(key)
    check(sum(map(len, entries.values())) >= 150, f"there are only the keys {entries}")
    for table, own in entries.items():
        if table.startswith("[["):  # the table explains the keys of its entries
            yield "table", table, own
        else:
            yield from (("key", f"{table.strip('[]')}.{key}") for key in own)
    yield from (("page", page) for page in pages())


def headings(text):
    """Anchors of a Markdown text, as GitHub makes them, and those that it states itself."""
    without_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = {re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")
             for heading in re.findall(r"^#+ (.+)$", without_code, re.MULTILINE)}
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def check_links(path):
    text = read(path)
    where = os.path.relpath(path, SOURCE)
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^()\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, place = target.partition("#")
        aim = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(file))) if file else path
        check(os.path.exists(aim), f"{where} links to {target}, which does not exist")
        if place and os.path.exists(aim) and aim.endswith(".md"):
            check(place in headings(read(aim)), f"{where} links to {target}, which has no such heading")


def documents():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=False).stdout.split()
    return [os.path.join(SOURCE, path) for path in listed] or [
        os.path.join(folder, file) for folder, _, files in os.walk(SOURCE) for file in files if file.endswith(".md")]


def main():
    paths = documents()
    check(len(paths) >= 50, f"there are only {len(paths)} Markdown files")
    for path in paths:
        check_links(path)
    described = set(re.findall(r"^## (\S+)$", read(os.path.join(SOURCE, "resources", "help", "pages.md")), re.MULTILINE))
    check(set(pages()) <= described, f"pages.md lacks {set(pages()) - described}")
    check(described <= set(pages()) | {"home", "workbench"}, f"pages.md has {described - set(pages())}, which are no pages")
    check(all(output_of(window, "--version") == output_of(PIPESCOPE, "--version") != "" for window in WINDOW),
          "pipescope-gui --version differs from pipescope --version")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda topic: check_topic(*topic), list(topics())))
    if faults:
        sys.exit("\n".join(faults))


main()
