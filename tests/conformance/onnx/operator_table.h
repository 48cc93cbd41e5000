#pragma once
// resources/help/operators.md: what ONNX operators are supported, from the registry and from what passed.
#include <map>
#include <set>
#include <string>

namespace pipescope::conformance {

struct OperatorCases {
  int all = 0, passed = 0;
  std::set<std::string> types;  ///< of the first inputs of cases that passed
  void add(const std::string& type) {
    ++passed;
    if (!type.empty()) types.insert(type);
  }
};

/// False, with a sentence printed, where the file is not what would be written.
bool isCurrent(const std::map<std::string, OperatorCases>& cases, const std::string& file);
bool writeOperatorTable(const std::map<std::string, OperatorCases>& cases, const std::string& file);

}  // namespace pipescope::conformance
