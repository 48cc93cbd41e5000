"""Data loaders of a trainer: those of the user, with the rows of one call of the devices."""

import warnings

import torch

from .. import instances
from .errors import MisconfigurationException


def _is_own(loader, kind):
    return type(loader).__module__.startswith("habana_") or type(loader).__name__ == kind


class CardOrder(torch.utils.data.Sampler):
    """The order of the samples for several cards, each of which draws every n-th sample, as DistributedSampler.

    Rows follow each other as a call takes them: by batch, then by card. An instance of several draws for its cards.
    """

    def __init__(self, size, cards, batch, shuffle, seed):
        self._size, self._cards, self._batch, self._shuffle = size, cards, batch, shuffle
        self._seed, self._epoch = seed or 0, 0
        self._own = cards // instances.getNumInstances()

    def __len__(self):
        return self._size // (self._cards * self._batch) * self._own * self._batch

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self._seed + self._epoch)
        self._epoch += 1
        order = torch.randperm(self._size, generator=generator) if self._shuffle else torch.arange(self._size)
        whole = self._size // (self._cards * self._batch) * self._cards * self._batch
        order = order[:whole].reshape(-1, self._batch, self._cards)
        first = instances.getInstanceIndex() * self._own
        return iter(order[:, :, first : first + self._own].transpose(1, 2).reshape(-1).tolist())


def _check(loader):
    if not isinstance(loader, torch.utils.data.DataLoader):
        raise TypeError(f"A data loader must be a torch.utils.data.DataLoader, not {type(loader).__name__}.")
    if loader.batch_sampler is None:
        raise MisconfigurationException("The data loader has batch_size=None, but a call takes batches: give it a batch_size.")


def _is_custom(loader):
    """True for a loader with a batch sampler of the user. Such a loader has no batch size of its own."""
    return loader.batch_size is None or type(loader.batch_sampler) is not torch.utils.data.BatchSampler


def _check_rows(made, stage, asked=None):
    """Refuse a loader that is shorter than one call, and say how many samples are left out.

    A training may leave out the `asked` rows, those of an incomplete batch that its loader drops; None: any number.
    """
    try:
        count, samples = len(made), len(made.dataset)
    except TypeError:
        return  # an iterable data set that does not know its length
    options = made.options
    if count == 0:
        raise MisconfigurationException(
            f"The data set has {samples} samples, but one call takes {made.combinedBatchSize} (device iterations "
            f"{options.device_iterations} · accumulated batches {options.Training.gradient_accumulation} · replicas "
            f"{options.replication_factor} · the batch size): lower one of these."
        )
    rest = samples - count * (made.combinedBatchSize or 0)
    warns = rest > 0 if stage in ("validation", "test") else stage == "training" and asked is not None and rest > asked
    if warns and made.combinedBatchSize:
        training = stage == "training"
        warnings.warn(f"The {stage} leaves out the last {rest} of {samples} samples{' of an epoch' if training else ''}, because "
                      f"a call takes {made.combinedBatchSize}.{_other_accumulation(made, samples) if training else ''}", stacklevel=2)


def _other_accumulation(made, samples):
    """Say which accumulate_grad_batches takes more of the batches of an epoch, if that is why some are left out."""
    now = made.options.Training.gradient_accumulation
    batches = samples // (made.combinedBatchSize // now)
    if batches % now == 0:
        return ""
    fits = max(number for number in range(1, now) if batches % number == 0)
    return (f" The {now} batches of an update are compiled into a call, so an epoch cannot end with a smaller update: "
            f"accumulate_grad_batches={fits} takes all {batches} batches.")


def device_loader(loader, trainer, options, stage="training"):
    """Return a loader whose batches are the rows of one call with these options.

    Predictions are made of all samples, so the last batch of their loader may be shorter.
    """
    from .. import poptorch

    if _is_own(loader, "HabanaDataLoader"):
        raise MisconfigurationException(
            "Habana's data loader is not supported: pass a torch.utils.data.DataLoader with the same data set."
        )
    if isinstance(loader, poptorch.DataLoader):
        _check_rows(loader, stage)
        return loader
    _check(loader)
    iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
    if not iterable and _is_custom(loader):
        made = poptorch.DataLoader(options, loader.dataset, batch_sampler=loader.batch_sampler, num_workers=loader.num_workers,
                                   collate_fn=loader.collate_fn, drop_last=stage != "predict")
        _check_rows(made, stage)
        return made
    shuffles = isinstance(loader.sampler, torch.utils.data.RandomSampler)
    plain = shuffles or isinstance(loader.sampler, torch.utils.data.SequentialSampler)
    settings = {"num_workers": loader.num_workers, "collate_fn": loader.collate_fn}
    if loader.num_workers == 0 and loader.worker_init_fn is not None:
        settings["worker_init_fn"] = loader.worker_init_fn
    shuffle = shuffles
    if trainer.accelerator_name == "hpu" and plain and not iterable and trainer.num_devices > 1:
        settings["auto_distributed_partitioning"] = False
        settings["sampler"] = CardOrder(len(loader.dataset), trainer.num_devices, loader.batch_size, shuffles, trainer.seed)
        shuffle = None
    elif not plain and not iterable:
        settings["sampler"], shuffle = loader.sampler, None
    made = poptorch.DataLoader(options, loader.dataset, batch_size=loader.batch_size,
                               shuffle=None if iterable else shuffle, drop_last=stage != "predict", **settings)
    _check_rows(made, stage, None if iterable else len(loader.dataset) % loader.batch_size if loader.drop_last else 0)
    return made


def limited(loader, limit, name):
    """Return how many batches of a loader to use. `limit` is a number of batches or a share of them; None: all."""
    try:
        there = len(loader)
    except TypeError:
        there = None
    if limit is None:
        return there
    if isinstance(limit, float):
        if not 0.0 <= limit <= 1.0:
            raise ValueError(f"{name} is {limit}, but a share must be from 0.0 to 1.0.")
        if limit == 1.0:
            return there
        if there is None:
            raise MisconfigurationException(f"{name} is a share, but the loader does not know its length: give a number.")
        if 0 < there * limit < 1:
            raise MisconfigurationException(
                f"{name} is the share {limit} of {there}, which is less than one batch: raise it, or pass 0 for none.")
        return int(there * limit)
    if limit < 0:
        raise ValueError(f"{name} is {limit}, but a number of batches cannot be negative.")
    return limit if there is None else min(limit, there)
