"""Networks of the kinds that users have: training steps and inference against PyTorch."""

import math
import unittest
import warnings

import torch
import torch.nn.functional as F
from pipescope import poptorch
from torch import nn


def randn(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randint(high, shape, seed):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3)


def tensors_of(value):
    return [value] if isinstance(value, torch.Tensor) else [each for part in value for each in tensors_of(part)]


class Encoder(nn.Module):
    """A classifier of padded sequences."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16))
        self.head = nn.Linear(16, 5)

    def forward(self, x, labels):
        padding = x == 0
        hidden = self.encoder(self.embedding(x), src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1).float()
        scores = self.head((hidden * kept).sum(1) / kept.sum(1))
        return scores, F.cross_entropy(scores, labels)

    @staticmethod
    def batch(number):
        x = randint(49, (4, 12), number) + 1
        x[:, 9:] = 0
        return x, randint(5, (4,), number)


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.joint, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        batch, length, width = x.shape
        parts = [each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.joint(x).split(width, 2)]
        scores = parts[0] @ parts[1].transpose(-2, -1) * 0.25
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf")).softmax(-1)
        return self.out((scores @ parts[2]).transpose(1, 2).reshape(batch, length, width))


class Decoder(nn.Module):
    """A language model whose embedding is also its head."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(60, 16), nn.Embedding(8, 16)
        self.first, self.attention, self.second = nn.LayerNorm(16), Attention(16, 4, 8), nn.LayerNorm(16)
        self.wide = nn.Sequential(nn.Linear(16, 64), nn.GELU(approximate="tanh"), nn.Linear(64, 16))
        self.head = nn.Linear(16, 60, bias=False)
        self.words.weight = self.head.weight

    def forward(self, x, targets):
        hidden = self.words(x) + self.places(torch.arange(0, x.shape[1]).unsqueeze(0))
        hidden = hidden + self.attention(self.first(hidden))
        scores = self.head(hidden + self.wide(self.second(hidden)))
        return scores, F.cross_entropy(scores.view(-1, 60), targets.view(-1), ignore_index=-1)

    @staticmethod
    def batch(number):
        targets = randint(60, (4, 8), number + 100)
        targets[:, 0] = -1
        return randint(60, (4, 8), number), targets


def double(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Segmentation, with a skip connection, a resize, and the loss of Dice beside the cross entropy."""

    def __init__(self):
        super().__init__()
        self.first, self.down, self.pool = double(3, 8), double(8, 16), nn.MaxPool2d(2)
        self.up, self.last, self.head = nn.ConvTranspose2d(16, 8, 2, stride=2), double(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x, labels):
        before = self.first(x)
        up = F.interpolate(self.up(self.down(self.pool(before))), size=before.shape[2:], mode="bilinear",
                           align_corners=True)
        scores = self.head(self.last(torch.cat([before, up], 1)))
        share, real = scores.softmax(1)[:, 1], labels.float()
        dice = 1 - 2 * (share * real).sum((-1, -2)) / (share.sum((-1, -2)) + real.sum((-1, -2)) + 1e-6)
        return scores, F.cross_entropy(scores, labels) + dice.mean()

    @staticmethod
    def batch(number):
        return randn(2, 3, 10, 12, seed=number), randint(2, (2, 10, 12), number)


class Tagger(nn.Module):
    """A label for each word of sequences of several lengths."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(40, 8), nn.Linear(12, 6)
        self.gru = nn.GRU(8, 6, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x, lengths, labels):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=9)
        scores = self.head(hidden)
        return scores, F.cross_entropy(scores.transpose(1, 2), labels)

    @staticmethod
    def batch(number):
        labels = randint(6, (4, 9), number)
        labels[:, 7:] = -100
        return randint(40, (4, 9), number), torch.tensor([9, 7, 5, 3]), labels


