// gaudi_points [FILE.csv]: emulates published measurements of Gaudis and prints how far off each is. Exit
// status 1 where a point is further off than its tolerance.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "tests/conformance/gaudi/point.h"

int main(int argc, char** argv) {
  using namespace pipescope::conformance;
  CLI::App app("Compares emulated Gaudis with measured ones.");
  std::string file = PIPESCOPE_GAUDI_POINTS;
  app.add_option("file", file, "Table of points (CSV)")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto points = readPoints(file);
  if (!points) {
    std::fprintf(stderr, "%s\n", points.error().message.c_str());
    return 2;
  }
  int status = 0;
  for (const Point& point : *points) {
    const auto ours = emulate(point);
    if (!ours) {
      std::printf("%-10s %3d %-10s %s\n", point.device.c_str(), point.cards, point.workload.c_str(),
                  ours.error().message.c_str());
      status = 2;
      continue;
    }
    const double error = *ours / point.measured - 1;
    const bool judged = point.tolerance > 0,
               off = judged && (error > point.tolerance || error < -point.tolerance);
    std::printf("%-10s %3d %-10s %11.4g measured %11.4g  error %+6.1f %%  %s%s\n", point.device.c_str(),
                point.cards, point.workload.c_str(), *ours, point.measured, 100 * error, point.source.c_str(),
                off      ? "  OUTSIDE"
                : judged ? ""
                         : "  (not judged)");
    if (off && status == 0) status = 1;
  }
  return status;
}
