// The extension module _pipescope: opens profiles under libpva's names (profiler/analysis/pva), returns
// tables as NumPy columns, and runs configurations.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdlib>

#include "app/python/host_module.h"
#include "app/python/interface_module.h"
#include "app/python/interruptible.h"
#include "app/python/table_columns.h"
#include "app/run/execute/run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/data/digits/digit_cache.h"
#include "profiler/analysis/pva/report.h"
#include "profiler/base/executor.h"
#include "profiler/base/version.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::python {
namespace {

namespace py = pybind11;

pva::Report openReport(const std::string& path) {
  std::optional<base::Error> error;
  std::optional<pva::Report> report;
  {
    const py::gil_scoped_release release;
    auto reader = store::ProfileReader::open(path);
    if (reader.ok()) {
      auto made = pva::Report::make(*reader);
      made.ok() ? void(report = std::move(*made)) : void(error = made.error());
    } else {
      error = reader.error();
    }
  }
  if (error) raise(*error);
  return *report;
}

std::string textOf(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  return py::str(value);
}

pva::Report run(const std::string& file, const std::string& output, const py::dict& settings) {
  auto configuration = must(app::readConfiguration(file));
  const auto set = [](const base::Status& status) {
    if (!status.ok()) raise(status.error());
  };
  set(configuration.applyEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); }));
  for (const auto& [key, value] : settings)
    set(configuration.setText(textOf(key), textOf(value), config::Origin::flag));
  Interruptible progress;
  (void)withoutLock(progress, [&] {
    return app::runConfiguration(configuration, {output, "pipescope.run(\"" + file + "\")", {{file}}},
                                 progress);
  });
  return openReport(output);
}

std::string digits(std::int64_t train, std::int64_t test, std::uint64_t seed) {
  if (train < 1 || test < 1) throw py::value_error("Ask for at least one digit for training and for test.");
  const std::filesystem::path cache = must(data::defaultCacheDirectory());
  Interruptible progress;
  base::SerialExecutor executor;
  return *withoutLock(progress, [&] {
    return data::ensureDigits(cache, progress, executor, {seed, train, test});
  });
}

void defineTarget(py::module_& m) {
  py::class_<pva::Target>(m, "Target", "The emulated system")
      .def_readonly("type", &pva::Target::type)
      .def_readonly("architecture", &pva::Target::architecture)
      .def_readonly("numIPUs", &pva::Target::numIPUs)
      .def_readonly("tilesPerIpu", &pva::Target::tilesPerIpu)
      .def_readonly("numTiles", &pva::Target::numTiles)
      .def_readonly("bytesPerTile", &pva::Target::bytesPerTile)
      .def_readonly("bytesPerIPU", &pva::Target::bytesPerIPU)
      .def_readonly("totalMemory", &pva::Target::totalMemory)
      .def_readonly("clockFrequency", &pva::Target::clockFrequency)
      .def_readonly("numReplicas", &pva::Target::numReplicas)
      .def_readonly("ipusPerReplica", &pva::Target::ipusPerReplica)
      .def_readonly("tilesPerReplica", &pva::Target::tilesPerReplica)
      .def_readonly("memoryPerReplica", &pva::Target::memoryPerReplica);
}

