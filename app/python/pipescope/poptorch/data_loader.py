"""A data loader whose batches are as large as one call of a model takes."""

import queue
import threading
import warnings

import torch

from .enums import DataLoaderMode, SharingStrategy
from .errors import Error
from .log import logger
from .structure import Structure


def rows_per_call(batch_size, options):
    """Return b · D · G · (R ÷ replicas with the same input); None for a batch size of None."""
    if batch_size is None:
        return None
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
        # Samples that are left over stand at the end in even epochs and at the beginning in odd ones.
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

    def stop(self):
        """End the thread, which may still be reading an item, and wait for it."""
        self._stop.set()
        self._thread.join()

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
    first = Structure(items[0])
    columns = zip(*(Structure(item).tensors for item in items))
    return first.build([torch.cat(column) for column in columns])


def _rows(item):
    return Structure(item).tensors[0].shape[0]


def _joined(batches, count, drop_last):
    """Join so many batches of a sampler at a time. Each has been made by itself, as for one micro-batch."""
    held = []
    for batch in batches:
        held.append(batch)
        if len(held) == count:
            yield _join(held) if count > 1 else batch
            held = []
    if held and not drop_last:
        yield _join(held)


class DataLoader(torch.utils.data.DataLoader):
    """Loads the rows of one call at a time: batch_size · device iterations · gradient accumulation · replicas."""

    def __init__(self, options, dataset, batch_size=1, shuffle=None, num_workers=0, drop_last=True,
                 persistent_workers=None, auto_distributed_partitioning=True, mode=DataLoaderMode.Sync,
                 async_options=None, rebatched_worker_size=None, batch_sampler=None, **kwargs):
        processes = options.Distributed.numProcesses
        if batch_sampler is not None and batch_size == 1:
            batch_size = getattr(batch_sampler, "batch_size", 1)
        elif batch_sampler is not None:
            raise Error("A batch_sampler decides batch_size itself: leave it out (mutually exclusive).")
        self._options, self._reader, self._joins = options, None, None
        self._mode, self._combined = DataLoaderMode(mode), rows_per_call(batch_size, options)
        if options.replication_factor % options.input_group_size != 0:
            raise ValueError(
                f"inputReplicaGrouping({options.input_group_size}) does not divide the "
                f"{options.replication_factor} replicas."
            )
        if batch_sampler is not None and shuffle:
            raise Error("A batch_sampler decides shuffle itself: leave it out (mutually exclusive).")
        if batch_sampler is not None and processes > 1 and auto_distributed_partitioning:
            raise Error("A batch_sampler cannot be divided over processes: pass auto_distributed_partitioning=False (mutually "
                        "exclusive).")
        if rebatched_worker_size is not None and self._mode != DataLoaderMode.AsyncRebatched:
            raise ValueError("rebatched_worker_size belongs to DataLoaderMode.AsyncRebatched.")
        if rebatched_worker_size is not None and rebatched_worker_size > (self._combined or 0):
            raise AssertionError(f"rebatched_worker_size is {rebatched_worker_size}, but a call takes {self._combined} rows.")
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
        kwargs["persistent_workers"] = num_workers > 0 if persistent_workers is None else persistent_workers
        if batch_sampler is not None:
            self._joins = rows_per_call(1, options)
            super().__init__(dataset, batch_sampler=batch_sampler, num_workers=num_workers, **kwargs)
            self._warn_if_incomplete(batch_sampler, self._joins)
            return
        assert not (divides and batch_size is None), "batch_size=None cannot be divided over processes."
        if batch_size is None:
            super().__init__(dataset, batch_size=None, shuffle=None if iterable else shuffle, num_workers=num_workers, **kwargs)
            return
        read = self._combined
        rebatches = self._mode == DataLoaderMode.AsyncRebatched
        if rebatches:
            read = int(rebatched_worker_size or batch_size)
        super().__init__(dataset, batch_size=read, shuffle=None if iterable else shuffle, num_workers=num_workers,
                         drop_last=drop_last and not rebatches, **kwargs)

    def _warn_if_incomplete(self, sampler, count):
        if self._drop_last or not hasattr(sampler, "__len__") or len(sampler) % count == 0:
            return
        logger.warning("The batch sampler makes %d batches, which do not divide by %d, and drop_last is False: the last call "
                       "gets fewer rows.", len(sampler), count)

    @property
    def options(self):
        """The options that the loader was made with."""
        return self._options

    @property
    def combinedBatchSize(self):
        """The number of rows of one call."""
        return self._combined

    def __len__(self):
        if self._joins is not None:
            batches = len(self.batch_sampler)
            return batches // self._joins if self._drop_last else -(-batches // self._joins)
        if self._mode != DataLoaderMode.AsyncRebatched:
            return super().__len__()
        rows = len(self.dataset) if isinstance(self.dataset, torch.utils.data.IterableDataset) else len(self.sampler)
        return rows // self._combined if self._drop_last else -(-rows // self._combined)

    def _warn_if_short(self, batches):
        for batch in batches:
            if self._combined is not None and Structure.holds_tensor(batch) and _rows(batch) < self._combined:
                warnings.warn(f"The last batch has {_rows(batch)} rows instead of {self._combined}.", stacklevel=2)
            yield batch

    def __iter__(self):
        # The thread of an epoch that was left early reads from the same workers, so it ends first.
        self.terminate()
        batches = super().__iter__()
        if self._joins is not None:
            batches = _joined(batches, self._joins, self._drop_last)
        elif self._mode == DataLoaderMode.AsyncRebatched:
            batches = _rebatched(batches, self._combined, self._drop_last)
        if self._mode != DataLoaderMode.Sync:
            self._reader = _ReadAhead(batches, self._ahead)
            batches = iter(self._reader)
        return batches if self._drop_last else self._warn_if_short(batches)

    def terminate(self):
        """Stop reading ahead. The next iteration begins anew."""
        if getattr(self, "_reader", None) is not None:
            self._reader.stop()
            self._reader = None


