"""Operators that PyTorch's exporter lacks or gets wrong: values, types, shapes and gradients are those of PyTorch."""

import itertools
import math
import unittest
import warnings

import torch
import torch.nn.functional as F
from pipescope import poptorch
from torch import nn


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Trained(nn.Module):
    """The sum of squares of what a function makes of a scaled input."""

    def __init__(self, function, shape):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(shape))
        self.function = function

    def forward(self, x):
        values = self.function(x * self.scale)
        return poptorch.identity_loss(values * values, "sum")


PLACES = torch.tensor([[0, 2], [1, 1], [2, 0]])
REAL = {  # functions of a tensor of 3 × 4; each also has a gradient
    "sinh": torch.sinh, "cosh": torch.cosh, "asinh": torch.asinh, "exp2": torch.exp2, "cumprod": lambda x: x.cumprod(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1), "nansum": lambda x: x.nansum(1), "amax": lambda x: x.amax(),
    "median": lambda x: x.median(1)[0], "norm 3": lambda x: x.norm(p=3), "norm inf": lambda x: x.norm(p=math.inf, dim=1),
    "roll": lambda x: x.roll(5, 1), "roll flat": lambda x: x.roll(3), "chunk": lambda x: x.chunk(3, 1)[1],
    "tensor_split": lambda x: torch.tensor_split(x, 3, 1)[2], "sort": lambda x: torch.sort(x, dim=1, stable=True)[0],
    "addmv": lambda x: torch.addmv(x[:, 0], x, x[0]), "group norm": lambda x: F.group_norm(x, 2),
    "softplus": lambda x: F.softplus(x, 2, 0.5), "pairwise 3": lambda x: F.pairwise_distance(x, x.flip(0), 3.0),
    "cdist 1": lambda x: torch.cdist(x, x[:2] + 1, 1.0), "broadcast": lambda x: x.broadcast_to(2, 3, 4),
    "mT": lambda x: x.mT @ x, "mH": lambda x: x.unsqueeze(0).mH, "adjoint": lambda x: x.adjoint(), "H": lambda x: x.H * 2,
    "hypot": lambda x: torch.hypot(x, x + 1), "logaddexp": lambda x: torch.logaddexp(x, 2 * x), "sinc": torch.sinc,
    "scatter amax": lambda x: x.scatter_reduce(1, PLACES, x[:, :2] * 3, "amax"),
    "scatter amin": lambda x: x.scatter_reduce(1, PLACES, x[:, :2] * 3, "amin", include_self=False),
    "scatter prod": lambda x: x.scatter_reduce(1, PLACES, x[:, :2] * 3, "prod"),
    "scatter mean": lambda x: x.scatter_reduce(1, PLACES, x[:, :2] * 3, "mean"),
    "index_add": lambda x: x.index_add(0, torch.tensor([0, 2]), x[:2] * 2),
    "index_copy": lambda x: x.index_copy(0, torch.tensor([0, 2]), x[:2] * 2),
    "take": lambda x: x.take(torch.tensor([0, 5, -1])), "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, torch.arange(12.0)),
    "adaptive pool": lambda x: F.adaptive_avg_pool1d(x, 2), "pool": lambda x: F.avg_pool1d(x, 2),
    "padded by ctc": lambda x: F.ctc_loss(x.unsqueeze(1).log_softmax(2), torch.tensor([[1]]), (3,), (1,)),
}
OTHERS = {  # without a gradient
    "count_nonzero": lambda x: x.count_nonzero(1), "isfinite": lambda x: torch.isfinite(x / x.round()),
    "logical_not": torch.logical_not, "bits": lambda x: (x * 9).int() & 6 | 1, "not bits": lambda x: ~(x * 9).int(),
    "xor bits": lambda x: torch.bitwise_xor((x * 9).int(), 5), "fmod": lambda x: (x * 9).int().fmod(4),
    "clamp": lambda x: (x * 9).int().clamp(-4.5, 5.5), "isclose": lambda x: torch.isclose(x, x + 1e-9),
    "where": lambda x: torch.where(x > 0, PLACES[0, 0], 0.5), "all": lambda x: (x * 9).int().all(1),
    "sum of bools": lambda x: (x > 0) + (x < 1), "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
    "bincount": lambda x: torch.bincount((x.abs() * 3).int().flatten(), minlength=16),
    "cartesian": lambda x: torch.cartesian_prod(x[0], x[1]), "double": lambda x: (x.double() + 1).float(),
    "argsort": lambda x: torch.argsort(x, 1), "copy": lambda x: torch.zeros(3, 4, dtype=torch.int32).copy_(x * 9),
}
WRITES = {
    "rows and columns": lambda x: (torch.tensor([0, 2]), torch.tensor([1, -1])), "a list": lambda x: ([0, 2],),
    "between": lambda x: (slice(0, 2), torch.tensor([3, 0])), "a mask": lambda x: x > 0, "rows": lambda x: x[:, 0] > 0,
    "one place": lambda x: (1, torch.tensor(2)), "dots": lambda x: (..., torch.tensor([1, 2])),
}


