"""Search of the likeliest label sequences, which PopTorch has as an operator, written with functions of PyTorch."""

import torch

from .buffers import sizes_of
from .errors import ArgumentError

#: The logarithm of a probability of 0, with which sums stay numbers.
_NEVER = -1e30


def _check(probs, lengths, blank, beam_width, top_paths):
    for name, tensor, axes in (("probs", probs, 3), ("lengths", lengths, 1)):
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(f"ctc_beam_search_decoder: {name} must be a torch.tensor argument. {type(tensor)} is not supported.")
        if tensor.dim() != axes:
            raise ArgumentError(f"ctc_beam_search_decoder: {name} has {tensor.dim()} axes, but must have {axes}: probs is [time, batch, "
                                "classes], and lengths is [batch].")
    classes = sizes_of(probs)[2]
    if not 0 <= blank < classes:
        raise ArgumentError(f"ctc_beam_search_decoder: blank is {blank}, but the classes are 0 to {classes - 1}.")
    if not 1 <= top_paths <= beam_width:
        raise ArgumentError(f"ctc_beam_search_decoder: top_paths is {top_paths}, but must be from 1 to the beam_width of {beam_width}.")


def _add(first, second):
    """Return the logarithm of the sum of two probabilities, given as logarithms."""
    return torch.maximum(first, second) + torch.log1p(torch.exp(-(first - second).abs()))


def _pick(tensor, places):
    """Return the beams at these places of each sample."""
    if tensor.dim() == 2:
        return tensor.gather(1, places)
    return tensor.gather(1, places.unsqueeze(2).expand(-1, -1, tensor.shape[2]))


class _Beams:
    """The likeliest prefixes of the labels so far, for each sample: tensors of [batch, beam], prefixes of [batch, beam, time].

    `blank` and `label` are logarithms of the probabilities that a prefix was read and the last symbol was a blank, or its last
    label. `stems` are the prefixes without their last label, with a number that no label has for prefixes that have none.
    """

    def __init__(self, samples, width, time, blank):
        first = torch.arange(width).unsqueeze(0).expand(samples, width) == 0
        self.blank = torch.where(first, torch.tensor(0.0), torch.tensor(_NEVER))
        self.label = torch.full((samples, width), _NEVER)
        self.last = torch.full((samples, width), blank, dtype=torch.int64)
        self.lengths = torch.zeros((samples, width), dtype=torch.int64)
        self.prefixes = torch.full((samples, width, time), blank, dtype=torch.int64)
        self.stems = torch.full((samples, width, time), -1, dtype=torch.int64)

    def tensors(self):
        return [self.blank, self.label, self.last, self.lengths, self.prefixes, self.stems]

    def set(self, tensors):
        self.blank, self.label, self.last, self.lengths, self.prefixes, self.stems = tensors

    def total(self):
        return _add(self.blank, self.label)

    def step(self, scores, blank):
        """Read one more symbol, whose logarithms of probabilities are `scores` [batch, classes]. Returns the tensors after it."""
        width, classes = self.blank.shape[1], scores.shape[1]
        total, labels = self.total(), torch.arange(classes)
        of_last = scores.gather(1, self.last)
        stay_blank = total + scores[:, blank : blank + 1]
        stay_label = torch.where(self.lengths > 0, self.label + of_last, torch.tensor(_NEVER))
        is_last = self.last.unsqueeze(2) == labels
        begun = torch.where(is_last & (self.lengths > 0).unsqueeze(2), self.blank.unsqueeze(2), total.unsqueeze(2))
        longer = torch.where(labels == blank, torch.tensor(_NEVER), begun + scores.unsqueeze(1))
        # A longer prefix may be one that is among the beams: its probability goes there.
        lives = total > _NEVER / 2
        is_stem = (self.stems.unsqueeze(2) == self.prefixes.unsqueeze(1)).all(3)  # [batch, beam, its stem]
        is_stem = is_stem & lives.unsqueeze(2) & lives.unsqueeze(1)
        by_last = longer.transpose(1, 2).gather(1, self.last.unsqueeze(2).expand(-1, -1, width))  # [batch, beam, other beam]
        grown = torch.where(is_stem, by_last, torch.tensor(_NEVER)).amax(2)
        stay_label = _add(stay_label, grown)
        is_known = torch.matmul(is_stem.float().transpose(1, 2), is_last.float()) > 0  # [batch, beam, label]
        longer = torch.where(is_known, torch.tensor(_NEVER), longer)
        chosen = torch.cat([_add(stay_blank, stay_label), longer.flatten(1)], 1).topk(width, 1)
        return self._chosen(chosen.values, chosen.indices, classes, stay_blank, stay_label, blank)

    def _chosen(self, values, places, classes, stay_blank, stay_label, blank):
        width = self.blank.shape[1]
        grows = places >= width
        behind = (places - width).clamp(min=0)
        source = torch.where(grows, torch.div(behind, classes, rounding_mode="floor"), places)
        label = behind % classes
        prefixes, lengths = _pick(self.prefixes, source), _pick(self.lengths, source)
        here = (torch.arange(prefixes.shape[2]) == lengths.unsqueeze(2)) & grows.unsqueeze(2)
        lives = values > _NEVER / 2
        return [
            torch.where(grows, torch.tensor(_NEVER), _pick(stay_blank, source)).clamp(min=_NEVER),
            torch.where(grows, values, _pick(stay_label, source)).clamp(min=_NEVER),
            torch.where(grows & lives, label, _pick(self.last, source)),
            torch.where(grows & lives, lengths + 1, lengths),
            torch.where(here & lives.unsqueeze(2), label.unsqueeze(2), prefixes),
            torch.where((grows & lives).unsqueeze(2), prefixes, _pick(self.stems, source)),
        ]


