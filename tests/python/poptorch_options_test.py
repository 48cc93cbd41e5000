"""Options: printed form, freezing, copies, limits, files and the environment."""

import json
import os
import re
import tempfile
import unittest

import pipescope.poptorch as poptorch
import torch

# PopTorch 3.0 prints this for its defaults (Graphcore's tutorial on pipelining, cell "Assigning blocks to stages").
OWN = (
    "replication_factor=1Options(, broadcast_buffers=TrueOptions(, device_iterations={D}Options(, log_dir='.'Options(, "
    "auto_round_num_ipus=FalseOptions(, anchored_tensors={{}}Options(, output_mode={M}Options(, output_return_period=1"
    "Options(, connection_type=0Options(, sync_pattern=0Options(, available_memory_proportion={{}}"
)
POPART = "_PopartOptions(instrumentWithHardwareCycleCounter=False, rearrangeAnchorsOnHost=False)"
TAIL = "_warnings={}, _warnings_disabled=set(), _is_frozen=False)"
DISTRIBUTED = (
    "Distributed=_DistributedOptions(num_distributed_processes=1, distributed_process_id=0, ipuof_configs={}, "
    "_gcd_mappings={}, " + TAIL
)
PRECISION = (
    "Precision=_PrecisionOptions(autocast_enabled=True, autocast_policy=<poptorch.autocasting.Policy object at 0x0>, "
    "autocast_policy_dict={'fp16': ['addbmm', 'addmm', 'addmv', 'addr', 'baddbmm', 'bmm', 'at', 'conv1d', 'conv2d', "
    "'conv3d', 'conv_tbc', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'convolution', 'matmul', 'mm', "
    "'mv'], 'fp32': [], 'promote': ['addcdiv', 'addcmul', 'atan2', 'bilinear', 'cat', 'cross', 'dot', 'equal', "
    "'index_put', 'stack', 'at'], 'demote': []}, half_float_casting=<HalfFloatCastingBehavior.Default: 2>, "
    f"_popart_options={POPART}, " + TAIL
)


def training_text(accumulation):
    return (
        f"_TrainingOptions(gradient_accumulation={accumulation}, accumulation_and_replication_reduction_type="
        "<ReductionType.Mean: 1>, meanAccumulationAndReplicationReductionStrategy=<MeanReductionStrategy.Post: 1>, "
        f"_popart_options={POPART}, " + TAIL
    )


def expected(iterations=1, mode=4, accumulation=1, location=""):
    groups = [
        DISTRIBUTED,
        "Jit=_JitOptions(trace_model=False, " + TAIL,
        PRECISION,
        f"TensorLocations=_TensorLocationOptions({location}, " + TAIL,
        "Training=" + training_text(accumulation),
        f"_Popart={POPART})",
    ]
    return OWN.format(D=iterations, M=mode) + ", , ".join(groups)


def printed(options):
    return re.sub(r"0x[0-9a-f]+", "0x0", repr(options))


class Printing(unittest.TestCase):
    def test_defaults_are_printed_as_poptorch_prints_them(self):
        self.assertEqual(printed(poptorch.Options()), expected())

    def test_the_options_of_the_tutorial_are_printed_as_poptorch_prints_them(self):
        options = poptorch.Options()
        options.deviceIterations(10)
        options.outputMode(poptorch.OutputMode.All)
        self.assertEqual(repr(options.Training.gradientAccumulation(10)), training_text(10))
        locations = options.TensorLocations.setOptimizerLocation(
            poptorch.TensorLocationSettings().useOnChipStorage(False)
        )
        self.assertEqual(repr(locations), "_TensorLocationOptions(location_optimizer={'onChip': 0}, " + TAIL)
        self.assertEqual(printed(options), expected(10, 2, 10, "location_optimizer={'onChip': 0}"))

    def test_all_values_are_in_a_dictionary(self):
        values = poptorch.Options().toDict()
        self.assertEqual(values["input_group_size"], 1)
        self.assertEqual(values["output_mode"], 4)
        self.assertEqual(values["gradient_accumulation"], 1)


