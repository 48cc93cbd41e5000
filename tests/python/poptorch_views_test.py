"""Writes into tensors and through views of them, which the devices must compute as PyTorch does."""

import unittest

import torch
from pipescope import poptorch
from torch import nn


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Scaled(nn.Module):
    """Squares of what a function makes of a scaled input; the scale has a gradient through the writes."""

    def __init__(self, function, shape):
        super().__init__()
        self.scale = nn.Parameter(torch.full(shape, 0.5))
        self.function = function

    def forward(self, x):
        values = self.function(x * self.scale)
        return values, poptorch.identity_loss(values * values, "sum")


def named_row(x):
    first = x[0]
    first += 5
    return x


def on_two_lines(x):
    part = x[:, 1:3]
    part.mul_(3)
    return x


def several_views(x):
    turned = x.t()
    part = turned[1:3]
    part.mul_(2)
    flat = x.reshape(-1)
    flat[0:3] = 9
    return x, turned, part, flat


def halves(x):
    left, right = x.chunk(2, 1)
    right.zero_()
    left.add_(right.sum())
    return x, left, right


def copied(x):
    y, z = torch.zeros_like(x), x * 2
    y[0].copy_(z[1])
    z[1] = 0
    return y, z


def in_a_loop(x):
    made = torch.zeros(3, 4)
    for i in range(3):
        made[i] = x[0] * i
    return made


def aliases(x):
    same = x.contiguous()
    same += 1
    also = x.to(torch.float32)
    also *= 2
    rows = x.reshape(4, 2)
    rows[1] = 0
    return x, same, also, rows


def picked(x):
    x[torch.tensor([0, 1]), torch.tensor([1, 2])] = 5.0
    x[x > 5.5] = 0.0
    return x


def set_on(view):
    """Add to one view of the tensor, multiply another one."""

    def function(x):
        view(x).add_(7)
        return x

    return function


FUNCTIONS = [named_row, on_two_lines, several_views, halves, copied, in_a_loop, aliases, picked]
VIEWS = {
    "view": lambda x: x.view(-1)[2:5], "reshape": lambda x: x.reshape(4, 2)[1], "flatten": lambda x: x.flatten()[:2],
    "ravel": lambda x: x.ravel()[3], "t": lambda x: x.t()[1], "transpose": lambda x: x.transpose(0, 1)[2:],
    "permute": lambda x: x.permute(1, 0)[0], "movedim": lambda x: x.movedim(0, 1)[3], "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(1, 1, 2), "steps": lambda x: x[:, ::2], "negative": lambda x: x[-1, -2:],
    "unsqueeze": lambda x: x.unsqueeze(0)[0, 1], "squeeze": lambda x: x[:1].squeeze(0), "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 2)[0, 1], "chunk": lambda x: x.chunk(3, 1)[1], "split": lambda x: x.split(3, 1)[1],
    "unbind": lambda x: x.unbind(1)[2], "tensor_split": lambda x: torch.tensor_split(x, 2, 1)[0],
    "expand_as": lambda x: x.expand_as(x)[1], "view_as": lambda x: x.view_as(torch.zeros(8))[5:],
    "unflatten": lambda x: x.view(-1).view(2, 2, 2)[:, 1], "swapaxes": lambda x: x.swapaxes(0, 1)[1:3],
    "as_strided": lambda x: x.as_strided((2, 2), (4, 2), 1), "detach": lambda x: x.detach()[0],
    "hsplit": lambda x: torch.hsplit(x, 2)[1], "vsplit": lambda x: torch.vsplit(x, 2)[1], "T": lambda x: x.T[1],
}


def as_tuple(values):
    return values if isinstance(values, tuple) else (values,)


class Views(unittest.TestCase):
    def compare(self, function, x):
        want = as_tuple(function(x.clone() + 1))
        got = as_tuple(poptorch.inferenceModel(Applied(lambda x: function(x + 1)))(x))
        for mine, theirs in zip(got, want):
            self.assertEqual(mine.dtype, theirs.dtype)
            self.assertTrue(torch.equal(mine, theirs), f"{mine} is not {theirs}")

    def test_writes_reach_every_view(self):
        for function in FUNCTIONS:
            with self.subTest(function.__name__):
                self.compare(function, torch.arange(8.0).reshape(2, 4))

    def test_all_kinds_of_views(self):
        for name, view in VIEWS.items():
            with self.subTest(name):
                self.compare(set_on(view), torch.arange(8.0).reshape(2, 4))

    def test_writes_have_gradients(self):
        x = torch.arange(8.0).reshape(2, 4)
        for name in ("view", "t", "select", "steps", "unfold", "diagonal"):
            with self.subTest(name):
                def function(values, view=VIEWS[name]):
                    values = values * 1
                    view(values).mul_(3)
                    return values

                mine, theirs = Scaled(function, (2, 4)), Scaled(function, (2, 4))
                poptorch.trainingModel(mine, optimizer=poptorch.optim.SGD(mine.parameters(), lr=0.01))(x)
                optimizer = torch.optim.SGD(theirs.parameters(), lr=0.01)
                theirs(x)[1].backward()
                optimizer.step()
                torch.testing.assert_close(mine.scale, theirs.scale)


class InPlace(unittest.TestCase):
    def test_inputs_change_for_the_caller(self):
        def add(x):
            x += 1
            return x

        def nothing(x):
            x += 1

        for function in (add, nothing):
            x = torch.zeros(3)
            poptorch.inferenceModel(Applied(function))(x)
            self.assertEqual(x.tolist(), [1, 1, 1])

    def test_views_of_inputs_change_them(self):
        x = torch.zeros(2, 3)

        def function(x):
            x[1].add_(2)
            return x.sum()

        model = poptorch.inferenceModel(Applied(function))
        self.assertEqual(model(x).item(), 6)
        self.assertEqual(x.tolist(), [[0, 0, 0], [2, 2, 2]])
        self.assertEqual(model(x).item(), 12)

    def test_copy_keeps_the_type(self):
        made = poptorch.inferenceModel(Applied(lambda x, y: y.copy_(x)))(torch.tensor([1.7, 2.9]),
                                                                         torch.zeros(2, dtype=torch.int32))
        self.assertEqual((made.dtype, made.tolist()), (torch.int32, [1, 2]))

    def test_buffers_change_in_inference(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(2))

            def forward(self, x):
                self.count[0] += 1
                return x + self.count

        module = Counting()
        model = poptorch.inferenceModel(module)
        self.assertEqual([model(torch.zeros(2)).tolist() for _ in range(3)], [[1, 0], [2, 0], [3, 0]])
        self.assertEqual(module.count.tolist(), [3, 0])

    def test_several_micro_batches_warn(self):
        def add(x):
            x += 1
            return x

        with self.assertWarnsRegex(UserWarning, "in place"):
            poptorch.inferenceModel(Applied(add), poptorch.Options().deviceIterations(2))(torch.zeros(2, 3))


if __name__ == "__main__":
    unittest.main()
