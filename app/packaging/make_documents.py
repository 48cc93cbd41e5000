#!/usr/bin/env python3
"""Writes what Debian packages hold beside the programs: the help as HTML, the changelogs and the window's manual page.

make_documents.py SOURCE VERSION MAINTAINER PROGRAM WINDOW FOLDER: SOURCE is the checkout, PROGRAM the built program pipescope, WINDOW
pipescope-gui, or nothing where there is none.
"""

import glob
import gzip
import html
import json
import os
import re
import subprocess
import sys
import time

import markdown

# Pages that the index names first; others follow in the order of the alphabet.
FIRST = ["questions", "commands", "pages", "sections", "glossary", "configuration", "trust", "operators"]
STYLE = """body { font-family: sans-serif; line-height: 1.5; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; } td, th { border: 1px solid #bbb; padding: .2em .6em; text-align: left; vertical-align: top; }
pre { background: #f4f4f4; padding: .6em; overflow-x: auto; } code { background: #f4f4f4; } img { max-width: 100%; }"""


def title_of(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].strip()


def anchor(heading):
    """The anchor that GitHub gives a heading, which links within the help use."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def page(title, body):
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)} – Pipescope</title>\n'
            f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")


def linked(target, names):
    """Where a link of a page leads in the package: pages are HTML, samples have a folder of their own."""
    if "://" in target or target.startswith("#"):
        return target
    path, hash_sign, place = target.partition("#")
    name = os.path.splitext(os.path.basename(path))[0]
    if name in names and path.endswith(".md"):
        return f"{name}.html{hash_sign}{place}"
    if path.startswith("../../samples"):
        return "/usr/share/pipescope/" + path[len("../../"):]
    return target


def output_of(*command):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def sections_page(program):
    """The sections of the reports with the meanings of their figures, as Markdown, from the schema that the program prints."""
    lines = ["# Sections of the reports", "", "`pipescope report PROFILE --section NAME` prints one of them."]
    for name, section in json.loads(output_of(program, "report", "--schema"))["properties"].items():
        lines += ["", f"## {name}", "", f"{section['description']}.", "", "| figure or table | meaning |", "|---|---|"]
        for key, value in section["properties"].items():
            if value.get("description"):
                lines.append(f"| `{key}` | {value['description'].replace('|', '&#124;')} |")
    return "\n".join(lines)


def commands_page(program):
    """The help of all commands, as Markdown."""
    lines = ["# Commands"]
    names = re.findall(r"^  ([a-z-]+) {2,}\S", output_of(program, "--help").split("Subcommands:")[1], re.MULTILINE)
    for name in names:
        lines += ["", f"## pipescope {name}", "", "```", output_of(program, name, "--help").strip(), "```"]
    return "\n".join(lines)


def write_help(source, program, folder):
    os.makedirs(folder, exist_ok=True)
    paths = {os.path.splitext(os.path.basename(path))[0]: path for path in glob.glob(f"{source}/resources/help/*.md")}
    texts = {}
    for name, path in paths.items():
        with open(path, encoding="utf-8") as file:
            texts[name] = file.read()
    texts["sections"], texts["commands"] = sections_page(program), commands_page(program)
    for name, text in texts.items():
        body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"],
                                 extension_configs={"toc": {"slugify": lambda heading, separator: anchor(heading)}})
        body = re.sub(r'(href)="([^"]*)"', lambda found: f'href="{linked(html.unescape(found[2]), texts)}"', body)
        body = f'<p><a href="index.html">Pipescope: help</a></p>\n{body}'
        with open(f"{folder}/{name}.html", "w", encoding="utf-8") as file:
            file.write(page(title_of(text), body))
    names = [name for name in FIRST if name in texts] + sorted(set(texts) - set(FIRST))
    lines = [f'<li><a href="{name}.html">{html.escape(title_of(texts[name]))}</a></li>' for name in names]
    with open(f"{folder}/index.html", "w", encoding="utf-8") as file:
        file.write(page("Help", "<h1>Pipescope: help</h1>\n<ul>\n" + "\n".join(lines) + "\n</ul>\n"
                        "<p><code>man pipescope</code> has all commands and their options.</p>"))


def write_compressed(path, text):
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        file.write(text.encode())


def write_changelogs(source, version, maintainer, folder):
    with open(f"{source}/CHANGELOG.md", encoding="utf-8") as file:
        write_compressed(f"{folder}/changelog.gz", file.read())
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    write_compressed(f"{folder}/changelog.Debian.gz",
                     f"pipescope ({version}) unstable; urgency=medium\n\n  * Package of this version; changelog.gz tells what is new.\n"
                     f"\n -- {maintainer}  {date}\n")


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def write_manual(program, folder):
    """The manual page of the window, from the text of its option --help."""
    text = output_of(program, "--help")
    usage, about, options = text.strip().split("\n\n", 2)
    version = output_of(program, "--version").split()[1]
    lines = [f'.TH PIPESCOPE\\-GUI 1 "" "pipescope {version}" "Pipescope"', ".SH NAME",
             "pipescope\\-gui \\- shows profiles of models on emulated accelerators", ".SH SYNOPSIS",
             roff(usage.removeprefix("usage: ")), ".SH DESCRIPTION", roff(about), ".SH OPTIONS"]
    for option in re.finditer(r"^  (--\S+(?: \S+)?)\s{2,}(.+)$", options, re.MULTILINE):
        lines += [".TP", f".B {roff(option[1])}", roff(option[2])]
    lines += [".SH SEE ALSO", ".BR pipescope (1)", ""]
    write_compressed(f"{folder}/pipescope-gui.1.gz", "\n".join(lines))


def main():
    source, version, maintainer, program, window, folder = sys.argv[1:]
    write_help(source, program, f"{folder}/help")
    write_changelogs(source, version, maintainer, folder)
    if window:
        write_manual(window, folder)
    with open(f"{folder}/../../documents/pipescope.1", encoding="utf-8") as file:
        write_compressed(f"{folder}/pipescope.1.gz", file.read())


if __name__ == "__main__":
    main()
