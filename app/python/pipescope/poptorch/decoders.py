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
        width, classes = sizes_of(self.blank)[1], sizes_of(scores)[1]
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
        is_stem = is_stem & (self.lengths.unsqueeze(2) == self.lengths.unsqueeze(1) + 1) & lives.unsqueeze(2) & lives.unsqueeze(1)
        by_last = longer.transpose(1, 2).gather(1, self.last.unsqueeze(2).expand(-1, -1, width))  # [batch, beam, other beam]
        grown = torch.where(is_stem, by_last, torch.tensor(_NEVER)).amax(2)
        stay_label = _add(stay_label, grown)
        is_known = torch.matmul(is_stem.float().transpose(1, 2), is_last.float()) > 0  # [batch, beam, label]
        longer = torch.where(is_known, torch.tensor(_NEVER), longer)
        chosen = torch.cat([_add(stay_blank, stay_label), longer.flatten(1)], 1).topk(width, 1)
        return self._chosen(chosen.values, chosen.indices, classes, stay_blank, stay_label, blank)

    def _chosen(self, values, places, classes, stay_blank, stay_label, blank):
        width = sizes_of(self.blank)[1]
        grows = places >= width
        behind = (places - width).clamp(min=0)
        source = torch.where(grows, torch.div(behind, classes, rounding_mode="floor"), places)
        label = behind % classes
        prefixes, lengths = _pick(self.prefixes, source), _pick(self.lengths, source)
        here = (torch.arange(sizes_of(prefixes)[2]) == lengths.unsqueeze(2)) & grows.unsqueeze(2)
        lives = values > _NEVER / 2
        return [
            torch.where(grows, torch.tensor(_NEVER), _pick(stay_blank, source)).clamp(min=_NEVER),
            torch.where(grows, values, _pick(stay_label, source)).clamp(min=_NEVER),
            torch.where(grows & lives, label, _pick(self.last, source)),
            torch.where(grows & lives, lengths + 1, lengths),
            torch.where(here & lives.unsqueeze(2), label.unsqueeze(2), prefixes),
            torch.where((grows & lives).unsqueeze(2), prefixes, _pick(self.stems, source)),
        ]


def ctc_beam_search_decoder(probs, lengths, blank=0, beam_width=100, top_paths=1):
    """Return the likeliest label sequences of connectionist temporal classification.

    `probs` are logarithms of probabilities [time, batch, classes], `lengths` [batch] says how much of the time a sample has.
    Returns negative logarithms of the probabilities of the paths [batch, top_paths], their lengths, and their labels
    [batch, top_paths, time], which are `blank` behind the length. The likeliest path is the first.
    """
    _check(probs, lengths, blank, beam_width, top_paths)
    time, samples, _ = sizes_of(probs)
    beams = _Beams(samples, beam_width, time, blank)
    for now in range(time):
        reads = (lengths > now).unsqueeze(1)
        after = beams.step(probs[now].float(), blank)
        beams.set([torch.where(reads if new.dim() == 2 else reads.unsqueeze(2), new, old) for new, old in zip(after, beams.tensors())])
    best = beams.total().topk(top_paths, 1)
    return [-best.values.to(probs.dtype), _pick(beams.lengths, best.indices).int(), _pick(beams.prefixes, best.indices).int()]
