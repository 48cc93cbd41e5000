#pragma once
// Makes resources/help/operators.md, which lists the supported ONNX operators, from the registry and the
// cases that passed.
#include <map>
#include <set>
#include <string>

namespace pipescope::conformance {

struct OperatorCases {
  int all = 0, passed = 0;
  std::set<std::string> types;  ///< types of the first inputs of cases that passed
  void add(const std::string& type) {
    ++passed;
    if (!type.empty()) types.insert(type);
  }
};

/// Returns false and prints a sentence if the file is not what would be written.
bool isCurrent(const std::map<std::string, OperatorCases>& cases, const std::string& file);
bool writeOperatorTable(const std::map<std::string, OperatorCases>& cases, const std::string& file);

}  // namespace pipescope::conformance
