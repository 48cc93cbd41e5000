"""options.Training: how gradients are accumulated and reduced."""

from .enums import MeanReductionStrategy, ReductionType
from .options_group import OptionsGroup, PopartOptions


class _TrainingOptions(OptionsGroup):
    _hardware_only = {"setConvolutionDithering": "each convolution begins where its share of the tiles does"}

    def __init__(self):
        super().__init__(
            gradient_accumulation=1,
            accumulation_and_replication_reduction_type=ReductionType.Mean,
            meanAccumulationAndReplicationReductionStrategy=MeanReductionStrategy.Post,
            _popart_options=PopartOptions(),
        )
        # The strategy is running with a half-precision accumulator unless the user chose one.
        self.__dict__["strategy_given"] = False
        self.__dict__["automatic_loss_scaling"] = False

    def gradientAccumulation(self, gradient_accumulation):
        """Accumulate the gradients of so many micro-batches before one weight update."""
        if int(gradient_accumulation) < 1:
            raise ValueError(f"gradientAccumulation is {gradient_accumulation}, but must be at least 1.")
        return self._set("gradient_accumulation", int(gradient_accumulation))

    def accumulationAndReplicationReductionType(self, reduction_type):
        """Give the optimizer the mean or the sum of the gradients of all micro-batches and replicas."""
        return self._set("accumulation_and_replication_reduction_type", ReductionType(reduction_type))

    def setMeanAccumulationAndReplicationReductionStrategy(self, strategy):
        """Form the mean as a running mean, or by one division at the end."""
        self._set("meanAccumulationAndReplicationReductionStrategy", MeanReductionStrategy(strategy))
        self.__dict__["strategy_given"] = True
        return self

    def _useRunningMean(self):
        """Form means as PopTorch does with accumulators in half precision, whatever was chosen."""
        self._values["meanAccumulationAndReplicationReductionStrategy"] = MeanReductionStrategy.Running
        self.__dict__["strategy_given"] = True

    def setAutomaticLossScaling(self, enabled):
        """Adapt the loss scale to the gradients (models in half precision)."""
        self._set("gradient_accumulation", self.gradient_accumulation)
        self.__dict__["automatic_loss_scaling"] = bool(enabled)
        return self
