// The interface of app/run/interface in Python: compile, attach, call. pipescope.poptorch is written on it.
#include "app/python/interface_module.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <span>

#include "app/python/arrays.h"
#include "app/python/interruptible.h"
#include "app/run/interface/model_executable.h"
#include "app/run/interface/model_outline.h"
#include "app/run/io/event_file.h"
#include "engine/numerics/instance_module.h"

namespace pipescope::python {
namespace {

namespace py = pybind11;
using run::CompiledModel;
using run::EmulatedDevice;
using run::ExecutableInfo;
using run::ModelExecutable;

void check(const base::Status& status) {
  if (!status.ok()) raise(status.error());
}

std::shared_ptr<const std::vector<std::byte>> bytesOf(const py::bytes& bytes) {
  const auto text = static_cast<std::string_view>(bytes);
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return std::make_shared<const std::vector<std::byte>>(first, first + text.size());
}

std::vector<double> instanceValues(double value) {
  run::ModelOptions options;
  check(options.joinInstances());
  if (!options.instances()) return {value};
  const py::gil_scoped_release release;
  const std::vector<std::byte> all = options.instances()->gather(std::as_bytes(std::span(&value, 1)));
  std::vector<double> values(all.size() / sizeof(double));
  std::ranges::copy(all, std::as_writable_bytes(std::span(values)).begin());
  return values;
}

std::shared_ptr<const CompiledModel> compile(const std::string& toml, const std::string& name,
                                             const std::optional<py::bytes>& onnx) {
  run::ModelOptions options = must(run::ModelOptions::parse(toml, name));
  if (onnx) check(options.useModel(name, bytesOf(*onnx)));
  check(options.useEnvironment());
  check(options.joinInstances());
  Interruptible progress;
  return *withoutLock(progress, [&] { return CompiledModel::compile(options, progress); });
}

py::dict outline(const py::bytes& onnx, const std::string& name) {
  const run::ModelOutline read = must(run::outlineOf(*bytesOf(onnx), name));
  py::list nodes;
  for (const run::ModelOutline::Node& node : read.nodes) nodes.append(py::make_tuple(node.op, node.name));
  py::dict answer;
  answer["nodes"] = nodes;
  answer["inputs"] = read.inputs;
  answer["outputs"] = read.outputs;
  answer["weights"] = read.weights;
  answer["tensors"] = read.tensors;
  return answer;
}

std::vector<py::tuple> describe(const std::vector<run::TensorInfo>& tensors) {
  std::vector<py::tuple> all;
  for (const run::TensorInfo& tensor : tensors)
    all.push_back(py::make_tuple(tensor.name, graph::toString(tensor.type.element), tensor.type.shape));
  return all;
}

py::dict callExecutable(ModelExecutable& executable, EmulatedDevice& device, const std::string& name,
                        const py::dict& inputs, const std::vector<std::string>& weights) {
  run::CallRequest request;
  request.name = name;
  request.weights = weights;
  for (const run::TensorInfo& input : executable.info().inputs) {
    if (!executable.computes()) break;
    if (!inputs.contains(input.name)) throw py::value_error("The input " + input.name + " is missing.");
    request.inputs.push_back(viewOf(input.name, inputs[input.name.c_str()].cast<py::array>()));
  }
  Interruptible progress;
  base::Result<run::CallResult> made =
      withoutLock(progress, [&] { return executable.call(device, request, progress); });
  run::CallResult& result = *made;
  py::dict outputs;
  for (run::OutputTensor& output : result.outputs) {
    const std::string key = output.name;
    outputs[py::str(key)] = arrayOf(std::move(output));
  }
  py::dict values;
  for (run::OutputTensor& weight : result.weights) {
    const std::string key = weight.name;
    values[py::str(key)] = arrayOf(std::move(weight));
  }
  py::dict answer;
  answer["outputs"] = outputs;
  answer["weights"] = values;
  answer["losses"] = py::array(static_cast<py::ssize_t>(result.losses.size()), result.losses.data());
  answer["all_losses"] =
      py::array(static_cast<py::ssize_t>(result.allLosses.size()), result.allLosses.data());
  answer["returned_losses"] =
      py::array(static_cast<py::ssize_t>(result.returnedLosses.size()), result.returnedLosses.data());
  answer["emulated_seconds"] = result.emulatedSeconds;
  answer["emulated_ticks"] = (result.run.end - result.run.start).count;
  answer["loss_scale"] = result.lossScale;
  answer["run"] = result.run;
  return answer;
}

void defineProgram(py::module_& m) {
  py::class_<ExecutableInfo>(m, "ExecutableInfo", "What is known of an executable after compiling.")
      .def_readonly("name", &ExecutableInfo::name)
      .def_property_readonly("inputs", [](const ExecutableInfo& info) { return describe(info.inputs); })
      .def_property_readonly("outputs", [](const ExecutableInfo& info) { return describe(info.outputs); })
      .def_readonly("has_loss", &ExecutableInfo::hasLoss)
      .def_readonly("micro_batch_size", &ExecutableInfo::microBatchSize)
      .def_readonly("micro_batches", &ExecutableInfo::microBatches)
      .def_readonly("iterations", &ExecutableInfo::iterations)
      .def_readonly("replicas", &ExecutableInfo::replicas)
      .def_property_readonly("rows_per_call", &ExecutableInfo::rowsPerCall)
      .def_property_readonly(
          "stages",
          [](const ExecutableInfo& info) {
            std::vector<py::tuple> stages;
            for (const run::StageInfo& stage : info.stages)
              stages.push_back(py::make_tuple(stage.index, stage.device, stage.blocks, stage.forwardSeconds,
                                              stage.backwardSeconds));
            return stages;
          },
          "(stage, device, blocks, forward seconds, backward seconds) of each stage");
  py::class_<CompiledModel, std::shared_ptr<CompiledModel>>(m, "Program", "A compiled model.")
      .def_property_readonly("executables", &CompiledModel::executables)
      .def_property_readonly("fits", &CompiledModel::fits)
      .def_property_readonly("overflow", &CompiledModel::overflow)
      .def_property_readonly("notices", &CompiledModel::notices)
      .def("call_seconds",
           [](const CompiledModel& p, std::size_t index) { return must(p.callSeconds(index)); })
      .def("option", [](const CompiledModel& p, const std::string& path) {
        for (const config::OptionRow& row : p.configuration().dump()) {
          if (row.path == path) return row.value;
        }
        throw py::value_error("There is no option " + path + ".");
      });
  m.def(
      "compile",
      [](const std::string& toml, const std::string& name, const std::optional<py::bytes>& onnx) {
        return std::const_pointer_cast<CompiledModel>(compile(toml, name, onnx));
      },
      py::arg("toml"), py::arg("name"), py::arg("onnx") = py::none(),
      "Compiles a configuration given as TOML text, with an ONNX model in memory where `onnx` is given.");
}

void defineDevice(py::module_& m) {
  py::class_<model::Run>(m, "RecordedRun").def_readonly("name", &model::Run::name);
  py::class_<EmulatedDevice>(m, "Device", "The emulated devices of a program.")
      .def(py::init([](const std::shared_ptr<CompiledModel>& program, const std::string& profile,
                       const std::string& commandLine, std::int64_t calls) {
             return must(EmulatedDevice::create(
                 program, {.path = profile, .commandLine = commandLine, .calls = calls}));
           }),
           py::arg("program"), py::arg("profile") = "", py::arg("command_line") = "", py::arg("calls") = 0)
      .def("attach", [](EmulatedDevice& device) { check(device.attach()); })
      .def("detach", [](EmulatedDevice& device) { check(device.detach()); })
      .def("finish", [](EmulatedDevice& device) { check(device.finish()); })
      .def_property_readonly("is_attached", &EmulatedDevice::isAttached)
      .def("emulate", [](EmulatedDevice& device, std::size_t executable,
                         const std::string& name) { return must(device.emulate(executable, name, 0, 0)); })
      .def("add_counter",
           [](EmulatedDevice& device, std::size_t executable, const std::string& name,
              const std::string& unit) { return device.addCounter(executable, name, unit).value; })
      .def("add_sample", [](EmulatedDevice& device, std::int64_t counter, const model::Run& run,
                            double value) { device.addSample(model::CounterId(counter), run, value); });
}

void defineExecutable(py::module_& m) {
  py::class_<ModelExecutable>(m, "Executable", "An executable of a program, with its weights.")
      .def(py::init([](const std::shared_ptr<CompiledModel>& program, std::size_t index) {
             return must(ModelExecutable::create(program, index));
           }),
           py::arg("program"), py::arg("index"))
      .def_property_readonly("info", &ModelExecutable::info, py::return_value_policy::copy)
      .def("call", &callExecutable, py::arg("device"), py::arg("name"), py::arg("inputs"),
           py::arg("weights") = std::vector<std::string>(),
           "Computes one call. `inputs` is {name: array}. `weights` names those whose values after each "
           "update "
           "are returned. Returns a dictionary.")
      .def_property_readonly("weights", [](const ModelExecutable& e) { return describe(e.weights()); })
      .def("weight",
           [](const ModelExecutable& e, const std::string& name) { return copyOf(must(e.weight(name))); })
      .def("set_weight", [](ModelExecutable& e, const std::string& name,
                            const py::array& value) { check(e.setWeight(name, viewOf(name, value))); })
      .def("copy_weights",
           [](ModelExecutable& e, const ModelExecutable& from) { check(e.copyWeights(from)); })
      .def_property_readonly("updates", &ModelExecutable::updates)
      .def_property_readonly("optimizer_settings", &ModelExecutable::optimizerSettings)
      .def(
          "set_optimizer",
          [](ModelExecutable& e, const std::map<std::string, double>& changes,
             std::optional<std::size_t> group) {
            check(group ? e.setOptimizer(*group, changes) : e.setOptimizer(changes));
          },
          py::arg("changes"), py::arg("group") = py::none(),
          "Changes settings of the optimizer, or of one of its parameter groups.")
      .def(
          "set_optimizer_of",
          [](ModelExecutable& e, const std::string& weight, const std::map<std::string, double>& changes) {
            check(e.setOptimizer(weight, changes));
          },
          py::arg("weight"), py::arg("changes"),
          "Gives one weight a learning rate and a weight decay of its own, until its group's settings "
          "change.")
      .def_property_readonly("weight_hashes", &ModelExecutable::weightHashes,
                             "Hashes of the weights of all replicas, or of all instances.")
      .def_property("loss_scale", &ModelExecutable::lossScale,
                    [](ModelExecutable& e, double value) { check(e.setLossScale(value)); })
      .def("save", [](const ModelExecutable& e, const std::string& path) { check(e.save(path)); })
      .def("load", [](ModelExecutable& e, const std::string& path) { check(e.load(path)); });
}

void defineEvents(py::module_& m) {
  using app::EventFile;
  py::class_<EventFile>(m, "EventFile", "An event file of TensorBoard in a folder.")
      .def(py::init([](const std::string& folder) { return must(EventFile::create(folder)); }),
           py::arg("folder"))
      .def(
          "add",
          [](EventFile& file, std::int64_t step, const std::map<std::string, float>& scalars) {
            std::vector<EventFile::Scalar> rows;
            for (const auto& [tag, value] : scalars) rows.push_back({tag, value});
            check(file.add(step, rows));
          },
          py::arg("step"), py::arg("scalars"), "Adds {tag: value} of a step.");
}

}  // namespace

void defineInterface(py::module_& m) {
  defineEvents(m);
  defineProgram(m);
  defineDevice(m);
  defineExecutable(m);
  m.def("outline", &outline, py::arg("onnx"), py::arg("name"),
        "Returns {nodes: [(operator, name)], inputs: [name], outputs: [name], weights: [name], "
        "tensors: [name]} "
        "of an ONNX model, in its order.");
  m.def("instance_values", &instanceValues, py::arg("value"),
        "Returns the values that all instances pass, in their order. Every instance calls it. A process that "
        "runs alone gets its own value.");
  m.def("leave_instances", &numerics::leaveInstances, py::call_guard<py::gil_scoped_release>(),
        "Waits for all instances that `pipescope poprun` started, and leaves. Does nothing in a process that "
        "runs alone.");
}

}  // namespace pipescope::python
