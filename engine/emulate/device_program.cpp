#include "engine/emulate/device_program.h"

#include <algorithm>
#include <limits>

#include "profiler/base/check.h"

namespace pipescope::emulate {

using model::Pass;
using model::ProgramId;

namespace {

/// The number of first characters that two paths have in common.
std::size_t commonLength(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Spreads numbers over all bits (the last step of splitmix64).
std::size_t spread(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ULL;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebULL;
  return number ^ (number >> 31);
}

}  // namespace

model::DebugContextId NameTree::at(std::string_view path, const char* layer) {
  const std::size_t common = commonLength(path, last_);
  // A prefix counts if the path goes on with a slash, or ends, behind it.
  while (!prefixes_.empty()) {
    const std::size_t end = prefixes_.back().end;
    if (end <= common && (end == path.size() || path[end] == '/')) break;
    prefixes_.pop_back();
  }
  last_.resize(common);
  last_.append(path.substr(common));
  model::DebugContextId context = prefixes_.empty() ? model::DebugContextId() : prefixes_.back().context;
  std::size_t begin = prefixes_.empty() ? 0 : prefixes_.back().end + 1;
  while (begin <= path.size() && !path.empty()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const bool isScope = end < path.size();
    if (end > 0) context = child(context, path.substr(begin, end - begin), isScope ? "scope" : layer);
    prefixes_.push_back({end, context});
    begin = end + 1;
  }
  return context;
}

model::DebugContextId NameTree::child(model::DebugContextId parent, std::string_view word,
                                      const char* layer) {
  const std::int32_t number = numberOf(word);
  if (4 * used_ >= 3 * places_.size()) grow();
  const auto above = static_cast<std::int32_t>(parent.value);
  Place& place = placeOf(above, number);
  if (place.word < 0) {
    ++used_;
    const std::int64_t id = recorder_.add(model::DebugContext{{}, parent, std::string(word), layer}).value;
    PIPESCOPE_CHECK(id < std::numeric_limits<std::int32_t>::max(), "fewer names than 2³¹");
    place = {above, number, static_cast<std::int32_t>(id)};
  }
  return model::DebugContextId(place.context);
}

std::int32_t NameTree::numberOf(std::string_view word) {
  const auto known = words_.find(word);
  if (known != words_.end()) return known->second;
  const auto number = static_cast<std::int32_t>(words_.size());
  words_.emplace(word, number);
  return number;
}

NameTree::Place& NameTree::placeOf(std::int32_t parent, std::int32_t word) {
  const std::size_t mask = places_.size() - 1;
  const auto key = (static_cast<std::uint64_t>(parent) << 32) ^ static_cast<std::uint32_t>(word);
  std::size_t at = spread(key) & mask;
  while (places_[at].word >= 0 && (places_[at].parent != parent || places_[at].word != word))
    at = (at + 1) & mask;
  return places_[at];
}

void NameTree::grow() {
  constexpr std::size_t kFirst = 64;
  const std::vector<Place> before =
      std::exchange(places_, std::vector<Place>(std::max(kFirst, 2 * places_.size())));
  for (const Place& place : before) {
    if (place.word >= 0) placeOf(place.parent, place.word) = place;
  }
}

ProgramTree::ProgramTree(record::Recorder& recorder, NameTree& names, model::ExecutableId executable,
                         model::DeviceId device, const Loops& loops)
    : recorder_(recorder), names_(names), executable_(executable), device_(device) {
  root_ = iteration_ = add({}, "Sequence", loops.name);
  if (loops.iterations > 1)
    iteration_ = add(root_, "Repeat", loops.name + "/iterations", {}, loops.iterations);
  microBatch_ = iteration_;
  if (loops.microBatches > 1)
    microBatch_ = add(iteration_, "Repeat", loops.name + "/micro_batches", {}, loops.microBatches);
}

ProgramId ProgramTree::add(ProgramId parent, const std::string& kind, const std::string& path,
                           model::OperatorId op, std::int64_t count, ProgramId target) {
  return recorder_.add(model::Program{.parent = parent,
                                      .executable = executable_,
                                      .device = device_,
                                      .kind = kind,
                                      .debugContext = names_.at(path, "program"),
                                      .op = op,
                                      .count = count,
                                      .target = target});
}

void ProgramTree::beginPass(const devices::LoweredPass& pass) {
  pass_ = &pass;
  calls_.clear();
  // The first sequence is that of the first step.
  kind_ = pass.pass;
  const std::vector<devices::LoweredSegment>& segments = pass.segments;
  if (!segments.empty() && !segments.front().steps.empty()) kind_ = passOf(segments.front().steps.front());
  beginSequence(kind_);
}

void ProgramTree::beginSequence(Pass kind) {
  const bool perMicroBatch = model::isComputePass(kind) || kind == Pass::hostIn || kind == Pass::hostOut;
  kind_ = kind;
  sequence_ = add(perMicroBatch ? microBatch_ : iteration_, "Sequence",
                  "stage" + std::to_string(pass_->stage) + "/" + model::toString(kind));
}

Pass ProgramTree::passOf(const devices::LoweredStep& step) const {
  if (step.op < 0) return kind_;
  return pass_->operators[static_cast<std::size_t>(step.op)].pass.value_or(pass_->pass);
}

ProgramId ProgramTree::addUnder(ProgramId parent, const devices::LoweredStep& step, model::OperatorId op) {
  const bool stream = step.program == "StreamCopyMid";
  if (stream) add(parent, "StreamCopyBegin", step.name, op);
  const ProgramId program = add(parent, step.program, step.name, op);
  if (stream) add(parent, "StreamCopyEnd", step.name, op);
  return program;
}

ProgramId ProgramTree::addStep(const devices::LoweredStep& step, model::OperatorId op) {
  if (const Pass kind = passOf(step); kind != kind_) beginSequence(kind);
  ProgramId parent = sequence_;
  for (std::size_t i = 0; i < pass_->calls.size(); ++i) {
    const devices::LoweredCall& call = pass_->calls[i];
    if (step.op < call.first || step.op >= call.first + call.count) continue;
    const auto index = static_cast<int>(i);
    const auto [function, isNew] = functions_.try_emplace(call.function);
    if (isNew) function->second = {add({}, "Function", call.function), pass_, index};
    const auto [known, isFirst] = calls_.try_emplace(index);
    if (isFirst) known->second = add(sequence_, "Call", call.name, {}, 1, function->second.id);
    parent = known->second;
    if (function->second.pass == pass_ && function->second.call == index)
      addUnder(function->second.id, step, op);
  }
  const ProgramId program = addUnder(parent, step, op);
  known_[{kind_, step.name, step.program}] = program;
  return program;
}

ProgramId ProgramTree::addExternal(const char* kind, const std::string& path) {
  return add(microBatch_, kind, path);
}

ProgramId ProgramTree::programOf(const devices::LoweredStepMemory& step) {
  const auto [known, isNew] = known_.try_emplace({step.pass, step.name, step.program});
  if (isNew) known->second = add(root_, step.program, step.name);
  return known->second;
}

}  // namespace pipescope::emulate
