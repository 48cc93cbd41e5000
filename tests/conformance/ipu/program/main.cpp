// ipu_layer_benchmark [FILE.csv] [--json] [--write-bands] [--explain NAME] [--target T] [--tool T] emulates
// the layers of a table and compares them with the measurements.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/conformance/ipu/report.h"

namespace {

using namespace pipescope::conformance;

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares emulated layers with measured ones.");
  std::string file = PIPESCOPE_LAYER_TABLE, explain, onlyTarget, onlyTool;
  bool json = false, writeBands = false, explainAll = false;
  app.add_option("file", file, "Table of measured layers (CSV)")->capture_default_str();
  app.add_flag("--json", json, "All rows as a JSON array");
  app.add_flag("--write-bands", writeBands, "Write resources/devices/bands.toml from the tests' own table");
  app.add_option("--explain", explain, "Show the steps and variables of the layers of this name");
  app.add_flag("--explain-all", explainAll, "Show the steps and variables of all layers");
  app.add_option("--target", onlyTarget, "Only rows of this target");
  app.add_option("--tool", onlyTool, "Only rows of this tool");
  CLI11_PARSE(app, argc, argv);
  const auto rows = readLayers(file);
  if (!rows) return fail(rows.error().message);
  LayerModel model;
  std::vector<LayerResult> results;
  for (const LayerRow& row : *rows) {
    if (!onlyTarget.empty() && row.target != onlyTarget) continue;
    if (!onlyTool.empty() && row.tool != onlyTool) continue;
    if (!explain.empty() && row.name != explain) continue;
    if (!explain.empty() || explainAll) {
      std::printf("%s %s: %s\n%s\n", row.target.c_str(), row.name.c_str(), row.params.c_str(),
                  model.explain(row).c_str());
    }
    results.push_back(model.emulate(row));
  }
  if (writeBands) {
    if (file != PIPESCOPE_LAYER_TABLE || !onlyTarget.empty() || !onlyTool.empty() || !explain.empty())
      return fail(
          "--write-bands takes the tests' own table, whole: leave FILE, --target, --tool and --explain out.");
    std::ofstream stream(PIPESCOPE_BANDS_FILE);
    if (!(stream << toBands(results, PIPESCOPE_LAYER_SOURCE)).flush())
      return fail("Cannot write " PIPESCOPE_BANDS_FILE ".");
  }
  std::fputs((json ? toJson(results) : toText(results)).c_str(), stdout);
  for (const LayerResult& result : results) {
    if (!result.fault.empty()) return 1;
  }
  return 0;
}
