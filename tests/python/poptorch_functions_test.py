"""Functions that the exporter of PyTorch refuses or exports wrongly: on the devices they give what PyTorch gives."""

import copy
import unittest

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from pipescope import poptorch
from pipescope.poptorch.decomposed.rules import RULES
from torch import nn

ROWS = 4


class Applied(nn.Module):
    """A function of a scaled input, and a loss of its values."""

    def __init__(self, function, shape):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(shape))
        self.function = function

    def forward(self, x, *others):
        values = self.function(x * self.scale, *others)
        loss = values if values.dim() == 0 else (values.float() ** 2).mean()
        return values, poptorch.identity_loss(loss, "none")


class Doubled(torch.autograd.Function):
    """A function with a gradient of its own, which is that of its forward pass."""

    @staticmethod
    def forward(context, x):
        return 2 * x

    @staticmethod
    def backward(context, gradient):
        return 2 * gradient


class Checkpointed(nn.Module):
    """A layer within torch's own checkpoint."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.layer, x)


class Sequence(nn.Module):
    """The outputs of a recurrent layer, without its states."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Words(nn.Module):
    """An embedding with a row for padding, which is not 0 here."""

    def __init__(self, padding):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 6, padding_idx=padding), nn.Linear(18, 2)
        nn.init.normal_(self.table.weight)

    def forward(self, x, words):
        values = self.head(self.table(words).flatten(1)) * x
        return values, poptorch.identity_loss((values ** 2).mean(), "none")


def trained(function, *tensors):
    """Train once on the devices and once with PyTorch. Returns both results and both weights."""
    module = Applied(function, tensors[0].shape[1:])
    reference = copy.deepcopy(module)
    values, _ = poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.1))(*tensors)
    expected, loss = reference(*tensors)
    loss.backward()
    weight = reference.scale.detach() - 0.1 * reference.scale.grad
    return values, expected.detach(), module.scale.detach(), weight


