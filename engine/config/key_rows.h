#pragma once
// Short functions that make keys, and the parts of the core's table.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/key.h"

namespace pipescope::config::table {

using Texts = std::vector<std::string>;
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();
inline constexpr double kMostChips = 131'072;  ///< of a system

inline Key text(std::string path, std::string fallback, std::string help, Texts flags = {},
                Texts choices = {}) {
  return {std::move(path), KeyType::text, "",       Value(std::move(fallback)),
          std::move(help), -kNoLimit,     kNoLimit, std::move(choices),
          std::move(flags)};
}
inline Key integer(std::string path, std::string unit, std::int64_t fallback, double least, double most,
                   std::string help, Texts flags = {}) {
  return {
      std::move(path), KeyType::integer, std::move(unit), Value(fallback), std::move(help), least, most, {},
      std::move(flags)};
}
inline Key real(std::string path, std::string unit, double fallback, double least, double most,
                std::string help, Texts flags = {}) {
  return {std::move(path), KeyType::real, std::move(unit), Value(fallback), std::move(help), least, most, {},
          std::move(flags)};
}
inline Key boolean(std::string path, bool fallback, std::string help, Texts flags = {}) {
  return {std::move(path), KeyType::boolean, "", Value(fallback), std::move(help),
          -kNoLimit,       kNoLimit,         {}, std::move(flags)};
}
inline Key required(Key key) {
  key.required = true;
  return key;
}

/// Each adds its tables' keys, in the order of the help page.
void addModel(std::vector<Key>& all);
void addStages(std::vector<Key>& all);
void addExecution(std::vector<Key>& all);
void addTrainingPrecision(std::vector<Key>& all);
void addTraining(std::vector<Key>& all);
void addInference(std::vector<Key>& all);

}  // namespace pipescope::config::table
