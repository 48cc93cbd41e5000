// gaudi_points [FILE.csv] [--write-bands] emulates published measurements of Gaudis and prints the error of
// each. The exit status is 1 if a point exceeds its tolerance.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/conformance/gaudi/report.h"

int main(int argc, char** argv) {
  using namespace pipescope::conformance;
  CLI::App app("Compares emulated Gaudis with measured ones.");
  std::string file;
  bool writeBands = false;
  app.add_option("file", file, "Table of points (CSV); without it the tests' own tables");
  app.add_flag("--write-bands", writeBands,
               "Write resources/devices/gaudi_bands.toml from the tests' own tables");
  CLI11_PARSE(app, argc, argv);
  const auto fail = [](const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return 2;
  };
  if (writeBands && !file.empty()) return fail("--write-bands takes the tests' own tables: leave FILE out.");
  std::vector<std::string> files = {file};
  if (file.empty()) files = {PIPESCOPE_GAUDI_POINTS, PIPESCOPE_GAUDI_HELD_OUT};
  std::vector<Point> points;
  for (const std::string& each : files) {
    const auto read = readPoints(each);
    if (!read) return fail(read.error().message);
    points.insert(points.end(), read->begin(), read->end());
  }
  const std::vector<PointResult> results = emulateAll(points);
  std::fputs(toText(results).c_str(), stdout);
  int status = 0;
  for (const PointResult& result : results) {
    if (!result.fault.empty()) status = 2;
    if (result.outside() && status == 0) status = 1;
  }
  if (writeBands && status != 2) {
    std::ofstream stream(PIPESCOPE_GAUDI_BANDS);
    if (!(stream << toBands(results)).flush()) return fail("Cannot write " PIPESCOPE_GAUDI_BANDS ".");
  }
  return status;
}
