"""The data loader against the worked table of sample arithmetic, and its division over processes."""

import threading
import unittest

import pipescope.poptorch as poptorch
import torch
from torch.utils.data import IterableDataset, TensorDataset

MODES = list(poptorch.DataLoaderMode)


def made(iterations=1, accumulation=1, replicas=1, process=0, processes=1, seed=None):
    options = poptorch.Options().deviceIterations(iterations).replicationFactor(replicas)
    options.Training.gradientAccumulation(accumulation)
    options.Distributed.configureProcessId(process, processes)
    return options if seed is None else options.randomSeed(seed)


def loaded(loader):
    return [batch[0].tolist() for batch in loader]


class Numbers(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(10))


class Loading(unittest.TestCase):
    # b, G, D, R, samples: rows of a call, calls of an epoch (tutorial on pipelining, and its inference).
    TABLE = [(40, 10, 10, 1, 60000, 4000, 15), (8, 1, 100, 1, 10000, 800, 12), (16, 8, 4, 4, 20480, 2048, 10)]

    def test_a_batch_has_the_rows_of_one_call(self):
        for batch, accumulation, iterations, replicas, samples, rows, calls in self.TABLE:
            data = TensorDataset(torch.arange(samples))
            loader = poptorch.DataLoader(made(iterations, accumulation, replicas), data, batch)
            self.assertEqual((loader.combinedBatchSize, len(loader)), (rows, calls))
            self.assertEqual(len(next(iter(loader))[0]), rows)
        grouped = made(2, 3, 4).inputReplicaGrouping(2)
        self.assertEqual(poptorch.DataLoader(grouped, data, 5).combinedBatchSize, 5 * 2 * 3 * 2)

    def test_all_modes_give_the_same_batches(self):
        data = TensorDataset(torch.arange(11))
        for mode in MODES:
            with self.subTest(mode):
                loader = poptorch.DataLoader(made(2), data, 2, mode=mode)
                self.assertEqual(len(loader), 2)
                self.assertEqual(loaded(loader), [[0, 1, 2, 3], [4, 5, 6, 7]])
                self.assertEqual(loaded(loader), [[0, 1, 2, 3], [4, 5, 6, 7]])
                rest = poptorch.DataLoader(made(2), data, 2, mode=mode, drop_last=False)
                self.assertEqual(len(rest), 3)
                with self.assertWarnsRegex(UserWarning, "3 rows instead of 4"):
                    self.assertEqual(loaded(rest)[-1], [8, 9, 10])

    def test_workers_may_read_smaller_batches(self):
        loader = poptorch.DataLoader(made(2), TensorDataset(torch.arange(11)), 2, rebatched_worker_size=3,
                                     mode=poptorch.DataLoaderMode.AsyncRebatched)
        self.assertEqual(loaded(loader), [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_reading_ahead_passes_errors_on_and_ends_with_the_loop(self):
        class Broken(torch.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                raise KeyError("no such sample")

        before = threading.active_count()
        with self.assertRaisesRegex(KeyError, "no such sample"):
            loaded(poptorch.DataLoader(made(), Broken(), mode=poptorch.DataLoaderMode.Async))
        for _ in poptorch.DataLoader(made(), TensorDataset(torch.arange(99)), mode=poptorch.DataLoaderMode.Async):
            break
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.daemon:
                thread.join(10)
        self.assertLessEqual(threading.active_count(), before)

    def test_equal_seeds_shuffle_equally(self):
        data = TensorDataset(torch.arange(32))
        orders = [loaded(poptorch.DataLoader(made(seed=s), data, 32, shuffle=True)) for s in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertEqual(sorted(orders[2][0]), list(range(32)))


class Dividing(unittest.TestCase):
    def test_processes_take_ranges_one_after_another(self):
        data = TensorDataset(torch.arange(23))
        parts = [loaded(poptorch.DataLoader(made(2, process=p, processes=2), data, 2)) for p in (0, 1)]
        # 23 samples are 2 calls of 4 rows in each of 2 processes; 7 samples are left over.
        self.assertEqual(parts, [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11], [12, 13, 14, 15]]])

    def test_shuffled_parts_are_disjoint_and_leftovers_change_places(self):
        data = TensorDataset(torch.arange(10))
        loaders = [
            poptorch.DataLoader(made(process=p, processes=2, seed=3), data, 4, shuffle=True) for p in (0, 1)
        ]
        for epoch in range(2):
            order = torch.randperm(10, generator=torch.Generator().manual_seed(3 + epoch)).tolist()
            used = order[:8] if epoch == 0 else order[2:]
            self.assertEqual([loaded(loader) for loader in loaders], [[used[:4]], [used[4:]]])

    def test_what_cannot_be_divided_is_refused(self):
        data, two = TensorDataset(torch.arange(10)), {"process": 0, "processes": 2}
        sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 2, True)
        for kind, sentence, make in (
            (AssertionError, "iterable", lambda: poptorch.DataLoader(made(**two), Numbers(), 1)),
            (AssertionError, "randomSeed", lambda: poptorch.DataLoader(made(**two), data, 1, shuffle=True)),
            (poptorch.Error, "decides batch_size", lambda: poptorch.DataLoader(made(), data, 2, batch_sampler=sampler)),
            (poptorch.Error, "over processes", lambda: poptorch.DataLoader(made(**two), data, batch_sampler=sampler)),
            (ValueError, "AsyncRebatched", lambda: poptorch.DataLoader(made(), data, 1, rebatched_worker_size=1)),
            (ValueError, "does not divide", lambda: poptorch.DataLoader(made(replicas=3).inputReplicaGrouping(2), data)),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                make()

    def test_iterable_data_and_batch_samplers_work_in_one_process(self):
        self.assertEqual([b.tolist() for b in poptorch.DataLoader(made(2), Numbers(), 2)], [[0, 1, 2, 3], [4, 5, 6, 7]])
        data = TensorDataset(torch.arange(6))
        sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 3, True)
        self.assertEqual(loaded(poptorch.DataLoader(made(), data, batch_sampler=sampler)), [[0, 1, 2], [3, 4, 5]])


if __name__ == "__main__":
    unittest.main()
