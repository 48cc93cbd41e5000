#pragma once
// Checks of figures, such as "stages.imbalance > 1.2" or "execution.time_us > 1.05 * baseline".
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// SECTION.PATH COMPARISON BOUND. The path names a figure by its JSON keys. "[0]" selects an element of an
/// array and "[*]" all of them: the check is then met if any of them meets it. The bound is made of numbers,
/// the word "baseline" (the same figure of another profile), + − * / and parentheses; numbers may have a % or
/// a unit. With == and !=, it may be a word instead: summary.bound_by == compute.
struct Check {
  std::string text, section;
  std::vector<std::string> path;
  std::string comparison, bound;
  bool usesBaseline = false;
  std::string word = {};  ///< word in small letters; empty: the bound is a number
};
/// Parses a check of a command line. Errors quote it and say what is wrong.
base::Result<Check> parseCheck(const std::string& text);

/// A section of a profile with the timebase of its ticks.
struct CheckedSection {
  const Section& section;
  std::int64_t ticksPerSecond = 1;
  bool costs = false;  ///< times are in cost units, because the configuration states them
};

/// Sentences about the values that meet the check; none: no value meets it. Elements that "[*]" selects and
/// that have no value, or no counterpart in the baseline, are left out. A figure without any value is an
/// error, because nobody should take its absence for a passed check. An array without elements is one only if
/// its elements would not have such a figure, or if the section or the table lacks something. `baseline` may
/// be null if the check does not use it.
base::Result<std::vector<std::string>> checkFigures(const Check& check, const CheckedSection& profile,
                                                    const CheckedSection* baseline);

}  // namespace pipescope::sections
