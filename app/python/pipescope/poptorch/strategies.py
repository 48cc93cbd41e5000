"""Stages, phases and execution strategies."""

from .enums import AutoStage, Liveness
from .log import note_once


class Stage:
    """A stage: the blocks of one IPU that follow each other."""

    def __init__(self, *block_ids):
        if not block_ids:
            raise ValueError("A Stage needs at least one block id.")
        self.blocks = [str(block) for block in block_ids]
        self._ipu = None

    def ipu(self, ipu):
        """Place the stage on this IPU."""
        if int(ipu) < 0:
            raise ValueError(f"Stage.ipu({ipu}): IPUs are counted from 0.")
        self._ipu = int(ipu)
        return self


class Phase:
    """A phase: stages that work at the same time. Texts are blocks of one stage."""

    def __init__(self, *stages):
        if not stages:
            raise ValueError("A Phase needs at least one stage.")
        texts = [isinstance(each, str) for each in stages]
        if any(texts) and not all(texts):
            raise ValueError("A Phase takes either block ids or Stage objects, not both.")
        self.stages = [Stage(*stages)] if all(texts) else list(stages)

    def stage(self, index):
        """Return the stage with this number."""
        return self.stages[index]

    def ipus(self, *ipus):
        """Place the stages of the phase on these IPUs."""
        if len(ipus) != len(self.stages):
            raise ValueError(f"Phase.ipus() got {len(ipus)} IPUs for {len(self.stages)} stages.")
        for stage, ipu in zip(self.stages, ipus):
            stage.ipu(ipu)
        return self


class PlacedStage:
    """A stage with everything that a configuration says of it."""

    def __init__(self, blocks, ipu, phase=None):
        self.blocks, self.ipu, self.phase = blocks, ipu, phase


def _check_blocks(stages, blocks):
    """Refuse a block that is in two stages, in none, or not in the model."""
    placed = [block for stage in stages for block in stage.blocks]
    for block in placed:
        if placed.count(block) > 1:
            raise AssertionError(f'Block "{block}" is in two stages: leave it out of one of them.')
        if block not in blocks:
            known = ", ".join(f'"{each}"' for each in blocks) or "none"
            raise AssertionError(f'A stage names block "{block}", but the blocks of the model are: {known}.')
    for block in blocks:
        if block not in placed:
            raise AssertionError(f'Block "{block}" is in no stage: add it to one.')


class _Strategy:
    """The base of all strategies. `key` is the name in a configuration."""

    key = ""

    def place(self, blocks, origins=None):
        """Return the stages of a model. `blocks` maps block ids to IPUs (None: not given), in program order.

        `origins` maps them to the ids that stages name: a block that is on several IPUs has a part on each.
        """
        raise NotImplementedError


class _StagedStrategy(_Strategy):
    def __init__(self, *stages):
        self.auto = AutoStage.SameAsIpu
        self.stages = []
        if len(stages) == 1 and isinstance(stages[0], AutoStage):
            self.auto = stages[0]
            return
        for stage in stages:
            listed = [stage] if isinstance(stage, str) else stage  # a list of block ids is a stage, too
            if isinstance(listed, (list, tuple)) and all(isinstance(block, str) for block in listed):
                stage = Stage(*listed)
            if not isinstance(stage, Stage):
                kind = type(self).__name__
                raise TypeError(f"{kind} takes Stage objects, block ids or one AutoStage, not {stage!r}.")
            self.stages.append(stage)

    def stage(self, block_id):
        """Return the stage that holds a block."""
        for each in self.stages:
            if block_id in each.blocks:
                return each
        raise ValueError(f'No stage holds block "{block_id}".')

    def place(self, blocks, origins=None):
        if self.stages:
            for block, origin in (origins or {}).items():
                if block != origin and block in blocks:
                    raise AssertionError(f'Block "{origin}" is on the IPUs {blocks[origin]} and {blocks[block]}, but a stage is on one '
                                         "IPU: give it one IPU, or use ParallelPhasedExecution.")
            _check_blocks(self.stages, blocks)
            return [self._placed(number, stage, blocks) for number, stage in enumerate(self.stages)]
        if self.auto == AutoStage.AutoIncrement:
            return [
                PlacedStage([block], number if ipu is None else ipu) for number, (block, ipu) in enumerate(blocks.items())
            ]
        return _stages_by_ipu(blocks)

    @staticmethod
    def _placed(number, stage, blocks):
        own = next((blocks[block] for block in stage.blocks if blocks[block] is not None), number)
        return PlacedStage(stage.blocks, own if stage._ipu is None else stage._ipu)