void defineMemory(py::module_& m) {
  py::class_<pva::GapBytes>(m, "GapBytes")
      .def_readonly("includingGaps", &pva::GapBytes::includingGaps)
      .def_readonly("excludingGaps", &pva::GapBytes::excludingGaps);
  py::class_<pva::CategoryMemory>(m, "CategoryMemory")
      .def(py::init<>())
      .def_readonly("total", &pva::CategoryMemory::total)
      .def_readonly("interleaved", &pva::CategoryMemory::interleaved)
      .def_readonly("nonInterleaved", &pva::CategoryMemory::nonInterleaved)
      .def_readonly("overflowed", &pva::CategoryMemory::overflowed);
  py::class_<pva::TileMemory>(m, "TileMemory")
      .def_readonly("total", &pva::TileMemory::total)
      .def_readonly("interleaved", &pva::TileMemory::interleaved)
      .def_readonly("nonInterleaved", &pva::TileMemory::nonInterleaved)
      .def_readonly("overflowed", &pva::TileMemory::overflowed)
      .def_readonly("alwaysLiveBytes", &pva::TileMemory::alwaysLiveBytes)
      .def_readonly("notAlwaysLiveBytes", &pva::TileMemory::notAlwaysLiveBytes)
      .def_readonly("category", &pva::TileMemory::category)
      .def_property_readonly("vertices",
                             [](const pva::TileMemory& memory) { return must(memory.vertices()); });
  py::class_<pva::Tile>(m, "Tile")
      .def_readonly("id", &pva::Tile::id)
      .def_readonly("ipu", &pva::Tile::ipu)
      .def_readonly("memory", &pva::Tile::memory);
  py::class_<pva::Ipu>(m, "Ipu").def_readonly("id", &pva::Ipu::id).def_readonly("tiles", &pva::Ipu::tiles);
  py::class_<pva::Replica>(m, "Replica")
      .def_readonly("id", &pva::Replica::id)
      .def_readonly("ipus", &pva::Replica::ipus);
  py::class_<pva::Graph>(m, "Graph")
      .def_readonly("numComputeSets", &pva::Graph::numComputeSets)
      .def_readonly("numVars", &pva::Graph::numVars)
      .def_readonly("numVertices", &pva::Graph::numVertices);
  py::class_<pva::Variable>(m, "Variable")
      .def_readonly("name", &pva::Variable::name)
      .def_readonly("size", &pva::Variable::size);
  py::class_<pva::LoweredVariable>(m, "LoweredVariable", py::dynamic_attr())
      .def_readonly("_id", &pva::LoweredVariable::id)
      .def_readonly("name", &pva::LoweredVariable::name)
      .def_readonly("category", &pva::LoweredVariable::category)
      .def_readonly("shape", &pva::LoweredVariable::shape)
      .def_readonly("bytes", &pva::LoweredVariable::bytes)
      .def_readonly("tile", &pva::LoweredVariable::tile)
      .def_readonly("alwaysLive", &pva::LoweredVariable::alwaysLive)
      .def_readonly("offset", &pva::LoweredVariable::offset)
      .def_readonly("region", &pva::LoweredVariable::region)
      .def_readonly("firstStep", &pva::LoweredVariable::firstStep)
      .def_readonly("endStep", &pva::LoweredVariable::endStep);
  py::class_<pva::VertexType>(m, "VertexType")
      .def_readonly("name", &pva::VertexType::name)
      .def_readonly("size", &pva::VertexType::size);
  py::class_<pva::TileVertexMemory>(m, "TileVertexMemory")
      .def_readonly("type", &pva::TileVertexMemory::type)
      .def_readonly("count", &pva::TileVertexMemory::count)
      .def_readonly("codeBytes", &pva::TileVertexMemory::codeBytes)
      .def_readonly("vertexInstanceStateBytes", &pva::TileVertexMemory::vertexInstanceStateBytes)
      .def_readonly("vertexFieldDataBytes", &pva::TileVertexMemory::vertexFieldDataBytes);
  py::class_<pva::ComputeSetVertices>(m, "ComputeSetVertices")
      .def_readonly("type", &pva::ComputeSetVertices::type)
      .def_readonly("count", &pva::ComputeSetVertices::count)
      .def_readonly("tiles", &pva::ComputeSetVertices::tiles)
      .def_property_readonly("codeBytes", [](const pva::ComputeSetVertices& v) { return v.type.size; })
      .def_property_readonly(
          "countByTile",
          [](const pva::ComputeSetVertices& v) {
            return py::array_t<std::int64_t>(py::cast(v.countByTile()));
          },
          "Vertices on each tile of the IPU");
  py::class_<pva::LiveMemory>(m, "LiveMemory")
      .def_readonly("bytes", &pva::LiveMemory::bytes)
      .def_readonly("variables", &pva::LiveMemory::variables);
}

/// Overridden in Python.
class PythonVisitor : public pva::ProgramVisitor {
 public:
  void visitOnTileExecute(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitOnTileExecute, p);
  }
  void visitDoExchange(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitDoExchange, p);
  }
  void visitGlobalExchange(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitGlobalExchange, p);
  }
  void visitStreamCopy(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitStreamCopy, p);
  }
  void visitSync(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitSync, p);
  }
  void visitSequence(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitSequence, p);
  }
  void visitRepeat(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitRepeat, p);
  }
  void visitCall(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitCall, p);
  }
  void visitFunction(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitFunction, p);
  }
  void visitProgram(const pva::Program& p) override {
    PYBIND11_OVERRIDE(void, pva::ProgramVisitor, visitProgram, p);
  }
};

