"""The interface of compiled models: parameter groups, the loss output, and instances."""

import os
import unittest

import numpy
from pipescope import interface
from small_model import LAYERS

MODEL = LAYERS + """
[training]
micro_batch_size = 2
optimizer = "sgd"
learning_rate = 0.5
[execution]
mode = "training"
"""


def executable(more):
    program = interface.compile(MODEL + more, "small")
    device = interface.Device(program)
    device.attach()
    return interface.Executable(program, 0), device


def group(names, **settings):
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    return f"[[training.groups]]\nparameters = {names}\n{lines}".replace("'", '"')


class Groups(unittest.TestCase):
    def steps(self, more):
        """Return what one update takes from the weights and the bias."""
        made, device = executable(more)
        before = {name: made.weight(name).copy() for name, _, _ in made.weights}
        rows = {"samples": numpy.eye(2, dtype=numpy.float32), "labels": numpy.array([0, 1], numpy.int32)}
        names = [name for name, _, _ in made.info.inputs]
        made.call(device, "call", dict(zip(names, (rows["samples"], rows["labels"]))))
        return [before[name] - made.weight(name) for name in ("scores/weight", "scores/bias")], made

    def test_a_group_has_settings_of_its_own(self):
        (weight, bias), _ = self.steps("")
        (own, same), made = self.steps(group(["scores/weight"], learning_rate=0.25))
        self.assertTrue(numpy.allclose(own, weight / 2, atol=1e-7))
        self.assertTrue(numpy.array_equal(same, bias))
        with self.assertRaisesRegex(ValueError, "has 1 parameter groups, so there is none with the number 1"):
            made.set_optimizer({"learning_rate": 0.1}, 1)

    def test_wrong_groups_are_refused(self):
        for sentence, more in (
            ("names other, but the model has no such parameter", group(["other"])),
            ("name scores/bias twice", group(["scores/bias"]) + group(["scores/bias"])),
            (r"\[\[training.groups\]\]: optimizer sgd has no setting beta1", group(["scores/bias"], beta1=0.5)),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(ValueError, sentence):
                executable(more)


class Returned(unittest.TestCase):
    """Calls may return more than the outputs of the model."""

    def call(self, more, iterations, weights=()):
        model = MODEL.replace("[training]", f'[training]\nreturned_gradients = ["scores/bias"]\ndevice_iterations = {iterations}')
        program = interface.compile(model + more, "small")
        device = interface.Device(program)
        device.attach()
        made = interface.Executable(program, 0)
        before = made.weight("scores/bias").copy()
        names = [name for name, _, _ in made.info.inputs]
        samples = numpy.random.default_rng(1).normal(size=(2 * iterations, 2)).astype(numpy.float32)
        labels = numpy.arange(2 * iterations, dtype=numpy.int32) % 2
        return before, made.call(device, "call", dict(zip(names, (samples, labels))), list(weights))

    def test_gradients_and_weights_of_each_update(self):
        own = '[[model.returned]]\noutput = "gradient of scores/bias"\nmode = "all"\n'
        before, answer = self.call(own, 3, ["scores/bias"])
        after = answer["weights"]["scores/bias"]
        self.assertEqual(after.shape, (3, 2))
        steps = numpy.concatenate([[before], after[:-1]]) - after
        gradients = answer["outputs"]["gradient of scores/bias"].reshape(3, 2)
        self.assertTrue(numpy.allclose(steps, 0.5 * gradients, atol=1e-6))  # the learning rate is 0.5
        self.assertTrue(numpy.abs(gradients).min() > 0)
        _, last = self.call("", 3)
        self.assertTrue(numpy.array_equal(last["outputs"]["gradient of scores/bias"], gradients[-1]))

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"\[\[model.returned\]\] names other, but training has no output of that name"):
            self.call('[[model.returned]]\noutput = "other"\nmode = "sum"\n', 1)
        with self.assertRaisesRegex(ValueError, "returned_gradients names other, but no trained weight is called so"):
            interface.compile(MODEL.replace("[training]", '[training]\nreturned_gradients = ["other"]'), "small")
        with self.assertRaisesRegex(ValueError, 'no weight "other"'):
            self.call("", 1, ["other"])


class Instances(unittest.TestCase):
    """Some requests are refused before MPI is loaded."""

    def compile(self, **environment):
        os.environ.update(environment)
        try:
            return interface.compile(MODEL, "small")
        finally:
            for name in environment:
                del os.environ[name]

    def test_what_the_launcher_says_must_make_sense(self):
        numbers = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        with self.assertRaisesRegex(ValueError, "3 replicas do not divide by 2 instances"):
            self.compile(POPDIST_NUM_TOTAL_REPLICAS="3", **numbers)
        with self.assertRaisesRegex(ValueError, 'POPDIST_NUM_TOTAL_REPLICAS is "many", but must be a whole number'):
            self.compile(POPDIST_NUM_TOTAL_REPLICAS="many", **numbers)
        # One process is no instance of several.
        self.assertTrue(self.compile(OMPI_COMM_WORLD_SIZE="1", OMPI_COMM_WORLD_RANK="0").fits)

    def test_a_loss_output_belongs_to_onnx_models(self):
        with self.assertRaisesRegex(ValueError, "training.loss_output belongs to an ONNX model"):
            interface.compile(MODEL.replace("[training]", '[training]\nloss_output = "x"'), "small")
        with self.assertRaisesRegex(ValueError, "inference.output_period is given, but inference.output_mode is not"):
            interface.compile(MODEL + "[inference]\noutput_period = 2\n", "small")

    def test_exceptions_need_numbers(self):
        with self.assertRaisesRegex(ValueError, "floating_point_exceptions looks at the numbers"):
            interface.compile(MODEL + "floating_point_exceptions = true\nnumerics = false\n", "small")


if __name__ == "__main__":
    unittest.main()
