"""Values that a model takes or gives in uncommon ways: out=…, whole numbers in real functions, and changes after compiling."""

import copy
import unittest

import torch
from pipescope import poptorch

X = torch.tensor([[1.7, -2.6, 0.4], [3.9, 1.2, -0.8]])


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


class Same(unittest.TestCase):
    """Compares with PyTorch."""

    def same(self, function, *tensors):
        expected = Calls(function)(*(each.clone() for each in tensors))
        made = poptorch.inferenceModel(Calls(function))(*(each.clone() for each in tensors))
        for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (made, expected))):
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            self.assertTrue(torch.allclose(one.double(), other.double(), atol=1e-5, equal_nan=True), f"{one} {other}")


class Out(Same):
    def test_types(self):
        for name in ("cumsum", "cumprod", "sum", "prod"):
            for kind in (torch.float32, torch.int32, torch.int64):
                with self.subTest(name, kind=kind):
                    function = getattr(torch, name)
                    shape = (2, 3) if name.startswith("cum") else (2,)
                    self.same(lambda x: function(x, 1, out=torch.empty(shape, dtype=kind)), X)

    def test_empty_tensors_get_the_shape_of_the_result(self):
        def sums(x):
            into = torch.empty(0)
            torch.sum(x, 0, out=into)
            return into * 2, into

        def sorts(x):
            values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
            torch.sort(x, 1, out=(values, places))
            return values + 1, places

        self.same(sums, X)
        self.same(sorts, X)

    def test_a_view(self):
        def row(x):
            made = torch.zeros(2, 2, 3)
            torch.mul(x, 2, out=made[1])
            return made

        self.same(row, X)

    def test_refusals(self):
        for function, sentence in (
                (lambda x: torch.exp(x, out=torch.empty(2, 3, dtype=torch.int32)), "result type Float can't be cast"),
                (lambda x: torch.sum(x, 1, out=torch.empty(2, 3)), r"sum at .* makes a result of the shape \[2\], but out= has"),
                (lambda x: x.int().clamp_(0.5), "can't be cast to")):
            with self.assertRaisesRegex(poptorch.Error, sentence):
                poptorch.inferenceModel(Calls(function))(X)


class WholeNumbers(Same):
    def test_real_functions(self):
        numbers = torch.tensor([[1, 0, 1]])
        for name in ("acos acosh asin asinh atan cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 logit rsqrt sigmoid sin sinc "
                     "sinh sqrt tan tanh floor ceil round trunc sgn sign positive isnan isinf square relu").split():
            for kind in (torch.int32, torch.int64, torch.uint8, torch.bool):
                if kind == torch.bool and name in ("floor", "ceil", "round", "trunc", "relu", "positive"):
                    continue  # PyTorch refuses these
                with self.subTest(name, kind=kind):
                    self.same(getattr(torch, name), numbers.to(kind))

    def test_reductions(self):
        for kind in (torch.uint8, torch.bool):
            numbers = torch.tensor([[250, 0, 255]]).to(kind)
            for name, *rest in (("cumsum", 1), ("cumprod", 1), ("logsumexp", 1), ("all",), ("any",), ("amax", 1), ("amin", 1), ("max",),
                                ("min",)):
                with self.subTest(name, kind=kind):
                    self.same(lambda x: getattr(torch, name)(x, *rest), numbers)


class Later(unittest.TestCase):
    """Values that the module gets after it was compiled."""

    def test_statistics_of_norms_in_inference(self):
        module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.InstanceNorm1d(3, track_running_stats=True)).eval()
        rows = torch.randn(4, 3)
        del module[1]
        model = poptorch.inferenceModel(module)
        model(rows)
        module.load_state_dict({name: torch.rand(3) + 0.5 if value.dim() else value
                                for name, value in module.state_dict().items()})
        self.assertTrue(torch.allclose(model(rows), module(rows), atol=1e-6))

    def test_statistics_that_training_moved(self):
        class Norm(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.BatchNorm1d(3)

            def forward(self, x):
                y = self.norm(x)
                return (y, y.square().sum()) if self.training else y

        module, rows = Norm(), torch.randn(8, 3) * 3 + 2
        check = poptorch.inferenceModel(module)
        train = poptorch.trainingModel(module)
        check(rows)
        train(rows)
        module.eval()
        self.assertTrue(torch.allclose(check(rows), module(rows), atol=1e-5))

    def test_constants_of_the_program(self):
        class Frozen(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)
                self.first.weight.requires_grad = False

            def forward(self, x):
                y = self.last(self.first(x))
                return y, y.square().mean()

        module = Frozen()
        model = poptorch.trainingModel(module, optimizer=torch.optim.SGD(
            [each for each in module.parameters() if each.requires_grad], lr=0.1))
        model(X)
        model.copyWeightsToDevice()
        with torch.no_grad():
            module.first.weight.mul_(2)
        with self.assertRaisesRegex(poptorch.Error, "first.weight has other values .* because no optimizer trains it"):
            model.copyWeightsToDevice()

        class Picks(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("order", torch.tensor([2, 0, 1]))

            def forward(self, x):
                return x[:, self.order]

        module = Picks()
        model = poptorch.inferenceModel(module)
        model(X)
        module.order = torch.tensor([0, 0, 0])
        with self.assertRaisesRegex(poptorch.Error, "order has other values than when the model was compiled"):
            model(X)


class LargeProducts(Same):
    """Products that are so large that they are not computed while a model is traced."""

    def network(self):
        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.back = torch.nn.Conv2d(8, 32, 5, 2, 1, groups=2), torch.nn.ConvTranspose2d(32, 8, 4, 2, 1, 1)
                self.line = torch.nn.Linear(63, 63)

            def forward(self, x):
                y = self.line(self.back(torch.relu_(self.conv(x))))
                return torch.bmm(y.flatten(0, 1), y.flatten(0, 1).transpose(1, 2)) @ y.flatten(0, 1)

        torch.manual_seed(3)
        return Network()

    def test_values_and_gradients(self):
        class Loss(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                y = self.inner(x)
                return y, (y * y).mean().sqrt()

        module, pixels = Loss(self.network()), torch.randn(2, 8, 63, 63)
        twin = copy.deepcopy(module)
        made = poptorch.trainingModel(module, optimizer=torch.optim.SGD(module.parameters(), lr=0.01))(pixels)
        expected = twin(pixels)
        expected[1].backward()
        torch.optim.SGD(twin.parameters(), lr=0.01).step()
        self.assertTrue(torch.allclose(made[0], expected[0], rtol=1e-3, atol=1e-3))
        for one, other in zip(module.parameters(), twin.parameters()):
            self.assertTrue(torch.allclose(one, other, atol=1e-4))

    def test_a_model_that_reads_values_while_it_is_traced(self):
        class Reads(torch.nn.Module):
            def forward(self, x, y):
                product = x @ y
                return product * 2 if product.sum() > 0 else product

        rows = torch.ones(256, 256)
        model = poptorch.inferenceModel(Reads())
        with self.assertWarnsRegex(UserWarning, "turns a tensor into a plain value"):
            made = model(rows, rows)
        self.assertTrue(torch.equal(made, torch.full((256, 256), 512.0)))


if __name__ == "__main__":
    unittest.main()
