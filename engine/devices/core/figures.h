#pragma once
// The figures of chips and systems in TOML files, each with unit, grade and source. A family reads its keys
// through FigureReader, which turns a missing, misspelt or absurd figure into a sentence with file and key.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "profiler/base/result.h"

namespace pipescope::devices {

/// True if the word is a grade: D vendor document, C constant or formula in vendor code, M measured and
/// published, X derived from others, R recalled.
bool isGrade(std::string_view grade);

struct FigureValue {
  double value = 0;
  std::string unit, grade, source;
  std::string file;  ///< the file that states it, for error sentences
  /// Bounds between which the value lies; none: nobody stated them.
  std::optional<std::pair<double, double>> interval = {};

  /// The source for people, with the interval.
  std::string sourceText() const;
};

/// One TOML of resources/devices or resources/systems with the figures of its base.
struct FigureFile {
  std::string name;         ///< the file's name without .toml
  std::string file;         ///< name for error sentences
  std::string family;       ///< "ipu", "gaudi" …
  std::string description;  ///< one line for people
  std::string chip;         ///< systems only: name of the chip
  std::string noun;         ///< chips only: word for one device; empty: that of the family
  std::map<std::string, FigureValue> figures;
  std::map<std::string, FigureValue> chipFigures;  ///< systems only: figures in place of those of the chip
};

/// Reads the figures of one file and notes the keys that the family knows. The reader keeps the first fault,
/// and all later calls return the fallback. A family can so read all its figures in a row and ask status()
/// once.
class FigureReader {
 public:
  explicit FigureReader(const FigureFile& file) : file_(file) {
    // Readers of profiles make intervals of it, for devices of all families.
    (void)positiveOr("step_error", "1", 0);
    (void)positiveOr("memory_error", "1", 0);
  }

  /// A figure above 0 and at most `largest`.
  double positive(const std::string& key, const std::string& unit, double largest = 1e30);
  /// Returns the figure as positive() does, or the fallback if the file lacks the key.
  double positiveOr(const std::string& key, const std::string& unit, double fallback);
  /// A figure of 0 or more.
  double notNegative(const std::string& key, const std::string& unit);
  /// A positive whole number.
  std::int64_t count(const std::string& key, const std::string& unit, std::int64_t largest);
  std::int64_t countOr(const std::string& key, const std::string& unit, std::int64_t largest,
                       std::int64_t fallback);
  /// A figure that is shown but decides nothing, because times follow from the figures `from`. A file that
  /// changes it over its base, and none of these, would change nothing, which is a fault.
  void shown(const std::string& key, const std::string& unit, const std::vector<std::string>& from);
  bool has(const std::string& key) const { return file_.figures.contains(key); }

  /// The first fault, or a sentence about a key that nobody asked for, with the nearest known key.
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