void definePrograms(py::module_& m) {
  py::class_<pva::DebugContext>(m, "DebugContext")
      .def_readonly("id", &pva::DebugContext::id)
      .def_readonly("name", &pva::DebugContext::name)
      .def_readonly("layer", &pva::DebugContext::layer)
      .def_readonly("parents", &pva::DebugContext::parents);
  py::class_<pva::Program>(m, "Program")
      .def_property_readonly("_id", &pva::Program::id)
      .def_property_readonly("name", &pva::Program::name)
      .def_property_readonly("type", &pva::Program::type)
      .def_property_readonly("children", &pva::Program::children)
      .def_property_readonly("count", &pva::Program::count)
      .def_property_readonly("target", &pva::Program::target)
      .def_property_readonly("debugContext", &pva::Program::debugContext)
      .def_property_readonly("computeset", &pva::Program::computeSet,
                             "What an OnTileExecute program computes; None for other types")
      .def_property_readonly(
          "estimatedCyclesByTile",
          [](const pva::Program& p) {
            return py::array_t<std::int64_t>(py::cast(must(p.estimatedCyclesByTile())));
          },
          "Cycles of each tile in one execution. Empty unless the run had --record tiles.")
      .def("accept", &pva::Program::accept, py::arg("visitor"));
  using Visitor = pva::ProgramVisitor;
  py::class_<Visitor, PythonVisitor>(m, "ProgramVisitor",
                                     "Derive a class from it and override its visit… methods.")
      .def(py::init<>())
      .def("visitOnTileExecute", &Visitor::visitOnTileExecute)
      .def("visitDoExchange", &Visitor::visitDoExchange)
      .def("visitGlobalExchange", &Visitor::visitGlobalExchange)
      .def("visitStreamCopy", &Visitor::visitStreamCopy)
      .def("visitSync", &Visitor::visitSync)
      .def("visitSequence", &Visitor::visitSequence)
      .def("visitRepeat", &Visitor::visitRepeat)
      .def("visitCall", &Visitor::visitCall)
      .def("visitFunction", &Visitor::visitFunction)
      .def("visitProgram", &Visitor::visitProgram);
  py::class_<pva::LivenessProgramStep>(m, "LivenessProgramStep")
      .def_property_readonly("index", &pva::LivenessProgramStep::index)
      .def_property_readonly("program", &pva::LivenessProgramStep::program)
      .def_property_readonly("notAlwaysLiveBytes", &pva::LivenessProgramStep::notAlwaysLiveBytes)
      .def_property_readonly(
          "notAlwaysLiveMemory",
          [](const pva::LivenessProgramStep& step) { return must(step.notAlwaysLiveMemory()); })
      .def(
          "notAlwaysLiveMemoryForTile",
          [](const pva::LivenessProgramStep& step, std::int64_t tile) {
            return must(step.notAlwaysLiveMemoryForTile(tile));
          },
          py::arg("tile"))
      .def_property_readonly("ipu", &pva::LivenessProgramStep::ipu);
}

