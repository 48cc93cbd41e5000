"""options.Precision: types of numbers."""

from .enums import HalfFloatCastingBehavior
from .options_group import OptionsGroup, PopartOptions

# The lists that PopTorch 3.0 prints. They matter within poptorch.autocast only, which this package refuses.
_HALF = "addbmm addmm addmv addr baddbmm bmm at conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d"
_HALF += " conv_transpose3d convolution matmul mm mv"
_PROMOTED = "addcdiv addcmul atan2 bilinear cat cross dot equal index_put stack at"


class Policy:
    """The types in which operators run within an autocast region."""

    def __init__(self, fp16=None, fp32=None, promote=None, demote=None):
        self.fp16 = _HALF.split() if fp16 is None else list(fp16)
        self.fp32 = [] if fp32 is None else list(fp32)
        self.promote = _PROMOTED.split() if promote is None else list(promote)
        self.demote = [] if demote is None else list(demote)

    def __deepcopy__(self, memo):
        return self  # it is never changed

    def __repr__(self):
        return f"<poptorch.autocasting.Policy object at {hex(id(self))}>"

    def _dict(self):
        return {"fp16": self.fp16, "fp32": self.fp32, "promote": self.promote, "demote": self.demote}


#: The policy of all options that have no other one, so that equal options are printed alike.
_DEFAULT = Policy()


class _PrecisionOptions(OptionsGroup):
    def __init__(self):
        policy = _DEFAULT
        super().__init__(
            autocast_enabled=True,
            autocast_policy=policy,
            autocast_policy_dict=policy._dict(),
            half_float_casting=HalfFloatCastingBehavior.Default,
            _popart_options=PopartOptions(),
        )
        self.__dict__["stochastic_rounding"] = False
        self.__dict__["running_statistics_always_float"] = True
        self.__dict__["partials_type"] = "float32"
        self.__dict__["floating_point_exceptions"] = False

    def halfFloatCasting(self, half_float_casting):
        """Accept what PyTorch does, which is to compute float32 from float32 and half operands; the other is refused."""
        if HalfFloatCastingBehavior(half_float_casting) == HalfFloatCastingBehavior.FloatDowncastToHalf:
            raise NotImplementedError("halfFloatCasting(FloatDowncastToHalf) is not implemented: operands of both types give "
                                      "float32, as in PyTorch. Call half() on the tensors that are to stay narrow.")
        return self._set("half_float_casting", HalfFloatCastingBehavior(half_float_casting))

    def runningStatisticsAlwaysFloat(self, value):
        """Keep the running statistics of norms in float32 (the default), or in the type of their module."""
        self._check_changeable("runningStatisticsAlwaysFloat")
        self.__dict__["running_statistics_always_float"] = bool(value)
        return self

    def autocastEnabled(self, enabled):
        """Switch autocast regions on or off. A program without such regions does not change."""
        return self._set("autocast_enabled", bool(enabled))

    def autocastPolicy(self, policy):
        """Choose the types within autocast regions."""
        self._set("autocast_policy", policy)
        return self._set("autocast_policy_dict", policy._dict())

    def enableStochasticRounding(self, enabled):
        """Round to half precision up or down at random, without bias."""
        self._set("autocast_enabled", self.autocast_enabled)
        self.__dict__["stochastic_rounding"] = bool(enabled)
        return self

    def setPartialsType(self, dtype):
        """Choose the type in which products and convolutions are summed: torch.half or torch.float."""
        names = {"torch.float16": "float16", "torch.float32": "float32", "half": "float16", "float": "float32"}
        if str(dtype) not in names:
            raise ValueError(f"setPartialsType takes torch.half or torch.float, but got {dtype}.")
        self._set("autocast_enabled", self.autocast_enabled)
        self.__dict__["partials_type"] = names[str(dtype)]
        return self

    def enableFloatingPointExceptions(self, enabled):
        """End a call with a RuntimeError where an operator or an update makes NaN or infinity from finite numbers."""
        self._set("autocast_enabled", self.autocast_enabled)
        self.__dict__["floating_point_exceptions"] = bool(enabled)
        return self
