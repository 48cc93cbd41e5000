#include "engine/schedules/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pipescope::schedules {

std::vector<Chunk> chunksOf(const Shape& shape) {
  std::vector<Chunk> chunks;
  for (int s = 0; s < shape.stages; ++s) {
    const int place = shape.placeOfStage[static_cast<std::size_t>(s)];
    if (chunks.empty() || chunks.back().place != place) chunks.push_back({place, {}});
    chunks.back().stages.push_back(s);
  }
  return chunks;
}

base::Status requireOwnDevices(const std::vector<Chunk>& chunks, const std::string& schedule) {
  std::set<int> seen;
  for (const Chunk& chunk : chunks) {
    if (seen.insert(chunk.place).second) continue;
    return base::badInput(
        fmt::format("The {} schedule cannot return to a device, but stage {} is on device {}, which holds an "
                    "earlier stage that is not its neighbour: give each run of neighbouring stages a device "
                    "of its own, or use "
                    "interleaved-1f1b or popart.",
                    schedule, chunk.stages.front(), chunk.place));
  }
  return {};
}

TaskList::TaskList(const Shape& shape)
    : shape_(shape), blockStart_(static_cast<std::size_t>(placeCount(shape)), 0) {
  order_.places.resize(blockStart_.size());
}

void TaskList::add(const Chunk& chunk, model::Pass pass, int microBatch) {
  std::vector<Task>& tasks = order_.places[static_cast<std::size_t>(chunk.place)];
  if (pass == model::Pass::forward) {
    for (const int stage : chunk.stages)
      tasks.push_back({.stage = stage, .microBatch = microBatch, .pass = pass});
  } else {
    for (auto stage = chunk.stages.rbegin(); stage != chunk.stages.rend(); ++stage)
      tasks.push_back({.stage = *stage, .microBatch = microBatch, .pass = pass});
  }
}

void TaskList::begin(int place) {
  const auto d = static_cast<std::size_t>(place);
  blockStart_[d] = order_.places[d].size();
}

void TaskList::end(int place) {
  const auto d = static_cast<std::size_t>(place);
  std::vector<Task>& tasks = order_.places[d];
  for (std::size_t i = blockStart_[d] + 1; i < tasks.size(); ++i) tasks[i].joined = true;
}

Order TaskList::take() {
  const auto stages = static_cast<std::size_t>(shape_.stages);
  std::vector<std::int64_t> live(stages, 0), pending(stages, 0);
  order_.stashEntries.assign(stages, 0);
  order_.weightEntries.assign(stages, 0);
  for (const std::vector<Task>& tasks : order_.places) {
    const bool split = std::any_of(tasks.begin(), tasks.end(),
                                   [](const Task& task) { return task.pass == model::Pass::weightGradient; });
    for (const Task& task : tasks) {
      const auto s = static_cast<std::size_t>(task.stage);
      if (task.pass == model::Pass::forward)
        order_.stashEntries[s] = std::max(order_.stashEntries[s], ++live[s]);
      if (task.pass == model::Pass::backward && split)
        order_.weightEntries[s] = std::max(order_.weightEntries[s], ++pending[s]);
      if (task.pass == model::Pass::weightGradient) --pending[s];
      if (task.pass == (split ? model::Pass::weightGradient : model::Pass::backward)) --live[s];
    }
  }
  // A stage that never holds more than one micro-batch needs no ring. Without a backward pass nothing is
  // kept.
  for (std::vector<std::int64_t>* entries : {&order_.stashEntries, &order_.weightEntries}) {
    for (std::int64_t& count : *entries) count = count > 1 && shape_.training ? count : 0;
  }
  return std::move(order_);
}

}  // namespace pipescope::schedules