void defineExecution(py::module_& m) {
  py::class_<pva::StepIpu>(m, "StepIpu")
      .def_readonly("ipu", &pva::StepIpu::ipu)
      .def_readonly("cycles", &pva::StepIpu::cycles)
      .def_readonly("cyclesFrom", &pva::StepIpu::cyclesFrom)
      .def_readonly("cyclesTo", &pva::StepIpu::cyclesTo)
      .def_readonly("activeTiles", &pva::StepIpu::activeTiles)
      .def_readonly("tileBalance", &pva::StepIpu::tileBalance)
      .def_readonly("dataIn", &pva::StepIpu::dataIn)
      .def_readonly("dataOut", &pva::StepIpu::dataOut);
  py::class_<pva::ExecutionStep>(m, "ExecutionStep")
      .def_property_readonly("program", &pva::ExecutionStep::program)
      .def_property_readonly("name", &pva::ExecutionStep::name)
      .def_property_readonly("kind", &pva::ExecutionStep::kind)
      .def_property_readonly("ipu", &pva::ExecutionStep::ipu)
      .def_property_readonly("cyclesByTile",
                             [](const pva::ExecutionStep& s) {
                               return py::array_t<std::int64_t>(py::cast(must(s.cyclesByTile())));
                             })
      .def_property_readonly("stage", &pva::ExecutionStep::stage)
      .def_property_readonly("microBatch", &pva::ExecutionStep::microBatch);
  py::class_<pva::Run>(m, "Run", py::dynamic_attr())
      .def_readonly("_id", &pva::Run::id)
      .def_readonly("name", &pva::Run::name)
      .def_readonly("cyclesFrom", &pva::Run::cyclesFrom)
      .def_readonly("cyclesTo", &pva::Run::cyclesTo)
      .def_readonly("startMicroseconds", &pva::Run::startMicroseconds)
      .def_readonly("endMicroseconds", &pva::Run::endMicroseconds)
      .def_readonly("samples", &pva::Run::samples);
  py::class_<pva::WindowSpan>(m, "WindowSpan")
      .def_readonly("ipu", &pva::WindowSpan::ipu)
      .def_readonly("lane", &pva::WindowSpan::lane)
      .def_readonly("kind", &pva::WindowSpan::kind)
      .def_readonly("name", &pva::WindowSpan::name)
      .def_readonly("cyclesFrom", &pva::WindowSpan::cyclesFrom)
      .def_readonly("cyclesTo", &pva::WindowSpan::cyclesTo)
      .def_readonly("steps", &pva::WindowSpan::steps);
  py::class_<pva::Execution>(m, "Execution")
      .def_property_readonly("runs", &pva::Execution::runs)
      .def_property_readonly("totalCycles", &pva::Execution::totalCycles)
      .def(
          "_steps",
          [](const pva::Execution& e, std::int64_t run, std::size_t most) {
            return must(e.steps(run, most));
          },
          py::arg("run"), py::arg("most") = 10'000'000,
          "Returns the steps of a run. Raises an error if there are more than `most`.")
      .def(
          "window",
          [](const pva::Execution& e, std::int64_t from, std::int64_t to, std::int64_t resolution) {
            return must(e.window(from, to, resolution));
          },
          py::arg("cyclesFrom"), py::arg("cyclesTo"), py::arg("resolution") = 0,
          "Returns what the devices do in a stretch of time. Joins steps that are shorter than `resolution` "
          "cycles with their neighbours.");
}