#: Functions behind which PyTorch's exporter forgets shapes, and functions that it cannot export without knowing them.
FORGETFUL = {
    "padding": lambda x: F.pad(x, (1, 3)), "replication": lambda x: F.pad(x, (2, 2, 1, 1), "replicate"),
    "reflection": lambda x: F.pad(x, (2, 2, 2, 2), "reflect"), "einsum": lambda x: torch.einsum("bchw,bkhw->bkhw", x, x),
    "statistics": lambda x: F.batch_norm(x, torch.ones(4), torch.full((4,), 2.0)), "response": lambda x: F.local_response_norm(x, 2),
    "writing": lambda x: torch.zeros_like(x).copy_(x),
}
FOLLOWERS = {
    "average pool": lambda x: F.adaptive_avg_pool2d(x, (x.shape[2] // 2, None)), "largest": lambda x: F.adaptive_max_pool2d(x, (2, 4)),
    "layer norm": lambda x: F.layer_norm(x, x.shape[1:]), "instance norm": F.instance_norm,
    "reshape": lambda x: x.reshape(x.shape[0], -1, x.size(1)), "mean": lambda x: x.sum(1) / x.shape[1], "unfold": lambda x: F.unfold(x, 2),
    "bilinear": lambda x: F.interpolate(x, size=(x.shape[2] + 1, 7), mode="bilinear"),
}


#: Numbers that follow from sizes, where PyTorch's functions take whole numbers.
OF_SIZES = {
    "half of a window": lambda x: F.avg_pool2d(x, x.size(2) // 2), "roll": lambda x: x.roll(x.shape[2] // 2, 2),
    "window": lambda x: F.max_pool2d(x, kernel_size=x.size()[2:]), "whole row": lambda x: F.max_pool1d(x[0], x.size(3)),
    "count": lambda x: x.flatten().view(x.numel() // len(x), len(x)), "recomputed": lambda x: F.interpolate(
        x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True), "unfold": lambda x: F.unfold(x, x.shape[2] // 2),
    "parts": lambda x: torch.cat(x.split(x.shape[1] // 2, 1), 0), "new": lambda x: torch.zeros(x.shape[0], x.shape[1] - 1) + x[:, 1:, 0, 0],
    "padding": lambda x: F.pad(x, (0, x.shape[3] % 3, 1, 0)), "repeat": lambda x: x.repeat(1, x.shape[1] // 2, 1, 1),
    "remainder": lambda x: x.narrow(1, x.shape[1] - 2, 2), "difference": lambda x: x.transpose(1, -(x.shape[1] - 1)),
}


def sample():
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(3))


class Operators(unittest.TestCase):
    def compare(self, function, *inputs):
        want = function(*(each.clone() for each in inputs))
        got = poptorch.inferenceModel(Applied(function))(*inputs)
        self.assertEqual((got.dtype if want.dtype != torch.float64 else want.dtype, got.shape), (want.dtype, want.shape))
        torch.testing.assert_close(got.double(), want.double(), atol=1e-5, rtol=1e-5, equal_nan=True)

    def test_values(self):
        for name, function in {**REAL, **OTHERS}.items():
            with self.subTest(name):
                self.compare(function, sample())

    def test_shapes_are_known_behind_all_functions(self):
        image = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(4))
        for (name, first), (other, second) in itertools.product(FORGETFUL.items(), FOLLOWERS.items()):
            with self.subTest(name, then=other):
                self.compare(lambda x, first=first, second=second: second(first(x)), image)

    def test_numbers_that_follow_from_sizes(self):
        for name, function in OF_SIZES.items():
            with self.subTest(name):
                self.compare(function, torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(4)))

    def test_a_number_that_follows_from_values_is_no_size(self):
        with self.assertRaisesRegex(poptorch.Error, "must be tuple of ints, not Tensor|must either be a single int"):
            poptorch.inferenceModel(Applied(lambda x, n: F.avg_pool2d(x, n[0])))(torch.ones(2, 4, 8, 8), torch.tensor([2, 2]))

    def test_the_way_that_sizes_choose_needs_no_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            self.compare(lambda x: x * 2 if x.shape[0] == 3 and x.numel() > 11 else x, sample())

    def test_windows_of_several_sizes_are_refused(self):
        for function in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
            with self.assertRaisesRegex(poptorch.Error, r"pool2d of \[9, 6\] to \(3, 4\): devices pool in windows of one "
                                                        r"size, and 4 does not divide 6\. Choose a divisor of 6"):
                poptorch.inferenceModel(Applied(lambda x, function=function: function(x, (3, 4))))(torch.ones(1, 2, 9, 6))

    def test_gradients(self):
        for name, function in REAL.items():
            with self.subTest(name):
                x = sample()
                mine, theirs = Trained(function, x.shape), Trained(function, x.shape)
                poptorch.trainingModel(mine, None, poptorch.optim.SGD(mine.parameters(), lr=1e-3))(x)
                theirs(x).backward()
                torch.testing.assert_close(mine.scale, theirs.scale - 1e-3 * theirs.scale.grad, atol=1e-5, rtol=1e-4)

    def test_writes_at_indices(self):
        for name, index in WRITES.items():
            def write(x, index=index):
                x = x * 1
                x[index(x)] = 0.5
                return x

            def add(x, index=index):
                x, value = x * 1, torch.tensor(7.0)
                place = index(x)
                x[place] += value
                return x

            with self.subTest(name):
                self.compare(write, sample())
                if name not in ("a mask", "rows"):  # the number of elements that these read is not known before the model runs
                    self.compare(add, sample())

    def test_random_numbers_have_their_distributions(self):
        class Draws(nn.Module):
            def forward(self):
                x = torch.zeros(20000)
                return (torch.randint(2, 7, (20000,)), x.clone().exponential_(2.0), torch.bernoulli(x + 0.3), torch.randperm(50),
                        x.clone().uniform_(-1, 3), torch.normal(x + 5, 2.0))

        whole, waits, bits, order, uniform, normal = poptorch.inferenceModel(Draws())()
        self.assertEqual((int(whole.min()), int(whole.max())), (2, 6))
        self.assertAlmostEqual(waits.mean().item(), 0.5, delta=0.03)
        self.assertAlmostEqual(bits.mean().item(), 0.3, delta=0.02)
        self.assertEqual(sorted(order.tolist()), list(range(50)))
        self.assertAlmostEqual(uniform.mean().item(), 1.0, delta=0.05)
        self.assertAlmostEqual(normal.std().item(), 2.0, delta=0.1)

    def test_ctc(self):
        logs = torch.randn(8, 3, 5, generator=torch.Generator().manual_seed(1)).log_softmax(2)
        targets, lengths = torch.tensor([[1, 2, 2, 3], [2, 2, 1, 1], [1, 3, 4, 1]]), torch.tensor([4, 2, 3])
        for reduction in ("none", "sum", "mean"):
            with self.subTest(reduction):
                self.compare(lambda x: F.ctc_loss(x, targets, torch.tensor([8, 6, 2]), lengths, 0, reduction, True), logs)
        self.compare(lambda x: F.ctc_loss(x, torch.tensor([1, 2, 4, 1, 3]), (8, 8, 8), (2, 1, 2), 0, "sum"), logs)


class AxesOutOfRange(unittest.TestCase):
    def test_they_are_refused_as_by_pytorch(self):
        """A function in the place of PyTorch's must not take another axis in the place of one that a tensor lacks."""
        x, index = torch.randn(2, 3, 4), torch.zeros(2, 3, 4, dtype=torch.int64)
        for name, function in {
            "roll": lambda x, dim: x.roll(1, dim), "median": lambda x, dim: x.median(dim)[0], "cumprod": lambda x, dim: x.cumprod(dim),
            "sort": lambda x, dim: x.sort(dim)[0], "amax": lambda x, dim: x.amax(dim), "nansum": lambda x, dim: x.nansum(dim),
            "count_nonzero": lambda x, dim: x.count_nonzero(dim), "take_along_dim": lambda x, dim: x.take_along_dim(index, dim),
            "index_add": lambda x, dim: x.index_add(dim, index[0, 0, :2], x), "index_fill": lambda x, dim: x.index_fill(dim, index[0, 0], 1.0),
            "repeat_interleave": lambda x, dim: x.repeat_interleave(2, dim), "unflatten": lambda x, dim: x.unflatten(dim, (1, 3)),
            "index_copy": lambda x, dim: x.index_copy(dim, index[0, 0, :2], x), "argsort": lambda x, dim: x.argsort(dim),
        }.items():
            for dim in (3, -4):
                with self.subTest(name, dim=dim):
                    with self.assertRaisesRegex(IndexError, r"expected to be in range of \[-3, 2\], but got"):
                        function(x, dim)
                    with self.assertRaisesRegex(poptorch.Error, rf"expected to be in range of \[-3, 2\], but got {dim}"):
                        poptorch.inferenceModel(Applied(lambda x, f=function, d=dim: f(x, d)))(x)


class FunctionsOfPopTorch(unittest.TestCase):
    def test_loops_and_conditions(self):
        def model(x, flag):
            rounds = poptorch.for_loop(3, lambda a, b: (a * 2, b + a), [x, x])
            return (*rounds, *poptorch.cond(flag > 0, lambda a: a + 1, [x], lambda a: a - 1, [x]))

        made = poptorch.inferenceModel(Applied(model))
        x = torch.tensor([1.0, 2.0])
        self.assertEqual([each.tolist() for each in made(x, torch.tensor(1))], [[8, 16], [8, 16], [2, 3]])
        self.assertEqual(made(x, torch.tensor(0))[2].tolist(), [0, 1])
        with self.assertRaisesRegex(ValueError, "list of tensors"):
            poptorch.for_loop(2, lambda a: a, x)
        with self.assertRaisesRegex(poptorch.Error, "must match the inputs"):
            poptorch.for_loop(2, lambda a: a[:1], [x])

    def test_moving_windows(self):
        x, start = torch.arange(8.0), torch.tensor([3])
        made = poptorch.inferenceModel(Applied(lambda x, s: poptorch.dynamic_slice(x, 0, s, 4, 2)))
        self.assertEqual(made(x, start).tolist(), [3, 5])
        self.assertEqual(made(x, start - 2).tolist(), [1, 3])
        made = poptorch.inferenceModel(Applied(lambda x, new, s: poptorch.dynamic_update(x, new, 0, s, 2)))
        self.assertEqual(made(x, torch.tensor([9.0, 9.0]), start).tolist(), [0, 1, 2, 9, 9, 5, 6, 7])
        for sentence, call in (("must be different", lambda: poptorch.dynamic_slice(x, 0, start, 0, 1)),
                               ("whole number", lambda: poptorch.dynamic_slice(x, 0, start + 0.5, 1, 1)),
                               ("same dtype", lambda: poptorch.dynamic_update(x, x.int(), 0, start, 8))):
            with self.subTest(sentence), self.assertRaisesRegex(ValueError, sentence):
                call()

    def test_products_in_parts(self):
        left, right = torch.randn(6, 4), torch.randn(4, 8)
        for mode in poptorch.MatMulSerializationMode:
            with self.subTest(mode):
                made = poptorch.inferenceModel(Applied(lambda a, b: poptorch.serializedMatMul(a, b, mode, 2)))
                torch.testing.assert_close(made(left, right), left @ right)

    def test_nearest_points(self):
        x, y = torch.tensor([[0.0, 0], [3, 1], [9, 9], [4, 0]]), torch.tensor([[3.0, 0], [8, 8], [0, 1]])
        made = poptorch.inferenceModel(Applied(lambda a, b: poptorch.nearest(a, b)))(x, y)
        self.assertEqual((made.dtype, made.tolist()), (torch.int64, [2, 0, 1, 0]))
        made = poptorch.inferenceModel(Applied(lambda a, b: poptorch.nearest(a, b, [0, 0, 1, 1], [0, 1, 1])))(x, y)
        self.assertEqual(made.tolist(), [0, 0, 1, 2])  # (4, 0) is as far from (8, 8) as 32, from (0, 1) as 17
        samples = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1])
        self.assertEqual(poptorch.inferenceModel(Applied(poptorch.nearest))(x, y, *samples).tolist(), [0, 0, 1, 2])
        self.assertEqual(poptorch.nearest(torch.tensor([1.0, 7]), torch.tensor([6, 2])).tolist(), [1, 0])
        for sentence, call in (("x is list", lambda: poptorch.nearest([1], y)),
                               ("2 coordinates, but those of y have 1", lambda: poptorch.nearest(x, y[:, 0])),
                               ("of x and of y, or of neither", lambda: poptorch.nearest(x, y, [0] * 4)),
                               (r"y has 3 points, but the samples of \[2\]", lambda: poptorch.nearest(x, y, [0] * 4, [0, 0]))):
            with self.subTest(sentence), self.assertRaisesRegex(poptorch.Error, sentence):
                call()

    def test_printed_tensors(self):
        import contextlib
        import io

        made = poptorch.inferenceModel(Applied(lambda x: poptorch.ipu_print_tensor(x, "halves", digits=3) * 2))
        with contextlib.redirect_stderr(io.StringIO()) as text:
            made(torch.tensor([[0.5, 1.5]]))
        self.assertEqual(text.getvalue(), "halves: (\n (0.5 1.5)\n)\n")


class HalfTest(unittest.TestCase):
    def test_a_number_from_a_shape_takes_the_type_of_its_operand(self):
        values = torch.randn(2, 3, 4).half()
        scaled = poptorch.inferenceModel(Applied(lambda x: torch.matmul(x, x.transpose(1, 2)) / x.shape[2] ** 0.5))(values)
        self.assertEqual(scaled.dtype, torch.float16)
        expected = torch.matmul(values.float(), values.float().transpose(1, 2)) / 2
        torch.testing.assert_close(scaled.float(), expected, atol=2e-2, rtol=1e-2)


if __name__ == "__main__":
    unittest.main()
