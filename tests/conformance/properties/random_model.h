#pragma once
// Random models on emulated devices, and what a call of them takes.
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "app/run/request/compile_run.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::conformance {

/// Throws dice; equal seeds give equal models.
class ModelDice {
 public:
  explicit ModelDice(std::uint64_t seed) : random_(seed) {}
  std::int64_t upTo(std::int64_t n) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool coin() { return upTo(2) == 1; }
  template <class T>
  T oneOf(std::initializer_list<T> choices) {
    return choices.begin()[upTo(static_cast<std::int64_t>(choices.size())) - 1];
  }

 private:
  std::mt19937_64 random_;
};

/// The keys of a configuration and the text of its tables.
struct RandomModel {
  std::string tables;
  std::map<std::string, std::string> keys;
  std::string describe() const;
  RandomModel with(const std::string& key, const std::string& value) const;
};

/// A transformer or convolutional network of random depth, width, batch, type, number of stages and
/// recompute, for `system` with devices for up to `mostStages`.
RandomModel randomModel(ModelDice& dice, const std::string& system, int mostStages);

/// Time and memory of a call in steady state.
struct Measured {
  compile::Compilation compilation;
  record::MemoryProfile* profile = nullptr;
  double seconds = 0;
  std::int64_t memory = 0;  ///< bytes of the fullest device
  std::int64_t sent = 0;    ///< bytes over the boundaries between stages, in all calls
  std::int64_t calls = 0;
  std::vector<std::string> abovePeak;
};
/// Compiles and emulates; rows go to `profile`. For `known` see compileRun.
base::Result<Measured> measure(const RandomModel& model, record::MemoryProfile& profile,
                               plan::SharedStages* known = nullptr);

}  // namespace pipescope::conformance