void defineReport(py::module_& m) {
  py::class_<pva::ComputeSet>(m, "ComputeSet")
      .def_property_readonly("name", &pva::ComputeSet::name)
      .def_property_readonly("program", &pva::ComputeSet::program)
      .def_property_readonly("estimatedCyclesByTile",
                             [](const pva::ComputeSet& c) {
                               return py::array_t<std::int64_t>(py::cast(must(c.estimatedCyclesByTile())));
                             })
      .def_property_readonly("vertices", [](const pva::ComputeSet& c) { return must(c.vertices()); });
  py::class_<pva::Compilation>(m, "Compilation", py::dynamic_attr())
      .def_property_readonly("_executable", &pva::Compilation::executable)
      .def_property_readonly("target", &pva::Compilation::target)
      .def_property_readonly("programs", [](const pva::Compilation& c) { return must(c.programs()); })
      .def_property_readonly("rootPrograms", [](const pva::Compilation& c) { return must(c.rootPrograms()); })
      .def_property_readonly("engineOptions",
                             [](const pva::Compilation& c) { return must(c.engineOptions()); })
      .def_property_readonly("computeSets", [](const pva::Compilation& c) { return must(c.computeSets()); })
      .def_property_readonly("tiles", [](const pva::Compilation& c) { return must(c.tiles()); })
      .def_property_readonly("ipus", [](const pva::Compilation& c) { return must(c.ipus()); })
      .def_property_readonly("replicas", [](const pva::Compilation& c) { return must(c.replicas()); })
      .def_property_readonly("graph", [](const pva::Compilation& c) { return must(c.graph()); })
      .def(
          "_livenessProgramSteps",
          [](const pva::Compilation& c, std::int64_t ipu) { return must(c.livenessProgramSteps(ipu)); },
          py::arg("ipu"))
      .def_property_readonly("alwaysLiveVariables",
                             [](const pva::Compilation& c) { return must(c.alwaysLiveVariables()); })
      .def(
          "alwaysLiveVariablesForTile",
          [](const pva::Compilation& c, std::int64_t tile) {
            return must(c.alwaysLiveVariablesForTile(tile));
          },
          py::arg("tile"))
      .def(
          "loweredVariablesForTile",
          [](const pva::Compilation& c, std::int64_t tile) { return must(c.loweredVariablesForTile(tile)); },
          py::arg("tile"))
      .def(
          "verticesForTile",
          [](const pva::Compilation& c, std::int64_t tile) { return must(c.verticesForTile(tile)); },
          py::arg("tile"));
  py::class_<pva::Operation>(m, "Operation", py::dynamic_attr())
      .def_readonly("debugContext", &pva::Operation::debugContext)
      .def_readonly("name", &pva::Operation::name)
      .def_readonly("kind", &pva::Operation::kind)
      .def_readonly("pass_", &pva::Operation::pass)
      .def_readonly("stage", &pva::Operation::stage)
      .def_readonly("flops", &pva::Operation::flops)
      .def_readonly("bytes", &pva::Operation::bytes);
  py::class_<pva::InstrumentationSettings>(m, "InstrumentationSettings")
      .def_readonly("compute", &pva::InstrumentationSettings::compute)
      .def_readonly("externalExchange", &pva::InstrumentationSettings::externalExchange);
  using pva::Report;
  py::class_<Report>(m, "Report", py::dynamic_attr(),
                     "An open profile. It reads each part when you ask for it.")
      .def_property_readonly("executables", &Report::executables)
      .def_property_readonly("compilation", [](const Report& r) { return must(r.compilation()); })
      .def_property_readonly("execution", [](const Report& r) { return must(r.execution()); })
      .def(
          "compilationOf", [](const Report& r, const std::string& e) { return must(r.compilation(e)); },
          py::arg("executable"))
      .def(
          "executionOf", [](const Report& r, const std::string& e) { return must(r.execution(e)); },
          py::arg("executable"))
      .def(
          "operations", [](const Report& r, const std::string& e) { return must(r.operations(e)); },
          py::arg("executable") = "")
      .def_property_readonly("instrumentationSettings",
                             [](const Report& r) { return must(r.instrumentationSettings()); })
      .def("property", &Report::property, py::arg("key"))
      .def("_debugContext", &Report::debugContext)
      .def("_debugContextOfVariable",
           [](const Report& r, std::int64_t id) { return must(r.debugContextOfVariable(id)); })
      .def_property_readonly("pipescopeVersion", &Report::pipescopeVersion)
      .def(
          "table",
          [](const Report& r, const std::string& table, std::int64_t start, std::int64_t stop) {
            return tableColumns(r.source(), table, start, stop);
          },
          py::arg("name"), py::arg("start") = 0, py::arg("stop") = -1,
          "Returns the rows [start, stop) of a table as {column: NumPy array or list of texts}. Reads only "
          "the "
          "blocks that hold these rows.");
}

}  // namespace

PYBIND11_MODULE(_pipescope, m) {
  m.doc() = "Opens and makes profiles of models on emulated IPUs and Gaudis. The names are those of libpva.";
  m.attr("__version__") = base::version();
  defineTarget(m);
  defineMemory(m);
  definePrograms(m);
  defineExecution(m);
  defineReport(m);
  auto interface = m.def_submodule(
      "interface", "Compile a model, attach to emulated devices, call: what app/run/interface is in C++.");
  defineInterface(interface);
  auto host = m.def_submodule("host", "What pipescope.trace is written on: spans of the host.");
  defineHost(host);
  m.def("openReport", &openReport, py::arg("path"), "Opens the profile at `path` and returns a Report.");
  m.def("digits", &digits, py::arg("train") = 60'000, py::arg("test") = 10'000, py::arg("seed") = 1,
        "Returns a folder with generated digits in MNIST's format. Draws them if they are not in the cache.");
  m.def(
      "run",
      [](const std::string& config, const std::string& output, const py::dict& settings) {
        return run(config, output, settings);
      },
      py::arg("config"), py::arg("output") = "profile.pop", py::arg("settings") = py::dict(),
      "Runs a configuration file and opens the profile that it writes. `settings` is {key: value}, as for "
      "--set.");
}

}  // namespace pipescope::python