class _Search(torch.autograd.Function):
    """The search, as one operator of a traced graph. PyTorch's exporter takes too long for the thousands that it stands for."""

    @staticmethod
    def forward(context, probs, lengths, sizes, blank, width):
        time, samples, _ = sizes
        beams = _Beams(samples, width, time, blank)
        for now in range(time):
            reads = (lengths > now).unsqueeze(1)
            after = beams.step(probs[now].float(), blank)
            beams.set([torch.where(reads if new.dim() == 2 else reads.unsqueeze(2), new, old) for new, old in zip(after, beams.tensors())])
        return beams.total(), beams.lengths, beams.prefixes

    @staticmethod
    def symbolic(graph, probs, lengths, sizes, blank, width):
        step = _Step(graph, sizes, blank, width)
        probs, lengths = graph.op("Cast", probs, to_i=1), graph.op("Cast", lengths, to_i=7)
        states = [step.constant(each) for each in _Beams(sizes[1], width, sizes[0], blank).tensors()]
        for now in range(sizes[0]):
            reads = step.unsqueeze(graph.op("Greater", lengths, step.constant(now)), 1)
            after = step.after(graph.op("Gather", probs, step.constant(now), axis_i=0), *states)
            states = [graph.op("Where", reads if number < 4 else step.unsqueeze(reads, 2), *pair) for number, pair in enumerate(zip(after, states))]
        return step.add(states[0], states[1]), states[3], states[4]


