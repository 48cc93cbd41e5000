"""Precision plugins."""

from .errors import MisconfigurationException


class _Precision:
    accelerator, allowed = "", ()

    def __init__(self, precision=32):
        if str(precision) not in self.allowed:
            raise ValueError(
                f"{type(self).__name__}: precision is {precision!r}, but must be one of {', '.join(self.allowed)}."
            )
        self.precision = precision


class IPUPrecision(_Precision):
    """32, or 16: the module is converted to half precision."""

    accelerator, allowed = "ipu", ("32", "16", "32-true", "16-true", "16-mixed")


#: The older name of IPUPrecision.
IPUPrecisionPlugin = IPUPrecision


class HPUPrecisionPlugin(_Precision):
    """32 or "bf16". HPUs compute "bf16" in bfloat16, and losses in float32."""

    accelerator, allowed = "hpu", ("32", "bf16", "32-true", "bf16-true", "bf16-mixed")


class _CpuPrecision(_Precision):
    accelerator, allowed = "cpu", ("32", "32-true")


def precision_of(precision, plugins, accelerator):
    """Return the precision of a trainer: 32, 16 or "bf16"."""
    given = [plugin for plugin in ([plugins] if isinstance(plugins, _Precision) else plugins or [])]
    for plugin in given:
        if not isinstance(plugin, _Precision):
            raise TypeError(f"{plugin!r} is no plugin: pass IPUPrecision or HPUPrecisionPlugin.")
        if plugin.accelerator != accelerator:
            raise MisconfigurationException(
                f'{type(plugin).__name__} is for accelerator="{plugin.accelerator}", but the trainer has '
                f'"{accelerator}".'
            )
        precision = plugin.precision
    kinds = {"ipu": IPUPrecision, "hpu": HPUPrecisionPlugin, "cpu": _CpuPrecision}
    text = str(kinds[accelerator](precision).precision)
    return "bf16" if text.startswith("bf16") else int(text[:2])
