"""A data loader whose batches are as large as one call of a model takes."""

import queue
import threading
import warnings

import torch

from .enums import DataLoaderMode


def rows_per_call(batch_size, options):
    """Return b · D · G · (R ÷ replicas with the same input)."""
    replicas = options.replication_factor // options.input_group_size
    return batch_size * options.device_iterations * options.Training.gradient_accumulation * replicas


class _PartSampler(torch.utils.data.Sampler):
    """The part of the data of one process. All processes draw the same order and cut it into ranges."""

    def __init__(self, size, rows, process, processes, shuffle, seed, drop_last):
        self._size, self._process, self._shuffle, self._seed, self._epoch = size, process, shuffle, seed, 0
        whole = rows * (size // (rows * processes)) if drop_last else -(-size // processes)
        self._count, self._used = whole, min(whole * processes, size)

    def __len__(self):
        return max(0, min(self._count, self._size - self._process * self._count))

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed((self._seed or 0) + self._epoch)
        order = torch.randperm(self._size, generator=generator) if self._shuffle else torch.arange(self._size)
        # What is left over stands at the end in even epochs and at the beginning in odd ones.
        skipped = self._size - self._used if self._shuffle and self._epoch % 2 == 1 else 0
        self._epoch += 1
        first = skipped + self._process * self._count
        return iter(order[first : first + len(self)].tolist())


class _ReadAhead:
    """Runs an iterator on a thread of its own, some items ahead."""

    _END = object()

    def __init__(self, iterator, ahead):
        self._items, self._stop = queue.Queue(ahead), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(iterator,), daemon=True)
        self._thread.start()

    def _put(self, item):
        while not self._stop.is_set():
            try:
                return self._items.put(item, timeout=0.1)
            except queue.Full:
                pass
        return None

    def _run(self, iterator):
        try:
            for item in iterator:
                self._put((item, None))
                if self._stop.is_set():
                    return
            self._put((self._END, None))
        except BaseException as error:  # the caller gets it from next()
            self._put((self._END, error))

    def __iter__(self):
        try:
            while True:
                item, error = self._items.get()
                if error is not None:
                    raise error
                if item is self._END:
                    return
                yield item
        finally:
            self._stop.set()


def _join(items):
    """Join batches along the first axis."""
    if isinstance(items[0], torch.Tensor):
        return torch.cat(items)
    if isinstance(items[0], dict):
        return {key: _join([item[key] for item in items]) for key in items[0]}
    return type(items[0])(_join(list(column)) for column in zip(*items))


def _rows(item):
    while not isinstance(item, torch.Tensor):
        item = next(iter(item.values())) if isinstance(item, dict) else item[0]
    return item.shape[0]


class DataLoader(torch.utils.data.DataLoader):
    """Loads the rows of one call at a time: batch_size · device iterations · gradient accumulation · replicas."""

    def __init__(self, options, dataset, batch_size=1, shuffle=None, num_workers=0, drop_last=True,
                 persistent_workers=None, auto_distributed_partitioning=True, mode=DataLoaderMode.Sync,
                 async_options=None, rebatched_worker_size=None, batch_sampler=None, **kwargs):
        processes = options.Distributed.numProcesses
        self._mode, self._combined = DataLoaderMode(mode), rows_per_call(batch_size, options)
        if options.replication_factor % options.input_group_size != 0:
            raise ValueError(
                f"inputReplicaGrouping({options.input_group_size}) does not divide the "
                f"{options.replication_factor} replicas."
            )
        if batch_sampler is not None and (batch_size != 1 or shuffle):
            raise ValueError("A batch_sampler decides batch_size and shuffle itself: leave them out.")
        if batch_sampler is not None and processes > 1 and auto_distributed_partitioning:
            raise ValueError(
                "A batch_sampler cannot be divided over processes: pass auto_distributed_partitioning=False."
            )
        if rebatched_worker_size is not None and self._mode != DataLoaderMode.AsyncRebatched:
            raise ValueError("rebatched_worker_size belongs to DataLoaderMode.AsyncRebatched.")
        self._ahead = (async_options or {}).get("buffer_size", 3)
        iterable = isinstance(dataset, torch.utils.data.IterableDataset)
        divides = processes > 1 and auto_distributed_partitioning
        assert not (divides and iterable), "An iterable data set cannot be divided over processes."
        assert not (divides and shuffle and options.random_seed is None), (
            "Shuffling over several processes needs one seed for all of them: call options.randomSeed()."
        )
        self._drop_last = drop_last
        options._freeze()
        if divides:
            kwargs["sampler"] = _PartSampler(len(dataset), self._combined, options.Distributed.processId, processes,
                                             bool(shuffle), options.random_seed, drop_last)
            shuffle = None
        elif shuffle and options.random_seed is not None and "generator" not in kwargs:
            kwargs["generator"] = torch.Generator()
            kwargs["generator"].manual_seed(options.random_seed)
        if persistent_workers is not None:
            kwargs["persistent_workers"] = persistent_workers
        if batch_sampler is not None:
            super().__init__(dataset, batch_sampler=batch_sampler, num_workers=num_workers, **kwargs)
            return
        read = self._combined
        rebatches = self._mode == DataLoaderMode.AsyncRebatched
        if rebatches:
            read = int(rebatched_worker_size or batch_size)
        super().__init__(dataset, batch_size=read, shuffle=None if iterable else shuffle, num_workers=num_workers,
                         drop_last=drop_last and not rebatches, **kwargs)

    @property
    def combinedBatchSize(self):
        """The number of rows of one call."""
        return self._combined

    def __len__(self):
        if self._mode != DataLoaderMode.AsyncRebatched:
            return super().__len__()
        rows = len(self.sampler)
        return rows // self._combined if self._drop_last else -(-rows // self._combined)

    def _rebatched(self, batches):
        held, count = [], 0
        for batch in batches:
            held.append(batch)
            count += _rows(batch)
            while count >= self._combined:
                whole = _join(held)
                yield _slice(whole, 0, self._combined)
                count -= self._combined
                held = [_slice(whole, self._combined, None)] if count else []
        if count and not self._drop_last:
            yield _join(held)

    def _warn_if_short(self, batches):
        for batch in batches:
            if isinstance(batch, (torch.Tensor, list, tuple, dict)) and _rows(batch) < self._combined:
                warnings.warn(f"The last batch has {_rows(batch)} rows instead of {self._combined}.", stacklevel=2)
            yield batch

    def __iter__(self):
        batches = super().__iter__()
        if self._mode == DataLoaderMode.AsyncRebatched:
            batches = self._rebatched(batches)
        if self._mode != DataLoaderMode.Sync:
            batches = iter(_ReadAhead(batches, self._ahead))
        return batches if self._drop_last else self._warn_if_short(batches)

    def terminate(self):
        """Accept it: reading ahead ends with the iteration."""


class AsynchronousDataAccessor:
    """Reads ahead of the caller from any iterable data set, on a thread of its own."""

    def __init__(self, dataset, buffer_size=3):
        if buffer_size < 1:
            raise ValueError(f"buffer_size is {buffer_size}, but must be at least 1.")
        self._dataset, self._ahead = dataset, buffer_size

    def __len__(self):
        return len(self._dataset)

    def __iter__(self):
        return iter(_ReadAhead(iter(self._dataset), self._ahead))

    def terminate(self):
        """Accept it: reading ahead ends with the iteration."""


def _slice(item, first, end):
    if isinstance(item, torch.Tensor):
        return item[first:end]
    if isinstance(item, dict):
        return {key: _slice(value, first, end) for key, value in item.items()}
    return type(item)(_slice(value, first, end) for value in item)
