#include "engine/devices/core/float8_figures.h"

#include <fmt/format.h>

#include "engine/ops/core/float8.h"

namespace pipescope::devices {
namespace {

base::Result<graph::ElementType> float8Type(const FigureFile& file, const char* name, int fraction,
                                            double bias, double largest) {
  if (const auto type = ops::float8TypeOf(fraction, bias, largest)) return *type;
  return base::badInput(
      fmt::format("{}: the chip multiplies float8, but {}_bias is {} and {}_largest is {}, which is no known "
                  "definition; known are {}.",
                  file.file, name, bias, name, largest,
                  fraction == 3 ? "7 and 240, 7 and 448, and 8 and 240" : "15 and 57344, and 16 and 57344"));
}

}  // namespace

Float8Figures readFloat8(FigureReader& read) {
  return {read.positiveOr("float8_143_bias", "1", 0), read.positiveOr("float8_143_largest", "1", 0),
          read.positiveOr("float8_152_bias", "1", 0), read.positiveOr("float8_152_largest", "1", 0)};
}

base::Result<Float8Support> float8Support(const FigureFile& file, const Float8Figures& figures,
                                          Float8Support rest) {
  PIPESCOPE_ASSIGN(rest.e143, float8Type(file, "float8_143", 3, figures.bias143, figures.largest143));
  PIPESCOPE_ASSIGN(rest.e152, float8Type(file, "float8_152", 2, figures.bias152, figures.largest152));
  return rest;
}

}  // namespace pipescope::devices
