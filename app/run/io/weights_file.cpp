#include "app/run/io/weights_file.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/data/npy_file.h"
#include "engine/numerics/values.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::app {
namespace {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorType;
using graph::TensorValue;
using Arrays = std::map<std::string, TensorValue>;

template <class T>
std::span<const std::byte> bytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Copies the array's numbers into `to`, converted to the target's type.
Status assign(const std::string& path, const std::string& name, const TensorValue& array,
              const TensorType& type, std::span<std::byte> to) {
  if (array.type.shape != type.shape || (array.type != type && !numerics::isTrainable(array.type.element))) {
    return badInput(fmt::format("{}: {} is {}, but the model has {}.", path, name,
                                graph::toString(array.type), graph::toString(type)));
  }
  std::vector<float> values(static_cast<std::size_t>(type.elements()));
  numerics::readFloats(array.type.element, array.bytes, 0, values);
  numerics::writeFloats(type.element, values, 0, to);
  return {};
}

template <class T>
Result<std::optional<T>> number(const std::string& path, const Arrays& arrays, const std::string& name,
                                graph::ElementType type) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return std::optional<T>();
  if (found->second.type != TensorType{type, {}})
    return badInput(fmt::format("{}: {} is {}, but must be {}.", path, name,
                                graph::toString(found->second.type), graph::toString(TensorType{type, {}})));
  T value{};
  std::memcpy(&value, found->second.bytes.data(), sizeof(T));
  return std::optional<T>(value);
}

/// Loads the optimizer's state. A file must hold all of it or none.
Status loadState(const std::string& path, const Arrays& arrays, numerics::Session& session) {
  PIPESCOPE_ASSIGN(const std::optional<std::int64_t> updates,
                   number<std::int64_t>(path, arrays, "optimizer/updates", graph::ElementType::int64));
  if (!updates) return {};
  if (*updates < 0) return badInput(fmt::format("{}: optimizer/updates is {}.", path, *updates));
  for (const numerics::NamedState& state : session.updater()->state()) {
    const auto found = arrays.find("optimizer/" + state.name);
    if (found == arrays.end()) {
      return badInput(
          fmt::format("{} has an optimizer's state, but no {}: it was saved with another optimizer than {}.",
                      path, state.name, session.optimizer()->name()));
    }
    PIPESCOPE_TRY(assign(path, found->first, found->second, state.type, state.bytes));
  }
  PIPESCOPE_ASSIGN(const std::optional<double> scale,
                   number<double>(path, arrays, "optimizer/loss_scale", graph::ElementType::float64));
  if (scale) session.updater()->lossScale().restore(*scale);
  session.restoreSteps(*updates);
  return {};
}

}  // namespace

Status checkWeightFiles(const config::Configuration& c) {
  const std::string &save = c.text("execution.save_weights"), &load = c.text("execution.load_weights");
  if (!load.empty() && !load.ends_with(".npz"))
    return badInput("execution.load_weights is " + load + ": weights are loaded from an .npz file.");
  if ((!save.empty() || !load.empty()) && !c.boolean("execution.numerics"))
    return badInput(fmt::format("{} is given, but without numerics there are no weights.",
                                save.empty() ? "execution.load_weights" : "execution.save_weights"));
  if (save.empty()) return {};
  if (base::isStandardOutput(save))
    return badInput(
        "execution.save_weights is -, but weights cannot be written to standard output: name a file that "
        "ends "
        "in .npz or, for an ONNX model, in .onnx.");
  if (!save.ends_with(".npz") && !save.ends_with(".onnx"))
    return badInput("execution.save_weights is " + save +
                    ": weights are saved in an .npz file, or an ONNX model's in an .onnx file.");
  if (c.text("execution.mode") == "inference")
    return badInput("execution.save_weights is given, but inference changes no weights: run with training.");
  return {};
}

Status saveWeights(const std::string& path, numerics::Session& session) {
  std::vector<data::NpzMember> members;
  const numerics::Parameters& parameters = session.parameters();
  for (std::size_t i = 0; i < parameters.count(); ++i)
    members.push_back({parameters.name(i), parameters.type(i), parameters.bytes(i)});
  const std::vector<numerics::NamedState> state =
      session.updater() ? session.updater()->state() : std::vector<numerics::NamedState>();
  for (const numerics::NamedState& each : state)
    members.push_back({"optimizer/" + each.name, each.type, each.bytes});
  const std::int64_t updates = session.steps();
  const double scale = session.updater() ? session.updater()->lossScale().value() : 1;
  members.push_back({"optimizer/updates", {graph::ElementType::int64, {}}, bytesOf(updates)});
  members.push_back({"optimizer/loss_scale", {graph::ElementType::float64, {}}, bytesOf(scale)});
  return data::writeNpz(path, members);
}

Status loadWeights(const std::string& path, numerics::Session& session) {
  PIPESCOPE_ASSIGN(const Arrays arrays, data::readNpz(path));
  numerics::Parameters& parameters = session.parameters();
  for (std::size_t i = 0; i < parameters.count(); ++i) {
    const auto found = arrays.find(parameters.name(i));
    if (found == arrays.end()) return badInput(fmt::format("{} has no weight {}.", path, parameters.name(i)));
    PIPESCOPE_TRY(assign(path, found->first, found->second, parameters.type(i), parameters.bytes(i)));
  }
  if (!session.updater()) return {};
  session.weightsChanged();
  return loadState(path, arrays, session);
}

}  // namespace pipescope::app
