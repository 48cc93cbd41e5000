#include "brute_force.h"

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

namespace pipescope::tests {
namespace {

using Case = BruteForceCase;
/// Tasks that start together, when the inputs of all of them are there.
using Block = std::vector<TaskName>;
using Program = std::vector<std::vector<Block>>;  // one for each device

int stagesOf(const Case& c) {
  return static_cast<int>(c.placeOfStage.size());
}
std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}
bool splits(const Case& c) {
  static const std::set<std::string> names = {"zb-h1", "zb-h2", "zb-v", "dualpipe"};
  return names.contains(c.schedule);
}
long bruteForceLengthOf(const Case& c, char kind, int stage) {
  if (kind == 'F') return c.forward[at(stage)];
  if (kind == 'W') return c.weight[at(stage)];
  return c.backward[at(stage)] - (splits(c) ? c.weight[at(stage)] : 0);
}

// --- Slotted schedules: closed formulas of the slot of each task ------------------------

/// Slot of F(k) or B(k) of a stage.
int slotOf(const Case& c, char kind, int stage, int k) {
  const int n = stagesOf(c);
  if (c.schedule == "tf-grouped") return kind == 'F' ? k + stage : k + 2 * n - 1 - stage;
  if (c.schedule == "tf-interleaved") return kind == 'F' ? 2 * k + stage : 2 * k + 2 * n - 1 - stage;
  // PopART: k + the number of changes of device on the way through the forward stages 0 … N−1 and the
  // gradients N−1 … 0.
  std::vector<int> way;
  for (int s = 0; s < n; ++s) way.push_back(c.placeOfStage[at(s)]);
  for (int s = n - 1; s >= 0; --s) way.push_back(c.placeOfStage[at(s)]);
  const int place = kind == 'F' ? stage : 2 * n - 1 - stage;
  int changes = 0;
  for (int i = 1; i <= place; ++i) changes += way[at(i)] != way[at(i - 1)] ? 1 : 0;
  return k + changes;
}

BruteForceResult bySlots(const Case& c) {
  // (slot, place within the slot) → task. TensorFlow runs backward passes first, PopART forward passes.
  std::map<std::tuple<int, int, int>, TaskName> byDevice[64];
  int slots = 0;
  for (int stage = 0; stage < stagesOf(c); ++stage) {
    for (int k = 0; k < c.microBatches; ++k) {
      for (const char kind : {'F', 'B'}) {
        if (kind == 'B' && !c.training) continue;
        const int slot = slotOf(c, kind, stage, k),
                  numbered = kind == 'F' ? stage : 2 * stagesOf(c) - 1 - stage;
        const int place = c.schedule == "popart" ? numbered : -numbered;
        byDevice[c.placeOfStage[at(stage)]][{slot, place, k}] = {kind, stage, k};
        slots = std::max(slots, slot + 1);
      }
    }
  }
  const std::set<int> used(c.placeOfStage.begin(), c.placeOfStage.end());
  BruteForceResult result;
  result.order.resize(at(*used.rbegin() + 1));
  long now = 0;
  for (int slot = 0; slot < slots; ++slot) {
    long slowest = now;
    for (const int device : used) {
      long free = now;
      for (const auto& [key, task] : byDevice[device]) {
        if (std::get<0>(key) != slot) continue;
        const long end = free + bruteForceLengthOf(c, std::get<0>(task), std::get<1>(task));
        result.tasks[task] = {device, free, end};
        result.order[at(device)].push_back(task);
        free = end;
      }
      slowest = std::max(slowest, free);
    }
    now = slowest + (used.size() > 1 ? c.exchange : 0);
  }
  result.end = now;
  return result;
}

// --- Recipes: what a device does, as text ------------------------------------------------

/// A recipe describes the program of a device in words. "F0" is the next forward pass of its chunk 0, "B1"
/// the next input gradients of chunk 1, "W1" weight gradients. "V1" is input and weight gradients as one
/// block, and "(F0V1)" is one block too. "w" is the oldest of the weight gradients that were put off.
std::string times(int count, const std::string& words) {
  std::string text;
  for (int i = 0; i < count; ++i) text += words + " ";
  return text;
}

/// `stages` are those of the chunks of the device; `first` is the first micro-batch of each chunk.
std::vector<Block> expand(const std::string& words, const std::vector<int>& stages,
                          const std::vector<int>& first, int microBatches) {
  std::vector<Block> blocks;
  std::map<char, std::vector<int>> next;
  for (const char kind : {'F', 'B', 'W'}) next[kind] = first;
  std::vector<TaskName> putOff;
  bool open = false;
  const auto put = [&](TaskName task) {
    if (!open) blocks.emplace_back();
    blocks.back().push_back(task);
  };
  const auto take = [&](char kind, int chunk) {
    return TaskName{kind, stages[at(chunk)], next[kind][at(chunk)]++};
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char c = words[i];
    if (c == '(') {
      blocks.emplace_back();
      open = true;
    } else if (c == ')') {
      open = false;
    } else if (c == 'w') {
      put(putOff.front());
      putOff.erase(putOff.begin());
    } else if (c == 'F' || c == 'B' || c == 'W' || c == 'V' || c == 'b') {
      const int chunk = words[++i] - '0';
      if (c == 'F' || c == 'W' || c == 'B') {
        put(take(c, chunk));
        continue;
      }
      const TaskName back = take('B', chunk);
      const TaskName weight{'W', std::get<1>(back), std::get<2>(back)};
      const bool outer = open;
      if (!open) blocks.emplace_back();
      open = true;
      put(back);
      if (c == 'V') put(weight);
      if (c == 'b') putOff.push_back(weight);
      open = outer;
    }
  }
  std::vector<Block> kept;
  for (Block block : blocks) {
    std::erase_if(block, [&](const TaskName& task) { return std::get<2>(task) >= microBatches; });
    if (!block.empty()) kept.push_back(block);
  }
  return kept;
}

std::vector<Block> zbvDevice(const Case& c, int d) {
  const int p = c.devices, all = std::max(2 * p - 1, c.microBatches);
  std::string words = times(2 * (p - d) - 1, "F0") + times(d, "F1 F0") + times(p - d, "F1 B1 W1");
  // So far there are 2(p−d)−1+d = 2p−d−1 forward passes of chunk 0 and p of chunk 1. Each round adds one of
  // each until none are left.
  for (int f0 = 2 * p - d - 1, f1 = p; f1 < f0 || f0 < all; ++f1) {
    if (f0 < all) words += "F0 ", ++f0;
    words += "B0 W0 F1 B1 W1 ";
  }
  words += times(d, "B0 B1") + times(p - d, "B0 W0");
  const auto count = [&](const std::string& word) {
    int found = 0;
    for (std::size_t i = words.find(word); i != std::string::npos; i = words.find(word, i + 1)) ++found;
    return found;
  };
  words += times(count("B1") - count("W1"), "W1");
  words += times(count("B0") - count("W0"), "W0");
  return expand(words, {d, 2 * p - 1 - d}, {0, 0}, c.microBatches);
}

std::vector<Block> dualPipeDevice(const Case& c, int device) {
  const int p = c.devices, m = c.microBatches, h = p / 2, r = std::min(device, p - 1 - device), a = h - r - 1;
  std::string words = times(2 * a, "F0") + times(r + 1, "F0 F1") + times(a, "b1 w F1");
  const int main = m / 2 - p + r + 1;
  if (a == 0) {
    words += "F0 V1 (F1V0) " + times(main - 1, "(F0V1) (F1V0)");
  } else {
    words += times(main, "(F0V1) (F1V0)");
  }
  words += times(a, "V1 (F1V0)");
  std::string last = times(r + 1, "V1 V0");
  int seen = 0;
  for (char& letter : last) {
    if (letter == 'V' && seen++ >= r + 1) letter = 'b';
  }
  words += last + times(a, "w b0") + times(r + 1, "w");
  // Direction 0 enters at the nearer end. In the lower half it is the first pipe, with micro-batches from 0.
  if (device < h) return expand(words, {device, 2 * p - 1 - device}, {0, m / 2}, m);
  return expand(words, {2 * p - 1 - device, device}, {m / 2, 0}, m);
}

// --- Rules of what comes next -------------------------------------------------------------

/// 1F1B and zero bubble H: if as many micro-batches are in flight as allowed, a backward pass is next;
/// otherwise a forward pass, as long as there are any.
std::vector<Block> inFlightDevice(const Case& c, int s) {
  const int p = c.devices, m = c.microBatches;
  const int allowed = c.schedule == "zb-h2" ? 2 * (p - 1 - s) + 1 : p - s;
  const int delay = c.schedule == "zb-h1" ? s : 2 * s;
  std::vector<Block> blocks;
  int forwards = 0, backwards = 0, weights = 0;
  while (backwards < m) {
    if (forwards < m && forwards - backwards < allowed) {
      blocks.push_back({{'F', s, forwards++}});
      continue;
    }
    blocks.push_back({{'B', s, backwards++}});
    if (splits(c) && backwards > delay) blocks.push_back({{'W', s, weights++}});
  }
  while (splits(c) && weights < m) blocks.push_back({{'W', s, weights++}});
  return blocks;
}

std::vector<Block> interleavedDevice(const Case& c, int s) {
  const int p = c.devices, v = c.chunks, m = c.microBatches;
  std::vector<TaskName> forwards, backwards;
  for (int group = 0; group < m; group += p) {
    for (int chunk = 0; chunk < v; ++chunk) {
      for (int k = group; k < group + p; ++k) forwards.push_back({'F', chunk * p + s, k});
    }
    for (int chunk = v - 1; chunk >= 0; --chunk) {
      for (int k = group; k < group + p; ++k) backwards.push_back({'B', chunk * p + s, k});
    }
  }
  const std::size_t warmUp = std::min(forwards.size(), at(2 * (p - s - 1) + (v - 1) * p));
  std::vector<Block> blocks;
  std::size_t f = 0, b = 0;
  while (b < backwards.size()) {
    if (f < forwards.size() && f < warmUp + b + 1) {
      blocks.push_back({forwards[f++]});
    } else {
      blocks.push_back({backwards[b++]});
    }
  }
  return blocks;
}

Program programOf(const Case& c) {
  Program program(at(1 + *std::max_element(c.placeOfStage.begin(), c.placeOfStage.end())));
  const int n = stagesOf(c);
  const auto add = [&](char kind, int stage, int k) {
    program[at(c.placeOfStage[at(stage)])].push_back({{kind, stage, k}});
  };
  if (c.schedule == "gpipe") {
    for (int s = 0; s < n; ++s) {
      for (int k = 0; k < c.microBatches; ++k) add('F', s, k);
    }
    for (int s = n - 1; s >= 0; --s) {
      for (int k = 0; k < c.microBatches; ++k) add('B', s, k);
    }
    return program;
  }
  if (c.schedule == "sharded" || c.schedule == "tf-sequential") {
    for (int k = 0; k < c.microBatches; ++k) {
      for (int s = 0; s < n; ++s) add('F', s, k);
      for (int s = n - 1; s >= 0; --s) add('B', s, k);
    }
    return program;
  }
  const std::map<std::string, std::function<std::vector<Block>(const Case&, int)>> rules = {
      {"1f1b", inFlightDevice},  {"zb-h1", inFlightDevice},
      {"zb-h2", inFlightDevice}, {"interleaved-1f1b", interleavedDevice},
      {"zb-v", zbvDevice},       {"dualpipe", dualPipeDevice}};
  for (int d = 0; d < c.devices; ++d) program[at(d)] = rules.at(c.schedule)(c, d);
  return program;
}

/// Moves the start of every block to the latest time that something holds it back to, until nothing changes:
/// a longest path.
BruteForceResult byRelaxation(const Case& c) {
  const Program program = programOf(c);
  const int pipes = c.schedule == "dualpipe" ? 2 : 1, inPipe = stagesOf(c) / pipes;
  const bool oneAtATime = c.schedule == "sharded" || c.schedule == "tf-sequential";
  BruteForceResult result;
  for (const auto& blocks : program) {
    result.order.emplace_back();
    for (const Block& block : blocks) {
      for (const TaskName& task : block) {
        result.order.back().push_back(task);
        result.tasks[task] = {c.placeOfStage[at(std::get<1>(task))], 0, 0};
      }
    }
  }
  // Time at which the result of a task arrives at the device of `stage`: the end of its block, plus an
  // exchange between devices.
  std::map<TaskName, long> leaves;
  const auto arrival = [&](const TaskName& from, int stage) {
    if (!result.tasks.contains(from)) throw std::runtime_error("a task waits for one that nobody does");
    const bool apart = c.placeOfStage[at(std::get<1>(from))] != c.placeOfStage[at(stage)];
    return leaves[from] + (apart ? c.exchange : 0);
  };
  const auto ready = [&](const TaskName& task) {
    const auto& [kind, stage, k] = task;
    if (kind == 'W') return 0L;
    if (kind == 'F' && stage % inPipe != 0) return arrival({'F', stage - 1, k}, stage);
    if (kind == 'B' && (stage + 1) % inPipe != 0) return arrival({'B', stage + 1, k}, stage);
    if (kind == 'F' && oneAtATime && k > 0)
      return leaves[c.training ? TaskName{'B', 0, k - 1} : TaskName{'F', inPipe - 1, k - 1}];
    return 0L;
  };
  std::size_t rounds = 0;
  for (bool moved = true; moved;) {
    if (++rounds > 100000) throw std::runtime_error("the rule's order deadlocks");
    moved = false;
    for (const auto& blocks : program) {
      long free = 0;
      for (const Block& block : blocks) {
        long start = free;
        for (const TaskName& task : block) start = std::max(start, ready(task));
        for (const TaskName& task : block) {
          TaskTime& time = result.tasks[task];
          moved = moved || time.start != start;
          time.start = start;
          time.end = start = start + bruteForceLengthOf(c, std::get<0>(task), std::get<1>(task));
        }
        for (const TaskName& task : block) {
          moved = moved || leaves[task] != start;
          leaves[task] = start;
        }
        free = start;
      }
    }
  }
  for (const auto& [task, time] : result.tasks) result.end = std::max(result.end, time.end);
  return result;
}

}  // namespace

BruteForceResult bruteForce(const BruteForceCase& asked) {
  const bool slotted =
      asked.schedule == "popart" || asked.schedule == "tf-grouped" || asked.schedule == "tf-interleaved";
  return slotted ? bySlots(asked) : byRelaxation(asked);
}

int peakLive(const BruteForceCase& asked, const BruteForceResult& result, int device) {
  std::vector<std::pair<long, int>> changes;  // ends before starts at the same time
  for (const auto& [task, time] : result.tasks) {
    if (time.device != device) continue;
    if (std::get<0>(task) == 'F') changes.emplace_back(time.start, 1);
    if (std::get<0>(task) == (splits(asked) ? 'W' : 'B')) changes.emplace_back(time.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  int live = 0, peak = 0;
  for (const auto& [when, by] : changes) peak = std::max(peak, live += by);
  return peak;
}

}  // namespace pipescope::tests
