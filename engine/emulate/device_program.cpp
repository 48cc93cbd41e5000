#include "engine/emulate/device_program.h"

namespace pipescope::emulate {

using model::Pass;
using model::ProgramId;

model::DebugContextId NameTree::at(std::string_view path, const char* layer) {
  if (path.empty()) return {};
  if (const auto found = known_.find(path); found != known_.end()) return found->second;
  const std::size_t slash = path.rfind('/');
  const bool isRoot = slash == std::string_view::npos;
  const model::DebugContextId parent = isRoot ? model::DebugContextId() : at(path.substr(0, slash), "scope");
  const std::string own(isRoot ? path : path.substr(slash + 1));
  const model::DebugContextId id = recorder_.add(model::DebugContext{{}, parent, own, layer});
  known_.emplace(path, id);
  return id;
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