class AsynchronousDataAccessor:
    """Reads ahead of the caller from any iterable data set, on a thread of its own.

    `rebatched_size` joins and cuts what the data set gives into batches of so many rows, and drops what is left over at the
    end. The other settings are those of PopTorch's processes, which a thread does not have.
    """

    def __init__(self, dataset, buffer_size=3, miss_sleep_time_in_ms=0.1, load_indefinitely=True, early_preload=False,
                 sharing_strategy=SharingStrategy.ForkServer, rebatched_size=None):
        if buffer_size < 1:
            raise ValueError(f"buffer_size is {buffer_size}, but must be at least 1.")
        self._dataset, self._ahead, self.rebatched_size = dataset, buffer_size, rebatched_size
        self._preloads, self._reader, self._is_fresh = early_preload, None, False
        if early_preload:
            self._start()
            self._is_fresh = True

    def _start(self):
        self.terminate()
        items = iter(self._dataset)
        self._reader = _ReadAhead(_rebatched(items, self.rebatched_size, True) if self.rebatched_size else items, self._ahead)

    def __len__(self):
        return len(self._dataset)

    def __iter__(self):
        if not self._is_fresh:
            self._start()
        self._is_fresh = False
        return iter(self._reader)

    def terminate(self):
        """Stop reading ahead. The next iteration begins anew."""
        if self._reader is not None:
            self._reader.stop()
            self._reader = None


def _rebatched(batches, rows, drop_last):
    held, count = [], 0
    for batch in batches:
        held.append(batch)
        count += _rows(batch)
        while count >= rows:
            whole = _join(held)
            yield _slice(whole, 0, rows)
            count -= rows
            held = [_slice(whole, rows, None)] if count else []
    if count and not drop_last:
        yield _join(held)


def _slice(item, first, end):
    structure = Structure(item)
    return structure.build([tensor[first:end] for tensor in structure.release()])