class Changing(unittest.TestCase):
    def test_frozen_options_refuse_changes_and_their_clone_takes_them(self):
        options = poptorch.Options()
        poptorch.inferenceModel(torch.nn.Linear(2, 2), options)
        for change in (
            lambda: options.deviceIterations(2),
            lambda: options.randomSeed(1),
            lambda: options.Training.gradientAccumulation(2),
            lambda: options.Precision.enableStochasticRounding(True),
            lambda: options.TensorLocations.numIOTiles(32),
            lambda: setattr(options, "device_iterations", 3),
        ):
            with self.assertRaisesRegex(AttributeError, "Can't modify frozen"):
                change()
        copy = options.clone()
        copy.deviceIterations(3).randomSeed(5)
        copy.Training.gradientAccumulation(4)
        self.assertEqual((copy.device_iterations, copy.random_seed), (3, 5))
        self.assertEqual((options.device_iterations, options.random_seed), (1, None))
        self.assertEqual(options.Training.gradient_accumulation, 1)

    def test_values_out_of_range_are_refused(self):
        options = poptorch.Options()
        half = poptorch.OutputMode.EveryN
        refusals = [
            (ValueError, "at least 1", lambda: options.deviceIterations(0)),
            (ValueError, "at least 1", lambda: options.replicationFactor(0)),
            (ValueError, "at least 1", lambda: options.Training.gradientAccumulation(0)),
            (ValueError, "needs an output_return_period", lambda: options.outputMode(half)),
            (ValueError, 'as "IPU0"', lambda: options.setAvailableMemoryProportion({"0": 0.5})),
            (ValueError, "at most 1", lambda: options.setAvailableMemoryProportion({"IPU0": 1.5})),
            (ValueError, "even number between 32 and 192", lambda: options.TensorLocations.numIOTiles(33)),
            (ValueError, "consecutive or orthogonal groups", lambda: options.inputReplicaGrouping(2, poptorch.CommGroupType.All)),
            (ValueError, "torch.half or torch.float", lambda: options.Precision.setPartialsType(torch.int32)),
            (ValueError, "does not exist", lambda: options.Distributed.configureProcessId(2, 2)),
            (TypeError, "no execution strategy", lambda: options.setExecutionStrategy("pipelined")),
            (TypeError, "TensorLocationSettings", lambda: options.TensorLocations.setWeightLocation(1)),
            (AttributeError, "no option devices", lambda: options.devices),
            (AttributeError, "no option devices", lambda: setattr(options, "devices", 1)),
            (ValueError, "not a valid SyncPattern", lambda: options.syncPattern(7)),
        ]
        for kind, sentence, call in refusals:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                call()


class Sources(unittest.TestCase):
    def test_a_file_holds_one_call_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "options.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# training\ndeviceIterations(5)\n\nTraining.gradientAccumulation(8)\n")
                file.write("outputMode(poptorch.OutputMode.Sum)\n")
            options = poptorch.Options().loadFromFile(path)
            self.assertEqual((options.device_iterations, options.output_mode), (5, 3))
            self.assertEqual(options.Training.gradient_accumulation, 8)
            for line, sentence in (
                ("deviceIteration(5)", "options.txt:1: there is no option deviceIteration"),
                ("Train.gradientAccumulation(5)", "no group of options Train"),
                ("deviceIterations = 5", "is no call of an option"),
                ("deviceIterations(len('x'))", "values must be numbers"),
                ("_freeze()", "there is no option _freeze"),
            ):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(line)
                with self.subTest(line), self.assertRaisesRegex(ValueError, sentence):
                    poptorch.Options().loadFromFile(path)

    def test_the_environment_changes_the_defaults(self):
        os.environ["POPTORCH_DEFAULT_OPTIONS"] = json.dumps({"deviceIterations": 6, "Training.gradientAccumulation": 3})
        os.environ["POPTORCH_CACHE_DIR"] = "/tmp/cache"
        try:
            options = poptorch.Options()
        finally:
            del os.environ["POPTORCH_DEFAULT_OPTIONS"], os.environ["POPTORCH_CACHE_DIR"]
        self.assertEqual((options.device_iterations, options.Training.gradient_accumulation), (6, 3))
        self.assertEqual(options.cache_path, "/tmp/cache")


if __name__ == "__main__":
    unittest.main()
