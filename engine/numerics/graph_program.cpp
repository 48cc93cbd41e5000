#include "engine/numerics/graph_program.h"

#include <algorithm>

#include "engine/numerics/collectives.h"
#include "engine/numerics/instances.h"
#include "engine/numerics/program_builder.h"

namespace pipescope::numerics {

base::Result<GraphProgram> GraphProgram::create(const graph::Graph& graph,
                                                const ops::OperatorRegistry& registry) {
  return ProgramBuilder(graph, registry).build();
}

Workspace GraphProgram::makeWorkspace() const {
  std::size_t inputs = 0, outputs = 0;
  for (const Step& step : steps_) {
    inputs = std::max(inputs, step.inputs.size());
    outputs = std::max(outputs, step.outputs.size());
  }
  Workspace workspace;
  workspace.arena_ = AlignedBuffer(arenaBytes_);
  workspace.inputs_.resize(inputs);
  workspace.outputs_.resize(outputs);
  return workspace;
}

std::span<const std::byte> GraphProgram::read(const Place& place, const Bindings& bindings,
                                              const Workspace& workspace) const {
  const auto at = static_cast<std::size_t>(place.at);
  switch (place.kind) {
    case Place::Kind::none:
      return {};
    case Place::Kind::input:
      return bindings.inputs[at];
    case Place::Kind::weight:
      return bindings.weights[at];
    case Place::Kind::constant:
      return constants_[at];
    case Place::Kind::gradient:
      return bindings.gradients[at];
    case Place::Kind::arena:
      return workspace.arena_.part(place.at, place.bytes);
  }
  return {};
}

std::span<std::byte> GraphProgram::write(const Place& place, const Bindings& bindings,
                                         Workspace& workspace) const {
  if (place.kind == Place::Kind::gradient) return bindings.gradients[static_cast<std::size_t>(place.at)];
  return place.kind == Place::Kind::arena ? workspace.arena_.part(place.at, place.bytes)
                                          : std::span<std::byte>();
}

base::Status GraphProgram::runStep(const Step& step, const Bindings& bindings, Workspace& workspace) const {
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    workspace.inputs_[i] = read(step.inputs[i], bindings, workspace);
  for (std::size_t i = 0; i < step.outputs.size(); ++i)
    workspace.outputs_[i] = write(step.outputs[i], bindings, workspace);
  ops::KernelArguments arguments;
  arguments.inputs = std::span(workspace.inputs_).first(step.inputs.size());
  arguments.outputs = std::span(workspace.outputs_).first(step.outputs.size());
  arguments.scratch = workspace.arena_.part(step.scratch, step.kernel.scratchBytes);
  arguments.identity = bindings.identity;
  arguments.executor = bindings.executor;
  if (!checksFinite_) return step.kernel.run(arguments);
  const CheckedNode& node = checked_[static_cast<std::size_t>(&step - steps_.data())];
  const Numbers start = node.start(arguments.inputs);
  PIPESCOPE_TRY(step.kernel.run(arguments));
  return node.check(start, arguments.outputs);
}

namespace {

/// Sums over each group of replicas. `parts` are those of all replicas, in ascending order.
void sumGroups(std::span<const std::span<float>> parts, std::size_t group) {
  PIPESCOPE_CHECK(parts.size() % group == 0, "replicas that do not divide into groups");
  const InProcessCollectives collectives;
  for (std::size_t first = 0; first < parts.size(); first += group)
    collectives.allReduceSum(parts.subspan(first, group));
}

/// The same for `parts` of one instance, with the parts of all instances. The values are statistics of a few
/// channels, so every instance gets all of them and adds up its own groups.
void sumGroupsOfInstances(std::span<const std::span<float>> parts, std::size_t group,
                          const Instances& instances) {
  const std::size_t each = parts.front().size();
  std::vector<float> own;
  for (const std::span<float> part : parts) own.insert(own.end(), part.begin(), part.end());
  std::vector<std::byte> gathered = instances.gather(std::as_bytes(std::span(own)));
  const std::span<float> values = valuesOf<float>(std::span<std::byte>(gathered));
  std::vector<std::span<float>> all;
  for (std::size_t at = 0; at < values.size(); at += each) all.push_back(values.subspan(at, each));
  sumGroups(all, group);
  const std::size_t before = static_cast<std::size_t>(instances.index()) * parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) std::ranges::copy(all[before + i], parts[i].begin());
}

}  // namespace

/// Sums the input of a step over each group of replicas and writes the sum to the outputs of the step.
void GraphProgram::exchange(const Step& step, std::span<const Bindings> bindings,
                            std::span<Workspace* const> workspaces, const Instances* instances) const {
  const auto group = static_cast<std::size_t>(step.group);
  std::vector<std::span<float>> parts;
  for (std::size_t replica = 0; replica < workspaces.size(); ++replica) {
    Workspace& workspace = *workspaces[replica];
    const std::span<const std::byte> own = read(step.inputs[0], bindings[replica], workspace);
    const std::span<std::byte> sum = write(step.outputs[0], bindings[replica], workspace);
    if (sum.data() != own.data()) std::ranges::copy(own, sum.begin());
    parts.push_back(valuesOf<float>(sum));
  }
  if (instances != nullptr && workspaces.size() % group != 0)
    sumGroupsOfInstances(parts, group, *instances);
  else
    sumGroups(parts, group);
}

base::Status GraphProgram::runTogether(std::span<const Bindings> bindings,
                                       std::span<Workspace* const> workspaces,
                                       const Instances* instances) const {
  for (std::size_t from = 0; from < steps_.size();) {
    std::size_t to = from;
    while (to < steps_.size() && steps_[to].group == 0) ++to;
    for (std::size_t replica = 0; replica < workspaces.size(); ++replica) {
      for (std::size_t step = from; step < to; ++step)
        PIPESCOPE_TRY(runStep(steps_[step], bindings[replica], *workspaces[replica]));
    }
    if (to < steps_.size()) exchange(steps_[to], bindings, workspaces, instances);
    from = to + 1;
  }
  for (std::size_t replica = 0; replica < workspaces.size(); ++replica) {
    for (const auto& [from, to] : copies_) {
      std::ranges::copy(read(from, bindings[replica], *workspaces[replica]),
                        write(to, bindings[replica], *workspaces[replica]).begin());
    }
  }
  return {};
}

bool GraphProgram::setConstant(const std::string& name, std::span<const std::byte> value) {
  const auto found = std::ranges::find(constantNames_, name);
  if (found == constantNames_.end()) return false;
  std::vector<std::byte>& bytes = constants_[static_cast<std::size_t>(found - constantNames_.begin())];
  PIPESCOPE_CHECK(bytes.size() == value.size(), name);
  std::ranges::copy(value, bytes.begin());
  return true;
}

base::Status GraphProgram::run(const Bindings& bindings, Workspace& workspace) const {
  for (const Step& step : steps_) PIPESCOPE_TRY(runStep(step, bindings, workspace));
  for (const auto& [from, to] : copies_)
    std::ranges::copy(read(from, bindings, workspace), write(to, bindings, workspace).begin());
  return {};
}

std::span<const std::byte> GraphProgram::output(const Workspace& workspace, const Bindings& bindings,
                                                std::size_t index) const {
  return read(outputs_[index], bindings, workspace);
}

std::span<const std::byte> GraphProgram::loss(const Workspace& workspace, const Bindings& bindings) const {
  return read(loss_, bindings, workspace);
}

}  // namespace pipescope::numerics
