"""What steps and hooks log: the value of the last batch, and the mean, sum, smallest or largest value of an epoch."""

import dataclasses
import math
import numbers
import warnings
from collections.abc import Iterable, Mapping

import torch

from .. import instances
from .._pipescope import interface
from .errors import MisconfigurationException


def _places():
    """Return where values may be logged: {hook: (on_step, on_epoch, True if it belongs to a batch)}, with the defaults."""
    places = {}
    for stage, word in (("training", "train"), ("validation", "validation"), ("test", "test")):
        of_batches = (True, False, True) if stage == "training" else (False, True, True)
        places.update(dict.fromkeys((f"{stage}_step", f"on_{word}_batch_start", f"on_{word}_batch_end"), of_batches))
        ends = (f"on_{word}_start", f"on_{word}_epoch_start", f"on_{word}_epoch_end", f"{stage}_epoch_end")
        places.update(dict.fromkeys(ends, (False, True, False)))
    return places


_PLACES = _places()
_REDUCTIONS = {"mean": "mean", "avg": "mean", "sum": "sum", "min": "min", "max": "max", torch.mean: "mean", torch.sum: "sum",
               torch.min: "min", torch.max: "max", sum: "sum", min: "min", max: "max"}


def _levels(hook, name, on_step, on_epoch):
    """Return whether a value is logged for its batch and for its epoch."""
    if hook not in _PLACES:
        where = f"in {hook}" if hook else "outside of the loops of a trainer"
        raise MisconfigurationException(
            f'self.log("{name}") is called {where}, where Lightning does not log: call it in a step of training, validation or '
            "test, or in a hook of their batches or epochs."
        )
    step, epoch, of_batch = _PLACES[hook]
    step, epoch = step if on_step is None else bool(on_step), epoch if on_epoch is None else bool(on_epoch)
    if step and not of_batch:
        raise MisconfigurationException(f'self.log("{name}", on_step=True) belongs to a step, not to {hook}: leave on_step out.')
    if not of_batch and not epoch:
        raise MisconfigurationException(f'self.log("{name}", on_epoch=False) in {hook} would log nothing: leave on_epoch out.')
    if not step and not epoch:
        raise MisconfigurationException(
            f'self.log("{name}", on_step=False, on_epoch=False) would log nothing: set one of them.')
    return step, epoch


def _reduction(name, asked):
    known = _REDUCTIONS.get(asked.lower() if isinstance(asked, str) else asked)
    if known is None:
        raise MisconfigurationException(
            f'self.log("{name}", reduce_fx={asked!r}): the values of an epoch are reduced by "mean", "sum", "min" or "max" only; '
            "compute another number yourself, and log it in an epoch-end hook."
        )
    return known