class Mobile(nn.Module):
    """Depthwise convolutions, SiLU, squeeze and excitation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8), nn.SiLU(inplace=True))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid())
        self.head = nn.Linear(8, 10)

    def forward(self, x, labels):
        x = self.stem(x)
        y = self.depth(x)
        scores = self.head((x + y * self.squeeze(y)).mean([2, 3]))
        return scores, F.cross_entropy(scores, labels, label_smoothing=0.1)

    @staticmethod
    def batch(number):
        return randn(4, 3, 16, 16, seed=number), randint(10, (4,), number)


class ViT(nn.Module):
    """Patches, a class token, and PyTorch's own attention."""

    def __init__(self):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 16, 8, 8), nn.Parameter(torch.zeros(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.norm, self.head = nn.LayerNorm(16, eps=1e-6), nn.Linear(16, 10)

    def forward(self, x, labels):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        scores = self.head(self.norm(x + self.attention(x, x, x, need_weights=False)[0])[:, 0])
        return scores, F.cross_entropy(scores, labels)

    @staticmethod
    def batch(number):
        return randn(4, 3, 16, 16, seed=number), randint(10, (4,), number)


class Discriminator(nn.Module):
    """One half of a GAN, with spectral norm, whose vectors are buffers. The other half is not trained."""

    def __init__(self):
        super().__init__()
        self.made = nn.Sequential(nn.ConvTranspose2d(8, 8, 4), nn.BatchNorm2d(8), nn.ReLU(True),
                                  nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())
        self.judge = nn.Sequential(nn.utils.spectral_norm(nn.Conv2d(1, 8, 4, 2, 1)), nn.LeakyReLU(0.2, True),
                                   nn.Conv2d(8, 1, 4), nn.Flatten())

    def forward(self, noise, real):
        with torch.no_grad():
            made = self.made(noise)
        good, bad = self.judge(real), self.judge(made)
        return F.binary_cross_entropy_with_logits(good, torch.ones_like(good)) + F.softplus(bad).mean()

    @staticmethod
    def batch(number):
        return randn(4, 8, 1, 1, seed=number), randn(4, 1, 8, 8, seed=number + 9)


class Generator(Discriminator):
    """The other half: the judge is not trained."""

    def __init__(self):
        super().__init__()
        for parameter in self.judge.parameters():
            parameter.requires_grad_(False)

    def forward(self, noise, real):
        return F.softplus(-self.judge(self.made(noise))).mean()


class Heads(nn.Module):
    """Two heads with a loss each, and parts of the sum among the results."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
                                   nn.Flatten())
        self.classes, self.boxes = nn.Linear(32, 7), nn.Linear(32, 4)

    def forward(self, x, labels, boxes):
        hidden = self.trunk(x)
        first = F.cross_entropy(self.classes(hidden), labels)
        second = F.smooth_l1_loss(self.boxes(hidden), boxes)
        return first.detach(), second.detach(), first + 0.5 * second

    @staticmethod
    def batch(number):
        return randn(4, 3, 8, 8, seed=number), randint(7, (4,), number), randn(4, 4, seed=number)


class Buffers(nn.Module):
    """A constant buffer, a running mean that is assigned, one that is changed in place, and a counter."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 6), nn.BatchNorm1d(6)
        self.register_buffer("offset", torch.arange(6.0))
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("power", torch.ones(()))
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    def forward(self, x, targets):
        hidden = self.norm(self.layer(x - self.offset))
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * hidden.mean(0).detach()
            self.power.mul_(0.5).add_(0.5 * hidden.pow(2).mean().detach())
            self.updates += 1
        scores = hidden + self.mean / self.power.sqrt() / (1 - 0.9 ** self.updates.clamp(min=1))
        return scores, F.mse_loss(scores, targets)

    @staticmethod
    def batch(number):
        return randn(4, 6, seed=number), randn(4, 6, seed=number + 5)


class Quantised(nn.Module):
    """A straight-through estimator: the code book is found by argmin."""

    def __init__(self):
        super().__init__()
        self.encoder, self.codes, self.decoder = nn.Linear(6, 8), nn.Embedding(10, 8), nn.Linear(8, 6)

    def forward(self, x):
        hidden = self.encoder(x)
        codes = self.codes.weight
        far = hidden.pow(2).sum(1, keepdim=True) - 2 * hidden @ codes.t() + codes.pow(2).sum(1)
        found = self.codes(far.argmin(1))
        loss = F.mse_loss(found, hidden.detach()) + 0.25 * F.mse_loss(found.detach(), hidden)
        return loss + F.mse_loss(self.decoder(hidden + (found - hidden).detach()), x)

    @staticmethod
    def batch(number):
        return (randn(8, 6, seed=number),)


class Translator(nn.Module):
    """torch.nn.Transformer with causal and padding masks."""

    def __init__(self):
        super().__init__()
        self.source, self.target, self.head = nn.Embedding(30, 16), nn.Embedding(30, 16), nn.Linear(16, 30)
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)

    def forward(self, source, target, labels):
        mask, padding = nn.Transformer.generate_square_subsequent_mask(target.shape[1]), source == 0
        hidden = self.transformer(self.source(source), self.target(target), tgt_mask=mask, src_key_padding_mask=padding,
                                  memory_key_padding_mask=padding)
        scores = self.head(hidden)
        return scores, F.cross_entropy(scores.flatten(0, 1), labels.flatten())

    @staticmethod
    def batch(number):
        source = randint(29, (3, 7), number) + 1
        source[0, 4:] = 0
        return source, randint(30, (3, 6), number), randint(30, (3, 6), number + 1)


#: Each with its optimizer. Weights whose exact gradient is 0 (the bias of keys) take steps of rounding errors with Adam.
NETWORKS = [(Encoder, sgd), (Decoder, adamw), (UNet, sgd), (Tagger, sgd), (Mobile, sgd), (ViT, sgd), (Discriminator, sgd),
            (Generator, sgd), (Heads, sgd), (Buffers, sgd), (Quantised, sgd), (Translator, sgd)]


def make(kind, optimizer):
    torch.manual_seed(1)
    theirs = kind()
    torch.manual_seed(1)
    ours = kind()
    return theirs, optimizer(theirs.parameters()), ours, optimizer(ours.parameters())


def loss_of(results):
    return results[-1] if isinstance(results, tuple) else results


class Networks(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")  # PyTorch's tracer warns of what it does with shapes

    def compare(self, theirs, ours):
        for name, expected in theirs.state_dict().items():
            found = ours.state_dict()[name]
            if expected.is_floating_point():
                # Adam's first steps are as long for a rounding error as for a gradient.
                limit = 2e-3 * (1 + expected.abs().max().item()) if name.endswith("joint.bias") else 1e-4
                self.assertLess((expected - found).abs().max().item(), limit, name)
            else:
                self.assertTrue(torch.equal(expected, found), name)

    def test_steps_and_results_are_those_of_pytorch(self):
        for kind, optimizer in NETWORKS:
            with self.subTest(kind.__name__):
                theirs, their_optimizer, ours, our_optimizer = make(kind, optimizer)
                model = poptorch.trainingModel(ours, None, our_optimizer)
                for number in range(3):
                    batch = kind.batch(number)
                    their_optimizer.zero_grad()
                    loss = loss_of(theirs(*batch))
                    loss.backward()
                    their_optimizer.step()
                    self.assertAlmostEqual(loss_of(model(*batch)).item(), loss.item(), delta=1e-4 * (1 + loss.item()))
                self.compare(theirs, ours)
                theirs.eval()
                ours.eval()
                batch = kind.batch(7)
                found = tensors_of(poptorch.inferenceModel(ours)(*batch))
                for expected, result in zip(tensors_of(theirs(*batch)), found):
                    self.assertTrue(torch.allclose(result.reshape(expected.shape), expected, atol=1e-3), kind.__name__)

    def test_buffers_move_from_micro_batch_to_micro_batch(self):
        """Two iterations of three accumulated micro-batches of four rows are those of PyTorch, one after another."""
        theirs, their_optimizer, ours, our_optimizer = make(Buffers, sgd)
        options = poptorch.Options().deviceIterations(2).outputMode(poptorch.OutputMode.All)
        options.Training.gradientAccumulation(3)
        model = poptorch.trainingModel(ours, options, our_optimizer)
        batches = [Buffers.batch(number) for number in range(6)]
        losses = model(*(torch.cat(each) for each in zip(*batches)))[1]
        expected = []
        for number, batch in enumerate(batches):
            loss = theirs(*batch)[1]
            (loss / 3).backward()
            expected.append(loss.item())
            if number % 3 == 2:
                their_optimizer.step()
                their_optimizer.zero_grad()
        for found, each in zip(losses.tolist(), expected):
            self.assertAlmostEqual(found, each, places=4)
        self.compare(theirs, ours)
        self.assertEqual((ours.updates.item(), ours.norm.num_batches_tracked.item()), (6, 6))

    def test_buffers_in_half_precision(self):
        torch.manual_seed(1)
        ours = Buffers()
        ours.half()
        model = poptorch.trainingModel(ours, None, sgd(ours.parameters()))
        loss = model(*(each.half() for each in Buffers.batch(0)))[1]
        self.assertTrue(math.isfinite(loss.item()))
        self.assertEqual({p.dtype for p in ours.parameters()}, {torch.float16})
        self.assertEqual((ours.mean.dtype, ours.updates.dtype), (torch.float16, torch.long))
        self.assertGreater(ours.mean.abs().max().item(), 0)

    def test_what_a_buffer_cannot_do_is_refused(self):
        class Grows(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 1)
                self.register_buffer("seen", torch.zeros(2))

            def forward(self, x):
                self.seen = torch.cat([self.seen, self.seen])
                return self.layer(x).mean()

        with self.assertRaisesRegex(poptorch.Error, r"buffer seen, which is torch.float32 \[2\], the value .*\[4\]"):
            poptorch.trainingModel(Grows()).compile(torch.ones(2, 2))
        norm = nn.Sequential(nn.BatchNorm1d(2, momentum=None))
        with self.assertRaisesRegex(poptorch.Error, "BatchNorm1d 0 has momentum=None"):
            poptorch.trainingModel(norm, None, sgd(norm.parameters())).compile(torch.ones(2, 2))

    def test_inference_changes_buffers(self):
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(()))

            def forward(self, x):
                self.calls += 1
                return x + self.calls

        module = Counts()
        model = poptorch.inferenceModel(module)
        model.compile(torch.ones(1, 1))
        self.assertEqual(module.calls.item(), 0)
        self.assertEqual([model(torch.ones(1, 1)).item() for _ in range(2)], [2, 3])
        self.assertEqual(module.calls.item(), 2)


if __name__ == "__main__":
    unittest.main()
