#pragma once
// The schedules of the engine, as programs pass them in: this folder replays their orders and knows none.
#include <functional>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/clock/order.h"

namespace pipescope::replay {

/// Facts that a schedule needs to make an order.
struct OrderRequest {
  std::string schedule;
  int stages = 1, microBatches = 1;
  bool training = true;
  std::vector<int> placeOfStage;
};

/// The schedules that the engine has. Programs pass them in, because the profiler knows no schedule.
struct Schedules {
  std::vector<std::string> names;  ///< names that users may choose
  /// Makes an order. Errors: an unknown name, or a rule of the schedule that the request breaks.
  std::function<base::Result<clock::Order>(const OrderRequest&)> make;
};

}  // namespace pipescope::replay
