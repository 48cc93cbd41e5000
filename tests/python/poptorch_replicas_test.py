"""Tests of values that differ from replica to replica, and of the search of labels. Expected values are computed by hand or by PyTorch."""

import itertools
import math
import unittest

import pipescope.poptorch as poptorch
import torch

GROUPS = poptorch.CommGroupType


class Product(torch.nn.Module):
    """Returns x · weight and the mean of its squares."""

    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x):
        made = x @ self.weight
        return made, poptorch.identity_loss(made**2, reduction="mean")


class Sum(torch.nn.Module):
    """Adds its input to a buffer, and returns the buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 2))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1.0


def options(replicas):
    return poptorch.Options().useIpuModel(True).replicationFactor(replicas).outputMode(poptorch.OutputMode.All)


class GroupedWeights(unittest.TestCase):
    def trained(self, inputs, weights, optimizer=None, made=None, steps=3):
        """Divide a product over 2 parts of the rows and 3 of the columns, each of which 2 replicas share. Returns its weight."""
        generator = torch.Generator().manual_seed(5)
        x, weight = torch.randn(2, 4, 5, generator=generator), torch.randn(5, 6, generator=generator)
        module = Product(weight.reshape(5, 3, 2).permute(1, 0, 2).contiguous())
        optimizer = optimizer or (lambda parameters: poptorch.optim.SGD(parameters, lr=0.1, momentum=0.5))
        made = (made or options(6)).inputReplicaGrouping(3, inputs)
        rule = optimizer(module.parameters())
        model = poptorch.trainingModel(module, made, rule)
        model.weight.replicaGrouping(weights, 2, poptorch.VariableRetrievalMode.OnePerGroup)
        losses = [model(x)[1].mean() for _ in range(steps)]
        alone = torch.nn.Parameter(weight)
        trainer, expected = optimizer([alone]), []
        for _ in range(steps):
            trainer.zero_grad()
            loss = ((x.reshape(8, 5) @ alone) ** 2).mean()
            loss.backward()
            trainer.step()
            expected.append(loss.detach())
        torch.testing.assert_close(torch.stack(losses), torch.stack(expected))
        torch.testing.assert_close(module.weight.detach().permute(1, 0, 2).reshape(5, 6), alone.detach())
        for name, tensor in rule.state_dict()["ipu_state"].items():  # each of the 3 groups has its own
            self.assertEqual(len(tensor), 3, name)

    def test_a_product_that_is_divided_over_replicas(self):
        self.trained(GROUPS.Consecutive, GROUPS.Orthogonal)
        self.trained(GROUPS.Orthogonal, GROUPS.Consecutive)
        self.trained(GROUPS.Consecutive, GROUPS.Orthogonal, lambda parameters: poptorch.optim.AdamW(parameters, lr=0.1))

    def test_values_of_each_replica(self):
        torch.manual_seed(1)
        weights, x = torch.randn(3, 4), torch.randn(6, 4)
        module = Product(weights.clone())
        model = poptorch.inferenceModel(module, options(3).deviceIterations(2))
        model.weight.replicaGrouping(GROUPS.NoGrouping, 0, poptorch.VariableRetrievalMode.AllReplicas)
        expected = [row @ weights[number % 3] for number, row in enumerate(x)]
        torch.testing.assert_close(model(x)[0], torch.stack(expected))

    def test_grouped_and_other_weights_keep_their_places(self):
        class Two(torch.nn.Module):
            """Weights of one shape, of which the first one or both have groups."""

            def __init__(self):
                super().__init__()
                self.first = torch.nn.Parameter(torch.tensor([[2.0, 3], [5, 7]]))
                self.second = torch.nn.Parameter(torch.tensor([[11.0, 13], [17, 19]]))

            def forward(self, x):
                return x * self.first, x * self.second

        for both in (False, True):
            model = poptorch.inferenceModel(Two(), options(2))
            model.first.replicaGrouping(GROUPS.NoGrouping, 0, poptorch.VariableRetrievalMode.OnePerGroup)
            if both:
                model.second.replicaGrouping(GROUPS.NoGrouping, 0, poptorch.VariableRetrievalMode.OnePerGroup)
            first, second = model(torch.ones(4, 2))
            self.assertEqual(first.tolist(), [[2, 3], [2, 3], [5, 7], [5, 7]])
            whole = [[11, 13], [17, 19]] * 2
            self.assertEqual(second.tolist(), [[11, 13], [11, 13], [17, 19], [17, 19]] if both else whole)

    def test_one_group_is_an_ordinary_weight(self):
        module = Product(torch.ones(4))
        model = poptorch.inferenceModel(module, options(2))
        model.weight.replicaGrouping(GROUPS.All, 0, poptorch.VariableRetrievalMode.OnePerGroup)
        self.assertEqual(model(torch.ones(2, 4))[0].tolist(), [4.0, 4.0])

    def test_orthogonal_inputs_without_groups_of_weights(self):
        model = poptorch.inferenceModel(torch.nn.Identity(), options(4).inputReplicaGrouping(2, GROUPS.Orthogonal).deviceIterations(2))
        self.assertEqual(model(torch.arange(8).reshape(4, 2).float()).tolist(),
                         [[0.0, 1], [2, 3], [0, 1], [2, 3], [4, 5], [6, 7], [4, 5], [6, 7]])

    def test_refusals(self):
        def grouped(weight, *arguments, made=None, optimizer=None, training=True):
            module = Product(weight)
            optimizer = optimizer(module.parameters()) if optimizer else None
            made = made or options(2)
            model = poptorch.trainingModel(module, made, optimizer) if training else poptorch.inferenceModel(module, made)
            model.weight.replicaGrouping(*arguments)
            return model(torch.ones(2, 4))

        one = poptorch.VariableRetrievalMode.OnePerGroup
        for sentence, call in (
            ("first axis must be that of the 2 groups", lambda: grouped(torch.ones(3, 4), GROUPS.Consecutive, 1, one)),
            ("groups of 3 replicas do not divide the 2", lambda: grouped(torch.ones(2, 4), GROUPS.Orthogonal, 3, one)),
            ("AllReplicas is not implemented .* use OnePerGroup",
             lambda: grouped(torch.ones(2, 4), GROUPS.Consecutive, 1, poptorch.VariableRetrievalMode.AllReplicas)),
            ("max_grad_norm would take the norm of all groups", lambda: grouped(
                torch.ones(2, 4), GROUPS.NoGrouping, 0, one, optimizer=lambda p: poptorch.optim.SGD(p, 0.1, max_grad_norm=1.0))),
            ("LAMB would take the norms .* use AdamW", lambda: grouped(
                torch.ones(2, 4), GROUPS.NoGrouping, 0, one, optimizer=lambda p: poptorch.optim.LAMB(p, 0.1))),
            ("call it on a parameter of a poptorch model itself", lambda: Product(torch.ones(2)).weight.replicaGrouping(GROUPS.All, 0)),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(poptorch.Error, sentence):
                call()
        model = poptorch.inferenceModel(Product(torch.ones(4)), options(1))
        model(torch.ones(1, 4))
        with self.assertRaisesRegex(poptorch.Error, "compiled already: call it before"):
            model.weight.replicaGrouping(GROUPS.All, 0, one)


class OwnBuffers(unittest.TestCase):
    def test_each_replica_keeps_its_own(self):
        module = Sum()
        model = poptorch.inferenceModel(module, options(3).broadcastBuffers(False))
        x = torch.tensor([[1.0], [10.0], [100.0]])
        for count in (1, 2, 3):
            self.assertEqual(model(x).tolist(), [[count * 1.0] * 2, [count * 10.0] * 2, [count * 100.0] * 2])
        self.assertEqual(module.total.tolist(), [[3.0, 3.0]])  # that of the first replica
        module.total.fill_(5.0)  # a value that the program gives is that of all replicas
        self.assertEqual(model(x).tolist(), [[6.0, 6.0], [15.0, 15.0], [105.0, 105.0]])

    def test_statistics_of_norms(self):
        """No replica reads them in training, and the host has those of the first one."""
        torch.manual_seed(2)
        module, x = torch.nn.BatchNorm1d(3), torch.randn(8, 3)

        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = module

            def forward(self, x):
                return (self.norm(x) ** 2).mean()

        poptorch.trainingModel(Loss(), options(2).broadcastBuffers(False))(x)
        torch.testing.assert_close(module.running_mean, 0.1 * x[:4].mean(0))

    def test_a_training_that_changes_a_buffer_is_refused(self):
        class Loss(Sum):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(2))

            def forward(self, x):
                return (super().forward(x) * self.weight).sum()

        with self.assertRaisesRegex(NotImplementedError, r"changes a buffer \(total\).* train with one replica"):
            poptorch.trainingModel(Loss(), options(2).broadcastBuffers(False))(torch.ones(2, 1))


class Decoder(torch.nn.Module):
    def __init__(self, *settings):
        super().__init__()
        self._settings = settings

    def forward(self, scores, lengths):
        return poptorch.ctc_beam_search_decoder(scores, lengths, *self._settings)


def all_labels(scores, blank):
    """Return (labels, probability), the likeliest first, of all ways through the scores [time, classes]."""
    found = {}
    for way in itertools.product(range(scores.shape[1]), repeat=scores.shape[0]):
        labels = tuple(each for at, each in enumerate(way) if each != blank and (at == 0 or way[at - 1] != each))
        found[labels] = found.get(labels, 0.0) + math.exp(sum(scores[at, each].item() for at, each in enumerate(way)))
    return sorted(found.items(), key=lambda each: -each[1])


class Labels(unittest.TestCase):
    def test_likeliest_labels_of_all_ways(self):
        torch.manual_seed(0)
        for blank in (0, 2):
            scores, lengths = torch.randn(4, 3, 3).log_softmax(2), torch.tensor([4, 2, 3], dtype=torch.int32)
            costs, counts, labels = poptorch.inferenceModel(Decoder(blank, 20, 2))(scores, lengths)
            self.assertEqual((list(costs.shape), list(counts.shape), list(labels.shape)), ([3, 2], [3, 2], [3, 2, 4]))
            for sample in range(3):
                expected = all_labels(scores[: lengths[sample], sample], blank)
                for rank in range(2):
                    found = labels[sample, rank].tolist()
                    count = counts[sample, rank].item()
                    self.assertEqual(tuple(found[:count]), expected[rank][0])
                    self.assertEqual(found[count:], [blank] * (4 - count))
                    self.assertAlmostEqual(costs[sample, rank].item(), -math.log(expected[rank][1]), places=4)

    def test_refusals(self):
        scores, lengths = torch.zeros(2, 1, 3), torch.tensor([2])
        for sentence, arguments in (
            ("probs must be a torch.tensor", ([1.0], lengths)),
            ("lengths has 2 axes", (scores, lengths.unsqueeze(0))),
            ("blank is 3, but the classes are 0 to 2", (scores, lengths, 3)),
            ("top_paths is 2, but must be from 1 to the beam_width of 1", (scores, lengths, 0, 1, 2)),
        ):
            with self.assertRaisesRegex(poptorch.Error, sentence):
                poptorch.ctc_beam_search_decoder(*arguments)


if __name__ == "__main__":
    unittest.main()
