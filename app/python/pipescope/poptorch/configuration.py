"""Writes options, optimizer and annotations as a configuration of Pipescope (TOML text)."""

import json
import sys

from .. import instances
from .enums import ConnectionType, MeanReductionStrategy, OutputMode, ReductionType, SyncPattern
from .errors import Error
from .log import note_once
from .multi_conv import assign_convolutions
from .optim import accumulator_of
from .strategies import PipelinedExecution, PlacedStage

_LEADING = "before the first block"
_TO_FLOAT = b"\x0a\x02to\x18\x01"  # the attribute of an ONNX operator Cast that makes float32
_MOST_IPUS = 64
_SYSTEMS = [(4, "pod4"), (16, "pod16"), (64, "pod64"), (128, "pod128"), (256, "pod256")]


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, str)):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


class Toml:
    """Tables of keys and values, written as TOML."""

    def __init__(self):
        self._tables, self._lists = {}, []

    def set(self, path, value):
        table, key = path.rsplit(".", 1)
        self._tables.setdefault(table, {})[key] = value

    def add(self, table, **values):
        """Add an entry to an array of tables. None leaves a key out."""
        self._lists.append((table, {key: value for key, value in values.items() if value is not None}))

    def __str__(self):
        lines = []
        for table, values in self._tables.items():
            lines += [f"[{table}]"] + [f"{key} = {_text(value)}" for key, value in values.items()]
        for table, values in self._lists:
            lines += [f"[[{table}]]"] + [f"{key} = {_text(value)}" for key, value in values.items()]
        return "\n".join(lines) + "\n"


def assign_nodes(nodes, annotations):
    """Return {block id: names of its nodes} in program order. `nodes` are (operator, name) of an ONNX model."""
    ids = annotations.blocks_of([name for _, name in nodes])
    blocks, seen = {}, False
    for (operator, name), block in zip(nodes, ids):
        if operator in ("Constant", "Identity", "Cast"):
            continue  # an exporter adds these; each joins the block that uses it
        seen = seen or block is not None
        if block is None and seen:
            raise Error(
                f"Operator {name} stands behind a block, but in no block itself (no active block): put it, too, into a "
                "Block, or use BeginBlock."
            )
        blocks.setdefault(_LEADING if block is None else block, []).append(name)
    if annotations.ids and not seen:
        raise Error("None of the blocks of the model holds an operator.")
    return blocks if annotations.ids else {}


def split_blocks(nodes, blocks, stages):
    """Divide the stages of phases where the program leaves a block and returns to it, so that stages follow the data.

    Returns {block or its part: names of nodes} and stages, in program order within each phase.
    """
    stage_of = {block: stage for stage in stages for block in stage.blocks}
    block_of = {name: block for block, names in blocks.items() for name in names}
    parts, made, last, counts = {}, [], None, {}
    for name in (name for _, name in nodes if name in block_of):
        block = block_of[name]
        stage = stage_of[block]
        if stage is not last:
            made.append(PlacedStage([], stage.ipu, stage.phase))
        if stage is not last or not made[-1].blocks or made[-1].blocks[-1].partition(" part ")[0] != block:
            counts[block] = counts.get(block, 0) + 1
            made[-1].blocks.append(block if counts[block] == 1 else f"{block} part {counts[block]}")
        last = stage
        parts.setdefault(made[-1].blocks[-1], []).append(name)
    return parts, sorted(made, key=lambda stage: stage.phase or 0)


def place_stages(blocks, annotations, strategy):
    """Return the stages of a model. Operators before the first block belong to the stage on IPU 0."""
    placed = strategy.place({block: annotations.ipus[block] for block in blocks if block != _LEADING}, annotations.origins)
    if _LEADING not in blocks:
        return placed
    if placed[0].ipu in (0, None):
        placed[0].blocks = [_LEADING, *placed[0].blocks]
        return placed
    return [PlacedStage([_LEADING], 0, placed[0].phase), *placed]