LABELS = torch.tensor([2, 0, 5, 1])
LOSSES = {
    "l1": F.l1_loss,
    "mse": F.mse_loss,
    "mse, sum": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "mse, none": lambda x, y: F.mse_loss(x, y, reduction="none"),
    "MSELoss": lambda x, y: nn.MSELoss()(x, y),
    "smooth l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.5),
    "huber": lambda x, y: F.huber_loss(x, y, delta=0.7),
    "binary cross entropy": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "Poisson": lambda x, y: F.poisson_nll_loss(x, y.abs() * 3, full=True),
    "hinge": lambda x, y: F.hinge_embedding_loss(x, y.sign()),
    "ranking": lambda x, y: F.margin_ranking_loss(x, y, y.sign(), margin=0.2),
    "soft margin": lambda x, y: F.soft_margin_loss(x, y.sign()),
    "cosine": lambda x, y: F.cosine_embedding_loss(x, y, torch.tensor([1, -1, 1, -1])),
    "triplet": lambda x, y: F.triplet_margin_loss(x, y, y + 0.5, swap=True),
    "multi margin": lambda x, y: F.multi_margin_loss(x, LABELS, weight=torch.arange(1.0, 7)),
    "cross entropy of probabilities": lambda x, y: F.cross_entropy(x, y.softmax(1), weight=torch.arange(1.0, 7)),
    "smoothed labels": lambda x, y: F.cross_entropy(x, LABELS, label_smoothing=0.1),
    "smoothed labels, weights": lambda x, y: F.cross_entropy(x, LABELS, torch.arange(1.0, 7), ignore_index=5,
                                                             label_smoothing=0.2),
    "smoothed probabilities": lambda x, y: F.cross_entropy(x, y.softmax(1), label_smoothing=0.2, reduction="sum"),
}
FUNCTIONS = {
    "unflatten": nn.Unflatten(1, (2, 3)),
    "expm1": torch.expm1,
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.5),
    "atan2": lambda x: torch.atan2(x, x.flip(1)),
    "trunc": lambda x: (3 * x).trunc() * x,
    "frac": lambda x: (3 * x).frac(),
    "fmod": lambda x: torch.fmod(x, 0.4),
    "erfc": torch.erfc,
    "logit": lambda x: torch.logit(x.sigmoid(), 0.3),
    "nan_to_num": lambda x: torch.where(x > 0, x, torch.full_like(x, float("-inf"))).nan_to_num(2.0, 3.0, 4.0),
    "nan_to_num of nan": lambda x: torch.where(x > 0, x, torch.full_like(x, float("nan"))).nan_to_num(),
    "hstack": lambda x: torch.hstack([x, 2 * x]),
    "vstack": lambda x: torch.vstack([x, 2 * x])[:4],
    "column_stack": lambda x: torch.column_stack([x, x[:, 0]]),
    "tile": lambda x: x.tile(1, 2),
    "take_along_dim": lambda x: torch.take_along_dim(x, torch.tensor([[1, 0, 3]]), 1),
    "threshold": nn.Threshold(0.1, 0.5),
    "bilinear": lambda x: F.bilinear(x, x + 1, torch.arange(72.0).reshape(2, 6, 6) / 72, torch.ones(2)),
    "dot": lambda x: x * torch.dot(x[0], x[1]),
    "out": lambda x: x * torch.sin(x.detach(), out=torch.empty_like(x)),
}
IMAGES = {
    "padding same": nn.Conv2d(4, 3, (3, 4), dilation=2, padding="same"),
    "padding valid": nn.Conv2d(4, 3, 3, padding="valid"),
    "circular padding": nn.Conv2d(4, 3, 3, padding=1, padding_mode="circular"),
    "dropout that keeps all": nn.Dropout2d(0.0),
    "fold": lambda x: F.fold(F.unfold(x, 3, padding=1), (8, 8), 3, padding=1),
    "fold with strides": lambda x: F.fold(F.unfold(x, (3, 2), dilation=(2, 1), stride=2), (8, 8), (3, 2), (2, 1), stride=2),
    "running statistics of instances": nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
}
# Truth values and indices carry no gradient. The devices must not refuse to train beside them.
MASKS = {
    "comparison": lambda x: x * (x > 0).float(),
    "and": lambda x: x * ((x > 0) & (x < 1)),
    "any": lambda x: x * (x > 0).any(1, keepdim=True),
    "argmax": lambda x: x * x.argmax(1, keepdim=True),
    "one hot": lambda x: x * F.one_hot(x.argmax(1), 6),
    "whole part": lambda x: x * (x.detach() // 0.5),
    "shape of random numbers": lambda x: x + 0 * torch.rand_like(x),
    "shape of draws": lambda x: x * torch.bernoulli(torch.ones_like(x)),
}


class Weights(unittest.TestCase):
    def test_elements_of_losses_have_weights_as_in_newer_versions(self):
        """PyTorch 2.6: a weighted mean of squared or absolute errors is divided by the weights, that of Huber's loss is not."""
        x, y, weight = torch.tensor([1.0, 2.0, 5.0]), torch.tensor([0.0, 4.0, 4.5]), torch.tensor([1.0, 3.0, 4.0])
        for function, mean, total in ((F.mse_loss, 14 / 8, 14.0), (F.l1_loss, 9 / 8, 9.0), (F.huber_loss, 5.5 / 3, 5.5)):
            with self.subTest(function.__name__):
                self.assertAlmostEqual(RULES[function](x, y, weight=weight).item(), mean, places=6)
                self.assertAlmostEqual(RULES[function](x, y, reduction="sum", weight=weight).item(), total, places=6)
        self.assertAlmostEqual(RULES[F.mse_loss](x, y, size_average=False, weight=weight).item(), 14, places=6)


class Functions(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def check(self, functions, *tensors):
        for name, function in functions.items():
            with self.subTest(name):
                values, expected, weight, trained_weight = trained(function, *tensors)
                torch.testing.assert_close(values.reshape(expected.shape), expected, rtol=1e-4, atol=1e-5)
                torch.testing.assert_close(weight, trained_weight, rtol=1e-4, atol=1e-5)

    def test_losses(self):
        self.check(LOSSES, torch.randn(ROWS, 6), torch.randn(ROWS, 6))

    def test_functions(self):
        self.check(FUNCTIONS, torch.randn(ROWS, 6))

    def test_layers(self):
        self.check(IMAGES, torch.randn(ROWS, 4, 8, 8))

    def test_masks_have_no_gradient(self):
        self.check(MASKS, torch.randn(ROWS, 6))

    def test_dropout_of_whole_channels(self):
        for layer, shape in ((nn.Dropout1d(0.25), (64, 32, 3)), (nn.Dropout2d(0.25), (64, 32, 3, 2)),
                             (nn.Dropout3d(0.25), (64, 32, 2, 2, 2))):
            values = trained(layer, torch.ones(shape))[0].flatten(2)
            self.assertTrue(torch.equal(values, values[..., :1].expand_as(values)), layer)
            kept = (values[..., 0] != 0).float()
            torch.testing.assert_close(values[..., 0], kept / 0.75)
            self.assertAlmostEqual(kept.mean().item(), 0.75, delta=0.05)  # five standard deviations

    def test_alpha_dropout_keeps_mean_and_deviation(self):
        x = torch.randn(64, 512)
        for layer in (nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)):
            values = trained(layer, x if isinstance(layer, nn.AlphaDropout) else x.unsqueeze(-1))[0]
            self.assertAlmostEqual(values.mean().item(), 0.0, delta=0.05)
            self.assertAlmostEqual(values.std().item(), 1.0, delta=0.05)

    def test_random_slopes_and_choices(self):
        x = -torch.ones(64, 64)
        slopes = -trained(nn.RReLU(0.1, 0.3), x)[0]
        self.assertTrue(0.1 <= slopes.min() < 0.12 and 0.28 < slopes.max() <= 0.3)
        chosen = trained(lambda x: F.gumbel_softmax(x, hard=True), torch.zeros(4096, 4))[0]
        torch.testing.assert_close(chosen.sum(1), torch.ones(4096))
        torch.testing.assert_close(chosen.mean(0), torch.full((4,), 0.25), atol=0.04, rtol=0.0)

    def test_recurrent_layers_with_dropout(self):
        x = torch.randn(2, 5, 6)
        for kind in (nn.RNN, nn.GRU, nn.LSTM):
            for both in (False, True):
                with self.subTest(f"{kind.__name__} {both}"):
                    layer = kind(6, 4, num_layers=3, dropout=1e-30, bidirectional=both, batch_first=True)
                    states = trained(Sequence(layer), x)
                    torch.testing.assert_close(states[0], states[1], rtol=1e-4, atol=1e-5)
                    torch.testing.assert_close(states[2], states[3], rtol=1e-4, atol=1e-5)
        wide = nn.GRU(6, 64, num_layers=2, dropout=0.5, batch_first=True)
        values, expected = trained(Sequence(wide), x)[:2]
        self.assertFalse(torch.allclose(values, expected))

    def test_sums_at_equal_places(self):
        """The exporter of older opsets kept one of the values that go to one place."""
        places = torch.tensor([[0, 1, 1, 0, 2, 1]]).expand(ROWS, 6)
        self.check({
            "scatter_add": lambda x: torch.zeros(ROWS, 3).scatter_add(1, places, x),
            "index_add": lambda x: torch.zeros(ROWS, 3).index_add(1, places[0], x, alpha=2),
            "grid_sample": lambda x: F.grid_sample(x.view(ROWS, 1, 2, 3), torch.full((ROWS, 2, 2, 2), 0.3), align_corners=True),
        }, torch.randn(ROWS, 6))

    def test_detached_values_pass_no_gradient(self):
        def teacher(x):
            with torch.no_grad():
                goal = x * 3
            return x * goal

        @torch.no_grad()
        def goal(x):
            return (x * x).exp()

        self.check({
            "detach": lambda x: x * x.detach(),
            "detach of a part": lambda x: (x - x.mean(1, keepdim=True).detach()) * x,
            "straight through": lambda x: x + (x.round() - x).detach(),
            "no_grad": teacher,
            "decorated": lambda x: x * goal(x),
        }, torch.randn(ROWS, 6))

    def test_functions_of_autograd_are_said_to_lose_their_backward(self):
        with self.assertWarnsRegex(UserWarning, "The backward function of Doubled is not used"):
            self.check({"own function": lambda x: Doubled.apply(x)}, torch.randn(ROWS, 6))  # noqa: PLW0108

    def test_weights_without_axes_and_buffers(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.temperature = nn.Parameter(torch.tensor(1.5))
                self.register_buffer("shift", torch.arange(6.0))

            def forward(self, x):
                return (x + self.shift) * self.temperature.exp()

        layer, other = Scaled(), Scaled()
        x = torch.randn(ROWS, 6)
        results = trained(layer, x)
        torch.testing.assert_close(results[2], results[3], rtol=1e-4, atol=1e-4)
        (other(x) ** 2).mean().backward()
        expected = other.temperature.detach() - 0.1 * other.temperature.grad
        torch.testing.assert_close(layer.temperature.detach(), expected, rtol=1e-4, atol=1e-4)
        self.assertTrue(torch.equal(layer.shift, torch.arange(6.0)))

    def test_checkpoints_of_torch_are_run_as_they_are(self):
        hidden = nn.Linear(6, 6)
        self.check({"checkpoint": Checkpointed(hidden)}, torch.randn(ROWS, 6))

    def test_outputs_of_loops_keep_their_places(self):
        for mode in ("sum", "mean", "max"):
            module, bags = nn.EmbeddingBag(20, 5, mode=mode), torch.arange(12).reshape(4, 3)
            torch.testing.assert_close(poptorch.inferenceModel(module)(bags), module(bags).detach())

    def test_rows_for_padding_get_no_gradient(self):
        words = torch.tensor([[0, 3, 4], [1, 0, 0], [4, 4, 2], [0, 0, 0]])
        for padding in (0, -1):
            module = Words(padding)
            reference = copy.deepcopy(module)
            x = torch.randn(4, 2)
            poptorch.trainingModel(module, None, poptorch.optim.SGD(module.parameters(), lr=0.1))(x, words)
            reference(x, words)[1].backward()
            weight = reference.table.weight
            torch.testing.assert_close(module.table.weight, weight - 0.1 * weight.grad, rtol=1e-4, atol=1e-5)
            self.assertTrue(torch.equal(module.table.weight[padding], weight[padding]))
            self.assertFalse(torch.equal(module.table.weight[2], weight[2]))

    def test_what_is_not_supported_is_named(self):
        def slope(x):
            return torch.autograd.grad((x ** 2).sum(), x, create_graph=True)[0]

        with self.assertRaisesRegex(poptorch.Error, r"gradient itself at \S+_test.py:\d+ .*differentiate the whole model once"):
            trained(slope, torch.zeros(4, 3))
        for layer in (nn.Embedding(5, 3, max_norm=1.0), nn.EmbeddingBag(5, 3, max_norm=1.0)):
            before = layer.weight.detach().clone()
            with self.assertRaisesRegex(poptorch.Error, r"The embedding at \S+:\d+ .* has a max_norm, which is not supported"):
                poptorch.inferenceModel(layer)(torch.zeros(2, 4, dtype=torch.int64))
            self.assertTrue(torch.equal(layer.weight, before))
        with self.assertRaisesRegex(poptorch.Error, r"Sequence cannot be traced at \S+_test.py:\d+ .*LSTMs with projections"):
            poptorch.inferenceModel(Sequence(nn.LSTM(3, 4, proj_size=2)))(torch.zeros(2, 4, 3))
        with self.assertRaisesRegex(poptorch.Error,
                                    r"Applied cannot be traced at \S*functions_test.py:\d+ \(.*\): the operator "
                                    r"aten::linalg_svd is not supported\.$"):
            trained(lambda x: torch.linalg.svd(x)[1], torch.zeros(4, 3, 3))


if __name__ == "__main__":
    unittest.main()
