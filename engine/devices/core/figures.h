#pragma once
// Figures of chips and systems as TOML files give them: each with unit, grade and source. A family reads its
// own keys through FigureReader, which turns a missing, misspelt or absurd figure into a sentence with file
// and key.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

/// How sure a figure is: D vendor document, C constant or formula in vendor code, M measured and published, X
/// derived from others, R recalled.
bool isGrade(std::string_view grade);

struct FigureValue {
  double value = 0;
  std::string unit, grade, source;
  std::string file;  ///< where it stands, for error sentences
};

/// One TOML of resources/devices or resources/systems, its base's figures included.
struct FigureFile {
  std::string name;         ///< the file's name without .toml
  std::string file;         ///< for error sentences
  std::string family;       ///< "ipu", "gaudi" …
  std::string description;  ///< one line for people
  std::string chip;         ///< systems only: name of the chip
  std::map<std::string, FigureValue> figures;
};

/// Reads the figures of one file and notes which keys the family knows. The first fault is kept; later calls
/// return the fallback, so that a family reads all its figures in a row and asks status() once.
class FigureReader {
 public:
  explicit FigureReader(const FigureFile& file) : file_(file) {}

  /// A figure above zero and at most `largest`.
  double positive(const std::string& key, const std::string& unit, double largest = 1e30);
  /// As positive(), or the fallback where the file does not have it.
  double positiveOr(const std::string& key, const std::string& unit, double fallback);
  /// Zero is allowed.
  double notNegative(const std::string& key, const std::string& unit);
  /// A positive whole number.
  std::int64_t count(const std::string& key, const std::string& unit, std::int64_t largest);
  std::int64_t countOr(const std::string& key, const std::string& unit, std::int64_t largest,
                       std::int64_t fallback);
  bool has(const std::string& key) const { return file_.figures.contains(key); }

  /// The first fault; or the key that nobody asked for, with the nearest known one.
  base::Status status() const;

 private:
  const FigureValue* find(const std::string& key, const std::string& unit);
  void fail(const std::string& key, const std::string& what);

  const FigureFile& file_;
  std::set<std::string> known_;
  std::string fault_;
};

/// A figure for people: the value scaled to a handy unit ("47.5" "TB/s", "897" "MiB", "1,472" "tiles").
Figure readableFigure(const std::string& name, double value, const std::string& unit,
                      const std::string& grade, const std::string& source);

}  // namespace pipescope::devices
