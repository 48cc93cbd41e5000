#include "engine/numerics/program.h"

#include <algorithm>

#include "engine/numerics/program_builder.h"

namespace pipescope::numerics {

base::Result<Program> Program::create(const graph::Graph& graph, const ops::OperatorRegistry& registry) {
  return ProgramBuilder(graph, registry).build();
}

Workspace Program::makeWorkspace() const {
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

std::span<const std::byte> Program::read(const Place& place, const Bindings& bindings,
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

std::span<std::byte> Program::write(const Place& place, const Bindings& bindings,
                                    Workspace& workspace) const {
  if (place.kind == Place::Kind::gradient) return bindings.gradients[static_cast<std::size_t>(place.at)];
  return place.kind == Place::Kind::arena ? workspace.arena_.part(place.at, place.bytes)
                                          : std::span<std::byte>();
}

base::Status Program::run(const Bindings& bindings, Workspace& workspace) const {
  for (const Step& step : steps_) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      workspace.inputs_[i] = read(step.inputs[i], bindings, workspace);
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      workspace.outputs_[i] = write(step.outputs[i], bindings, workspace);
    ops::KernelArguments arguments;
    arguments.inputs = std::span(workspace.inputs_).first(step.inputs.size());
    arguments.outputs = std::span(workspace.outputs_).first(step.outputs.size());
    arguments.scratch = workspace.arena_.part(step.scratch, step.kernel.scratchBytes);
    arguments.identity = bindings.identity;
    PIPESCOPE_TRY(step.kernel.run(arguments));
  }
  for (const auto& [from, to] : copies_)
    std::ranges::copy(read(from, bindings, workspace), write(to, bindings, workspace).begin());
  return {};
}

std::span<const std::byte> Program::output(const Workspace& workspace, const Bindings& bindings,
                                           std::size_t index) const {
  return read(outputs_[index], bindings, workspace);
}

std::span<const std::byte> Program::loss(const Workspace& workspace, const Bindings& bindings) const {
  return read(loss_, bindings, workspace);
}

}  // namespace pipescope::numerics