def _stages_by_ipu(blocks):
    """One stage for each IPU. A model may not return to an earlier IPU."""
    stages = []
    for block, ipu in blocks.items():
        if ipu is None:
            raise ValueError(
                f'Block "{block}" has no ipu_id, which AutoStage.SameAsIpu needs: give it one, or pass stages to '
                "the strategy, as PipelinedExecution(Stage(\"…\"), …)."
            )
        if stages and stages[-1].ipu == ipu:
            stages[-1].blocks.append(block)
            continue
        if any(stage.ipu == ipu for stage in stages):
            raise ValueError(
                f'Block "{block}" returns to IPU {ipu}, whose stage comes before that of IPU {stages[-1].ipu}: use '
                "AutoStage.AutoIncrement, or pass stages to the strategy."
            )
        stages.append(PlacedStage([block], ipu))
    return stages


class PipelinedExecution(_StagedStrategy):
    """All stages work at once, on different micro-batches."""

    key = "pipelined"


class ShardedExecution(_StagedStrategy):
    """One stage works at a time."""

    key = "sharded"


class _PhasedStrategy(_Strategy):
    def __init__(self, *phases):
        if not phases:
            raise ValueError(f"{type(self).__name__} needs its phases: pass Phase objects or block ids.")
        if len(phases) == 1 and isinstance(phases[0], list) and all(isinstance(each, Phase) for each in phases[0]):
            phases = phases[0]
        lists = [each if isinstance(each, (list, Phase)) else [each] for each in phases]
        self.phases = [each if isinstance(each, Phase) else Phase(*each) for each in lists]
        self.separate_backward = False

    def phase(self, number):
        """Return the phase with this number."""
        return self.phases[number]

    def stage(self, block_id):
        """Return the stage that holds a block."""
        for stage in (stage for phase in self.phases for stage in phase.stages):
            if block_id in stage.blocks:
                return stage
        raise ValueError(f'No phase holds block "{block_id}".')

    def useSeparateBackwardPhase(self, use=True):
        """Run the backward pass of the last phase as a phase of its own."""
        self.separate_backward = bool(use)
        return self

    def place(self, blocks, origins=None):
        parts = {}
        for block in blocks:
            parts.setdefault((origins or {}).get(block, block), []).append(block)
        _check_blocks([stage for phase in self.phases for stage in phase.stages], parts)
        return [
            placed
            for number, phase in enumerate(self.phases)
            for stage in phase.stages
            for placed in self._placed(stage, number, parts, blocks)
        ]

    @staticmethod
    def _placed(stage, number, parts, blocks):
        """A stage, or one for each IPU that its blocks are on where one of them is on several."""
        if all(len(parts[block]) == 1 for block in stage.blocks):
            return [PlacedStage(stage.blocks, stage._ipu, number)]
        if stage._ipu is not None:
            raise AssertionError(f'A stage on IPU {stage._ipu} has blocks on several IPUs ({", ".join(stage.blocks)}): leave out '
                                 "Stage.ipu.")
        by_ipu = {}
        for block in (part for block in stage.blocks for part in parts[block]):
            by_ipu.setdefault(blocks[block], []).append(block)
        return [PlacedStage(own, ipu, number) for ipu, own in by_ipu.items()]


def _note_when_tensors_leave(call):
    note_once(f"{call} has no effect on emulated devices: the tensors that TensorLocations does not keep on the chip leave it after each "
              "phase, and memory and times are those of that.")


class SerialPhasedExecution(_PhasedStrategy):
    """The phases take turns on one group of IPUs; streaming memory holds the tensors of the others."""

    key = "serial_phased"

    def setTensorsLiveness(self, liveness):
        """Accept it: TensorLocations decides which kinds of tensors leave the chip, and they do so after each phase."""
        if Liveness(liveness) not in (Liveness.AlwaysLive, Liveness.OffChipAfterEachPhase):
            _note_when_tensors_leave(f"setTensorsLiveness({Liveness(liveness).name})")
        return self


class ParallelPhasedExecution(_PhasedStrategy):
    """The phases alternate between two groups of IPUs; the idle group loads and stores."""

    key = "parallel_phased"

    def sendTensorsOffChipAfterFwd(self, off_chip=True):
        """Accept it: TensorLocations decides which kinds of tensors leave the chip, and they do so after each phase."""
        if off_chip:
            _note_when_tensors_leave("sendTensorsOffChipAfterFwd(True)")
        return self