class _Step:
    """The operators of ONNX of _Beams.step, with the same names."""

    def __init__(self, graph, sizes, blank, width):
        self._graph, self._blank, self._width = graph, blank, width
        self._time, self._samples, self._classes = sizes
        self._never, self._half = self.constant(_NEVER), self.constant(_NEVER / 2)

    def op(self, name, *values, **attributes):
        return self._graph.op(name, *values, **attributes)

    def constant(self, value):
        return self.op("Constant", value_t=value if isinstance(value, torch.Tensor) else torch.tensor(value))

    def unsqueeze(self, value, axis):
        return self.op("Unsqueeze", value, self.constant([axis]))

    def add(self, first, second):
        distance = self.op("Neg", self.op("Abs", self.op("Sub", first, second)))
        return self.op("Add", self.op("Max", first, second), self.op("Log", self.op("Add", self.op("Exp", distance), self.constant(1.0))))

    def _pick(self, value, places):
        return self.op("GatherElements", value, places, axis_i=1)

    def after(self, scores, blank, label, last, lengths, prefixes, stems):
        """Return the tensors of the beams after one more symbol."""
        op, unsqueeze, classes = self.op, self.unsqueeze, torch.arange(self._classes)
        total, has_label = self.add(blank, label), op("Greater", lengths, self.constant(0))
        stay_blank = op("Add", total, op("Gather", scores, self.constant([self._blank]), axis_i=1))
        stay_label = op("Where", has_label, op("Add", label, self._pick(scores, last)), self._never)
        is_last = op("Equal", unsqueeze(last, 2), self.constant(classes))
        repeats = op("And", is_last, unsqueeze(has_label, 2))
        begun = op("Where", repeats, unsqueeze(blank, 2), unsqueeze(total, 2))
        longer = op("Where", self.constant(classes == self._blank), self._never, op("Add", begun, unsqueeze(scores, 1)))
        lives = op("Greater", total, self._half)
        same = op("Cast", op("Equal", unsqueeze(stems, 2), unsqueeze(prefixes, 1)), to_i=1)
        is_stem = op("And", op("Greater", op("ReduceMin", same, axes_i=[3], keepdims_i=0), self.constant(0.5)),
                     op("And", unsqueeze(lives, 2), unsqueeze(lives, 1)))
        square = self.constant([self._samples, self._width, self._width])
        by_last = self._pick(op("Transpose", longer, perm_i=[0, 2, 1]), op("Expand", unsqueeze(last, 2), square))
        grown = op("ReduceMax", op("Where", is_stem, by_last, self._never), axes_i=[2], keepdims_i=0)
        stay_label = self.add(stay_label, grown)
        stem_of = op("Transpose", op("Cast", is_stem, to_i=1), perm_i=[0, 2, 1])
        is_known = op("Greater", op("MatMul", stem_of, op("Cast", is_last, to_i=1)), self.constant(0.5))
        longer = op("Where", is_known, self._never, longer)
        flat = op("Reshape", longer, self.constant([self._samples, self._width * self._classes]))
        values, places = op("TopK", op("Concat", self.add(stay_blank, stay_label), flat, axis_i=1), self.constant([self._width]),
                            axis_i=1, outputs=2)
        return self._chosen(values, places, stay_blank, stay_label, last, lengths, prefixes, stems)

    def _chosen(self, values, places, stay_blank, stay_label, last, lengths, prefixes, stems):
        op, unsqueeze = self.op, self.unsqueeze
        grows = op("Not", op("Less", places, self.constant(self._width)))
        behind = op("Max", op("Sub", places, self.constant(self._width)), self.constant(0))
        source = op("Where", grows, op("Div", behind, self.constant(self._classes)), places)
        label = op("Mod", behind, self.constant(self._classes))
        whole = op("Expand", unsqueeze(source, 2), self.constant([self._samples, self._width, self._time]))
        prefixes, stems, lengths = self._pick(prefixes, whole), self._pick(stems, whole), self._pick(lengths, source)
        takes = op("And", grows, op("Greater", values, self._half))
        here = op("And", op("Equal", self.constant(torch.arange(self._time)), unsqueeze(lengths, 2)), unsqueeze(takes, 2))
        return [
            op("Where", grows, self._never, op("Max", self._pick(stay_blank, source), self._never)),
            op("Max", op("Where", grows, values, self._pick(stay_label, source)), self._never),
            op("Where", takes, label, self._pick(last, source)),
            op("Where", takes, op("Add", lengths, self.constant(1)), lengths),
            op("Where", here, unsqueeze(label, 2), prefixes),
            op("Where", unsqueeze(takes, 2), prefixes, stems),
        ]


def ctc_beam_search_decoder(probs, lengths, blank=0, beam_width=100, top_paths=1):
    """Return the likeliest label sequences of connectionist temporal classification.

    `probs` are logarithms of probabilities [time, batch, classes], `lengths` [batch] says how much of the time a sample has.
    Returns negative logarithms of the probabilities of the paths [batch, top_paths], their lengths, and their labels
    [batch, top_paths, time], which are `blank` behind the length. The likeliest path is the first.
    """
    _check(probs, lengths, blank, beam_width, top_paths)
    total, counts, labels = super(torch.autograd.Function, _Search).apply(probs, lengths, sizes_of(probs), blank, beam_width)
    best = total.topk(top_paths, 1)
    return [-best.values.to(probs.dtype), _pick(counts, best.indices).int(), _pick(labels, best.indices).int()]
