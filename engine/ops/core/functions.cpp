#include "engine/ops/core/functions.h"

#include "profiler/base/check.h"

namespace pipescope::ops {
namespace {

#define PIPESCOPE_VALUE(id, name) MapFunction::id,
constexpr MapFunction kMapFunctions[] = {PIPESCOPE_MAP_FUNCTIONS(PIPESCOPE_VALUE)};
#undef PIPESCOPE_VALUE

#define PIPESCOPE_NAME(id, name) name,
constexpr const char* kMapNames[] = {PIPESCOPE_MAP_FUNCTIONS(PIPESCOPE_NAME)};
#undef PIPESCOPE_NAME

}  // namespace

const char* toString(MapFunction function) {
  return kMapNames[static_cast<std::size_t>(function)];
}

const char* toString(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::sum:
      return "sum";
    case ReduceFunction::mean:
      return "mean";
    case ReduceFunction::max:
      return "max";
    case ReduceFunction::min:
      return "min";
    case ReduceFunction::product:
      return "product";
    case ReduceFunction::absSum:
      return "abs_sum";
    case ReduceFunction::squareSum:
      return "square_sum";
    case ReduceFunction::argmax:
      return "argmax";
    case ReduceFunction::argmin:
      return "argmin";
  }
  PIPESCOPE_CHECK(false, "a reduction that is not in the enumeration");
}

const char* toString(PoolFunction function) {
  switch (function) {
    case PoolFunction::max:
      return "max";
    case PoolFunction::average:
      return "average";
  }
  PIPESCOPE_CHECK(false, "a pooling that is not in the enumeration");
}

std::span<const MapFunction> allMapFunctions() {
  return kMapFunctions;
}

}  // namespace pipescope::ops