def count_ipus(stages, replicas, processes=1, takes_any=False):
    """Return the IPUs that the replicas of all processes take. More than one process may have are refused.

    A process attaches to a power of two of IPUs, so other numbers are refused, too, unless `takes_any`: offline targets are attached to
    nothing.
    """
    ipus = {0 if stage.ipu is None else stage.ipu for stage in stages} or {0}
    each = max(len(ipus), max(ipus) + 1)
    if each * replicas > _MOST_IPUS:
        parts = -(-each * replicas // _MOST_IPUS)
        while replicas % parts != 0:
            parts += 1
        raise Error(
            f"The model takes {each * replicas} IPUs, but one process has at most {_MOST_IPUS} (too many IPUs): divide "
            f"the replicas over {parts} processes with `pipescope poprun --num-instances {parts} --num-replicas "
            f"{replicas * processes} --ipus-per-replica {each} {_program()}`, and call popdist.poptorch.Options() "
            "instead of replicationFactor."
        )
    own, enough = each * replicas, 1
    while enough < own:
        enough *= 2
    if own != enough and not takes_any:
        raise Error(
            f"The model takes {own} IPUs ({replicas} replicas of {each}), but systems are attached in powers of two: at "
            f"least {enough}. Call autoRoundNumIPUs(True) to reserve {enough}, or useIpuModel(True) to emulate {own}."
        )
    total = each * replicas * processes
    if total > _SYSTEMS[-1][0]:
        raise Error(
            f"The {processes} processes take {total} IPUs, but the largest system has {_SYSTEMS[-1][0]}: use fewer "
            "replicas."
        )
    return total


def _program():
    """The command line of this program."""
    return " ".join(["python3", *sys.argv]) if sys.argv and sys.argv[0].endswith(".py") else "python3 PROGRAM.py"


def count_forward_stages(stages):
    """Return 1 + the number of changes of IPU in program order, beginning on IPU 0, as PopTorch counts."""
    count, ipu = 1, 0
    for stage in stages:
        count += stage.ipu != ipu
        ipu = stage.ipu
    return count


def check_pipeline(options, stages, training):
    """Refuse a pipeline that gets fewer micro-batches than it has stages."""
    forward = count_forward_stages(stages)
    if not isinstance(options.strategy, PipelinedExecution) or forward == 1:
        return
    accumulation, needed = options.Training.gradient_accumulation, 2 * forward - 1
    if training and accumulation < needed:
        raise Error(
            f"gradientAccumulation is {accumulation}, but the pipeline has {needed} stages (2 · {forward} − 1, forward "
            f"and backward): it must be at least {needed}, whatever deviceIterations is."
        )
    if not training and options.device_iterations < forward:
        raise Error(
            f"deviceIterations is {options.device_iterations}, but the pipeline has {forward} stages: it must be at "
            f"least {forward}."
        )


def _locations(options, toml, training):
    least = {}
    kinds = {"weight": "weights", "optimizer": "optimizer", "activation": "activations", "accumulator": "accumulators"}
    for kind, key in kinds.items():
        setting = options.TensorLocations._values.get(f"location_{kind}", {})
        if "onChip" in setting:
            toml.set(f"execution.offload_{key}", not setting["onChip"])
        if setting.get("useReplicatedTensorSharding"):
            if kind == "activation":
                raise Error("setActivationLocation: activations cannot be sharded over replicas.")
            toml.set(f"execution.shard_{key}", True)
        names = {"minElementsForOffChip": "offload", "minElementsForReplicatedTensorSharding": "shard"}
        for name, place in names.items():
            if name in setting and least.setdefault(place, setting[name]) != setting[name]:
                raise NotImplementedError(
                    f"Different values of {name} for kinds of tensors are not implemented: give all kinds the same value."
                )
    for place, elements in least.items():
        toml.set(f"execution.{place}_least_elements", elements)
    if options.TensorLocations._values.get("numIOTiles"):
        toml.set("execution.io_tiles", options.TensorLocations._values["numIOTiles"])


def _overlap(options, toml, traced, stages):
    """Let copies run beside the computation, if the model asks for it."""
    if not traced.overlaps:
        return
    if isinstance(options.strategy, PipelinedExecution) and len(stages) > 1:
        raise Error("set_overlap_for_input and set_overlap_for_output do not go together with PipelinedExecution: leave "
                    "them out, or use ShardedExecution.")
    if not options.TensorLocations._values.get("numIOTiles"):
        raise Error("set_overlap_for_input and set_overlap_for_output need tiles that copy: call "
                    "TensorLocations.numIOTiles(32), or more.")
    toml.set("execution.overlap_io", True)


def _groups(toml, rule, names, weights):
    """Add the parameter groups with settings of their own. Returns the numbers of those that have parameters."""
    kept = []
    for number, (settings, parameters) in enumerate(zip(rule.groups[1:], rule.parameters(names)[1:])):
        own = [name for name in parameters if name in weights]
        if own:
            toml.add("training.groups", parameters=own, **settings)
            kept.append(number)
    return kept


def _output_mode(options, toml, table, default, spreads):
    modes = {OutputMode.Default: default, OutputMode.Final: "final", OutputMode.All: "all", OutputMode.Sum: "sum",
             OutputMode.EveryN: "every_n"}
    mode = OutputMode(options.output_mode)
    toml.set(f"{table}.output_mode", modes[mode])
    if mode == OutputMode.EveryN:
        toml.set(f"{table}.output_period", options.output_return_period)
    if options.input_group_size > 1 and not spreads:
        toml.set(f"{table}.input_replica_grouping", options.input_group_size)


def _training(options, toml, rule, optimizer, spreads):
    name, settings = rule.name, rule.groups[0]
    training = options.Training
    toml.set("training.gradient_accumulation", training.gradient_accumulation)
    toml.set("training.optimizer", name)
    for key, value in settings.items():
        toml.set(f"training.{key}", value)
    mean = training.accumulation_and_replication_reduction_type == ReductionType.Mean
    toml.set("training.reduction", "mean" if mean else "sum")
    if training.strategy_given and mean:
        post = training.meanAccumulationAndReplicationReductionStrategy == MeanReductionStrategy.Post
        toml.set("training.mean_strategy", "post" if post else "running")
    toml.set("training.automatic_loss_scaling", training.automatic_loss_scaling)
    toml.set("training.loss_scaling", float(getattr(optimizer, "loss_scaling", 1.0)))
    toml.set("training.accumulator", accumulator_of(optimizer))
    toml.set("training.clip_norm", float(getattr(optimizer, "max_grad_norm", None) or 0.0))
    toml.set("training.loss", "model")
    _output_mode(options, toml, "training", "final", spreads)


def check_inference(options):
    """Refuse options that inference cannot have."""
    if options.Training.gradient_accumulation != 1:
        raise Error(
            f"gradientAccumulation is {options.Training.gradient_accumulation}, but inference has no gradients: set it "
            "to 1, and use deviceIterations for more micro-batches in a call."
        )


def _add_stages(options, toml, blocks, stages):
    for block, nodes in blocks.items():
        toml.add("model.blocks", name=block, nodes=[name.lstrip("/") for name in nodes])
    proportions = options.available_memory_proportion
    for stage in stages:
        share = proportions.get(f"IPU{stage.ipu}")
        toml.add("stages", blocks=stage.blocks, device=stage.ipu, phase=stage.phase, available_memory_proportion=share)
    for key in proportions:
        if stages and all(key != f"IPU{stage.ipu}" for stage in stages):
            raise ValueError(f"setAvailableMemoryProportion names {key}, which the model does not use.")
    if not stages and proportions:
        toml.set("execution.available_memory_proportion", float(proportions.get("IPU0", 0.6)))


def _precision(options, traced):
    """Return the precision of the configuration. A graph has types of its own, and float16 would round its float32 tensors, too."""
    needs = {"stochastic rounding": options.Precision.stochastic_rounding,
             "automatic loss scaling": options.Training.automatic_loss_scaling}
    asked = [name for name, value in needs.items() if value]
    if not traced.is_half or not asked:
        return "float32"
    if _TO_FLOAT in traced.onnx:
        note_once(f"{asked[0].capitalize()} goes with half precision of the whole model: what it computes in float32 is rounded, too.")
    return "float16"


def _use_ipus(options, toml, traced, nodes, training, processes, splits):
    """Place the blocks of a model on IPUs. Returns {block: nodes} and stages."""
    blocks = assign_nodes(nodes, traced.annotations)
    stages = place_stages(blocks, traced.annotations, options.strategy) if blocks else []
    if splits:
        blocks, stages = split_blocks(nodes, blocks, stages)
    if stages:
        check_pipeline(options, stages, training)
    attaches = ConnectionType(options.connection_type) != ConnectionType.Never
    ipus = count_ipus(stages, options.replication_factor, processes, options.auto_round_num_ipus or options.ipu_model or not attaches)
    toml.set("system.name", next(name for most, name in _SYSTEMS if ipus <= most))
    toml.set("execution.strategy", options.strategy.key)
    if getattr(options.strategy, "separate_backward", False):
        toml.set("execution.separate_backward_phase", True)
    toml.set("execution.precision", _precision(options, traced))
    toml.set("execution.stochastic_rounding", options.Precision.stochastic_rounding)
    toml.set("execution.partials_type", options.Precision.partials_type)
    return blocks, stages


def _check_replicas(options, processes, buffers):
    """Refuse what says how replicas differ. One replica has none to differ from, so there it has no effect.

    `buffers` names those that a training changes. Running statistics of norms are no such buffers: nothing in a training reads them,
    and they are those of the first replica.
    """
    if options.replication_factor * processes == 1:
        return
    pattern = SyncPattern(options.sync_pattern)
    if pattern != SyncPattern.Full:
        raise NotImplementedError(
            f"syncPattern({pattern.name}) is not implemented for several replicas, which synchronise with the host "
            "together: use SyncPattern.Full."
        )
    if not options.broadcast_buffers and buffers:
        raise NotImplementedError(
            f"broadcastBuffers(False) is not implemented for a training of several replicas that changes a buffer ({buffers[0]}), "
            "because all follow that of the first replica: train with one replica, or leave broadcastBuffers(False) out."
        )


def _use_cards(options, toml, processes):
    """Put a replica on each card of boxes with eight."""
    cards = options.replication_factor * processes
    boxes = -(-cards // 8)
    toml.set("system.name", f"hls-gaudi2:{cards}" if boxes == 1 else f"hls-gaudi2x{boxes}")
    toml.set("execution.precision", "bfloat16" if options.card_precision == "bf16" else "float32")


def build(options, traced, outline, micro_batch, rule=None, optimizer=None, names=None, frozen=(), scalars=(),
          anchors=None, splits=False, spreads=False):
    """Return the configuration of a model as TOML text, and the numbers of the parameter groups that it has.

    `outline` is that of the traced model, `names` is {id: name} of its parameters, `frozen` and `scalars`
    name weights that are not trained, and those without axes. `anchors` are tensors that are returned, too. Inference has no
    rule. `splits` divides stages of a phase that pass tensors to each other in turns. `spreads` says that the inputs of groups of
    replicas are given to each of them.
    """
    training, nodes, groups = rule is not None, outline["nodes"], []
    toml = Toml()
    toml.set("model.name", options.model_name or ("training" if training else "inference"))
    if frozen:
        toml.set("model.frozen", list(frozen))
    if scalars:
        toml.set("model.scalar_weights", list(scalars))
    toml.set("execution.mode", "training" if training else "inference")
    processes = options.Distributed.numProcesses
    if processes > 1 and not instances.isPopdistEnvSet():
        raise Error(
            f"The options name {processes} processes, but this one was started alone: start them with `pipescope "
            f"poprun --num-instances {processes} {_program()}`."
        )
    _check_replicas(options, processes, list(traced.buffers) if training else [])
    if options.cards:
        blocks, stages = {}, []
        _use_cards(options, toml, processes)
    else:
        blocks, stages = _use_ipus(options, toml, traced, nodes, training, processes, splits)
    toml.set("execution.floating_point_exceptions", options.Precision.floating_point_exceptions)
    if options.random_seed is not None:
        toml.set("execution.seed", options.random_seed)
    kept = [name.lstrip("/") for operator, name in nodes if "@checkpoint" in name and operator != "Constant"]
    checkpoints = sorted(set(kept))
    if checkpoints and training:
        toml.set("execution.checkpoints", checkpoints)
    table = "training" if training else "inference"
    toml.set(f"{table}.micro_batch_size", micro_batch)
    toml.set(f"{table}.device_iterations", options.device_iterations)
    toml.set(f"{table}.replication_factor", options.replication_factor * processes)
    _locations(options, toml, training)
    _overlap(options, toml, traced, stages)
    if training:
        _training(options, toml, rule, optimizer, spreads)
        toml.set("training.loss_output", outline["outputs"][traced.loss])
        groups = _groups(toml, rule, names, outline["weights"])
    else:
        check_inference(options)
        _output_mode(options, toml, "inference", "all", spreads)
    _add_stages(options, toml, blocks, stages)
    if anchors is not None:
        anchors.configure(toml)
    for convolutions in assign_convolutions(nodes, traced.annotations):
        toml.add("model.multi_convs", name="multi_conv", operators=[name.lstrip("/") for name in convolutions])
    return str(toml), groups