def _number(name, value, reduction):
    """Return a logged value as a number, and the type that it is kept in."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1 and reduction != "mean":
            raise MisconfigurationException(
                f'self.log("{name}", reduce_fx="{reduction}") got a tensor of {value.numel()} numbers: log one number.')
        kind = torch.float64 if value.dtype == torch.float64 else torch.get_default_dtype()
        return value.detach().to(kind).mean().item(), kind
    if isinstance(value, numbers.Number) and not isinstance(value, complex):
        return float(value), torch.get_default_dtype()
    advice = "log the number that its compute() returns, in an epoch-end hook" if hasattr(value, "compute") else \
        "log a number, or a tensor"
    raise MisconfigurationException(f'self.log("{name}") got a {type(value).__name__}: {advice}.')


def _sizes(batch):
    """Yield the rows of the tensors in a batch."""
    if isinstance(batch, torch.Tensor):
        yield batch.shape[0] if batch.dim() > 0 else 1
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _sizes(value)
    elif isinstance(batch, Iterable) and not isinstance(batch, (str, bytes)):
        for value in batch:
            yield from _sizes(value)
    elif dataclasses.is_dataclass(batch):
        for field in dataclasses.fields(batch):
            yield from _sizes(getattr(batch, field.name))


def _joined(values, reduction):
    if reduction == "mean":
        return math.fsum(values) / len(values)
    if any(math.isnan(value) for value in values):
        return math.nan
    return {"sum": math.fsum, "min": min, "max": max}[reduction](values)


def _over_instances(value, reduction):
    instances.leave_at_exit()
    return _joined(interface.instance_values(value), reduction)


@dataclasses.dataclass(frozen=True)
class _Settings:
    """How a value is logged. One hook logs a name in one way only."""

    on_step: bool
    on_epoch: bool
    reduction: str
    shown: bool
    logged: bool
    sync_dist: bool
    loader: int
    adds_loader: bool


class _Value:
    """A value that one hook logs."""

    def __init__(self, name, settings, of_batch):
        self.name, self.settings, self._of_batch = name, settings, of_batch
        self.last, self._sum, self._weight, self._kind, self._closed = None, None, 0, None, None

    def add(self, number, kind, rows):
        self._kind = kind
        reduction, syncs = self.settings.reduction, self.settings.sync_dist
        if self.settings.on_step:
            self.last = _over_instances(number, reduction) if syncs else number
        if not self.settings.on_epoch:
            return
        if syncs and not self._of_batch:
            number = _over_instances(number, reduction)
        weighted = number * rows if reduction == "mean" else number
        self._weight += rows
        joins = "sum" if reduction == "mean" else reduction
        self._sum = weighted if self._sum is None else _joined([self._sum, weighted], joins)

    def close(self):
        """Reduce the epoch over all instances, which all call this together."""
        if self.settings.on_epoch and self.settings.sync_dist and self._of_batch and self._closed is None:
            if self.settings.reduction == "mean":
                self._closed = _over_instances(self._sum, "sum") / _over_instances(float(self._weight), "sum")
            else:
                self._closed = _over_instances(self._sum, self.settings.reduction)

    def value(self, on_step):
        """Return the value of the last batch or of the epoch; None if it is not logged for this."""
        if on_step:
            number = self.last
        elif not self.settings.on_epoch or self._sum is None:
            number = None
        elif self._closed is not None:
            number = self._closed
        else:
            number = self._sum / self._weight if self.settings.reduction == "mean" else self._sum
        return None if number is None else torch.tensor(number, dtype=self._kind)


class Results:
    """The values that the steps and hooks of one loop log in an epoch. `loader` is the number of the loader among several."""

    def __init__(self, training):
        self._training, self._values = training, {}
        self.batch, self.loader, self._rows = None, None, None

    def begin_batch(self, batch):
        """Say which batch the values that follow belong to; None after it."""
        self.batch, self._rows = batch, None

    def _weight(self, name, given, settings):
        if given is not None:
            if isinstance(given, bool) or not isinstance(given, numbers.Number) or not given > 0:
                raise MisconfigurationException(f'self.log("{name}", batch_size={given!r}): a batch has at least one row.')
            return given
        if self.batch is None or not settings.on_epoch or settings.reduction != "mean":
            return 1
        if self._rows is None:
            sizes = _sizes(self.batch)
            self._rows = next(sizes, None)
            if self._rows is None:
                raise MisconfigurationException(
                    f'self.log("{name}"): the batch holds no tensor, so its size is not known: pass batch_size=….')
            if any(size != self._rows for size in sizes):
                warnings.warn(f"The tensors of a batch differ in their first axis, so its mean is weighted by the first of them, "
                              f"{self._rows}: pass batch_size=… to self.log to say another number.", stacklevel=5)
        return self._rows

    def log(self, hook, name, value, on_step, on_epoch, reduce_fx, batch_size, adds_loader, **settings):
        """Add a value. `settings` are shown, logged and sync_dist."""
        if "/dataloader_idx_" in name:
            raise MisconfigurationException(f'self.log("{name}"): the number of the data loader is added to the name by itself.')
        on_step, on_epoch = _levels(hook, name, on_step, on_epoch)
        reduction = _reduction(name, reduce_fx)
        made = _Settings(on_step, on_epoch, reduction, loader=self.loader, adds_loader=adds_loader, **settings)
        key = (hook, name, self.loader if adds_loader else None)
        known = self._values.setdefault(key, _Value(name, made, _PLACES[hook][2]))
        if known.settings != made:
            raise MisconfigurationException(
                f'self.log("{name}") is called twice in {hook} with different arguments: give the values names of their own.')
        number, kind = _number(name, value, reduction)
        known.add(number, kind, self._weight(name, batch_size, made))

    def close(self):
        """Reduce the epoch over the instances of a launcher."""
        for value in self._values.values():
            value.close()

    def metrics(self, on_step):
        """Return three dictionaries of values: for callbacks, loggers and the line of progress."""
        callbacks, logged, shown = {}, {}, {}
        for each in self._values.values():
            settings, value = each.settings, each.value(on_step)
            if value is None or settings.loader != self.loader:
                continue
            suffix = f"/dataloader_idx_{settings.loader}" if settings.adds_loader and settings.loader is not None else ""
            forked = f"_{'step' if on_step else 'epoch'}" if settings.on_step and settings.on_epoch else ""
            if settings.logged:
                logged[each.name + forked + suffix] = value
            if self._training or not on_step:
                callbacks[each.name + suffix] = callbacks[each.name + forked + suffix] = value
            if settings.shown:
                shown[each.name + forked + suffix] = value.item()
        return callbacks, logged, shown


class Metrics:
    """All that was logged since a stage began, with what the loop that runs now logs."""

    def __init__(self):
        self.results, self.at_step = None, False
        self.forget()

    def forget(self):
        """Begin a stage."""
        self._callbacks, self._logged, self._shown = {}, {}, {}

    def keep(self):
        """Take over what the running loop logged of this batch or epoch. Returns the values for loggers."""
        if self.results is None:
            return {}
        callbacks, logged, shown = self.results.metrics(self.at_step)
        self._callbacks.update(callbacks)
        self._logged.update(logged)
        self._shown.update(shown)
        return logged

    @property
    def callbacks(self):
        """The values that callbacks may monitor."""
        self.keep()
        return self._callbacks

    @property
    def logged(self):
        """The values for loggers."""
        self.keep()
        return self._logged

    @property
    def shown(self):
        """The values of the line of progress."""
        self.keep()
        return self._shown
