"""Options from a text file, one call a line."""

import ast

from . import enums, location_options, strategies


class ConfigFileError(ValueError):
    """A line of a file with options cannot be understood."""


def call_option(options, name, values, where):
    """Call the setter `name`, as "Training.gradientAccumulation", with the values."""
    target = options
    *groups, setter = name.split(".")
    for group in groups:
        if group == "_Popart":
            getattr(options._Popart, setter)(*values)
            return
        if group not in options._groups:
            raise ConfigFileError(f"{where}: there is no group of options {group}.")
        target = getattr(options, group)
    if setter in type(target)._hardware_only:
        getattr(target, setter)(*values)
        return
    if setter.startswith("_") or not callable(getattr(type(target), setter, None)):
        raise ConfigFileError(f"{where}: there is no option {name}.")
    getattr(target, setter)(*map(_member, values))


def _member(value):
    """The member of an enumeration that a text names, as "ConnectionType.OnDemand"; other values as they are."""
    kind, _, name = value.rpartition(".") if isinstance(value, str) else ("", "", "")
    kind = kind.rpartition(".")[2]
    return getattr(getattr(enums, kind), name, value) if kind and hasattr(enums, kind) else value


def _value(node, where):
    """A literal, or a member of an enumeration such as poptorch.OutputMode.All."""
    if isinstance(node, ast.Attribute):
        kind = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if hasattr(enums, kind) and hasattr(getattr(enums, kind), node.attr):
            return getattr(getattr(enums, kind), node.attr)
    if isinstance(node, ast.Call) and not node.keywords:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for home in (strategies, location_options):
            if name[:1].isupper() and hasattr(home, name):
                return getattr(home, name)(*(_value(each, where) for each in node.args))
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ConfigFileError(f"{where}: values must be numbers, texts, lists or members of enumerations.") from None


def _without_comment(line):
    """The line without what stands behind a # that is in no text."""
    quote = ""
    for place, letter in enumerate(line):
        if letter in "\"'" and quote in ("", letter):
            quote = "" if quote else letter
        if letter == "#" and not quote:
            return line[:place].strip()
    return line.strip()


def load_options(options, path):
    """Call each line of the file on the options. Empty lines and lines that begin with # are left out."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = _without_comment(line)
            where = f"{path}:{number}"
            if not text:
                continue
            try:
                call = ast.parse(text, mode="eval").body
            except SyntaxError:
                call = None
            if not isinstance(call, ast.Call) or call.keywords:
                raise ConfigFileError(f'{where}: "{text}" is no call of an option, as deviceIterations(10).')
            name = ast.unparse(call.func)
            name = name[len("options.") :] if name.startswith("options.") else name
            call_option(options, name, [_value(each, where) for each in call.args], where)
