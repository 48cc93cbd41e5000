#include "profiler/base/result.h"

namespace pipescope::base {

void failWithoutValue(const Error& error) {
  checkFailed(__FILE__, __LINE__, "ok()", "value() of a Result that holds an error: " + error.message);
}

void failWithoutError() {
  checkFailed(__FILE__, __LINE__, "!ok()", "error() of a Result that holds no error");
}

}  // namespace pipescope::base
