// Runs the backend node cases of ONNX (README.md) and fails on a wrong answer, a crash, or too few passes:
// conformance_onnx_nodes FOLDER [NAME-PART …] [--minimum N] [--refused] [--static] [--table FILE |
// --write-table FILE]
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <vector>

#include "case_runner.h"
#include "operator_table.h"

namespace {

using namespace pipescope::conformance;

struct Case {
  std::string name, op;
};

struct Options {
  std::string folder;
  std::vector<std::string> parts;
  int minimum = 0;
  bool listRefused = false;
  std::string table;  ///< resources/help/operators.md
  bool writeTable = false;
  Way way = Way::interpreted;
};

std::vector<Case> readCases(const Options& options) {
  std::ifstream table(options.folder + "/cases.tsv");
  std::vector<Case> cases;
  for (std::string line; std::getline(table, line);) {
    const std::size_t tab = line.find('\t');
    const Case each{line.substr(0, tab), line.substr(tab + 1)};
    bool wanted = options.parts.empty();
    for (const std::string& part : options.parts)
      wanted = wanted || each.name.find(part) != std::string::npos;
    if (wanted) cases.push_back(each);
  }
  return cases;
}

struct Counts {
  int of[4] = {0, 0, 0, 0};
  int& operator[](Verdict verdict) { return of[static_cast<int>(verdict)]; }
  int all() const { return of[0] + of[1] + of[2] + of[3]; }
};

void printTable(const std::map<std::string, Counts>& byOperator, Counts& total) {
  fmt::print("\n{:<32}{:>7}{:>8}{:>9}{:>7}{:>7}\n", "operator", "cases", "passed", "refused", "WRONG",
             "CRASH");
  const auto row = [](const std::string& name, const Counts& counts) {
    fmt::print("{:<32}{:>7}{:>8}{:>9}{:>7}{:>7}\n", name, counts.all(), counts.of[0], counts.of[1],
               counts.of[2], counts.of[3]);
  };
  for (const auto& [op, counts] : byOperator) row(op, counts);
  row("all", total);
}

int run(const Options& options) {
  const std::vector<Case> cases = readCases(options);
  if (cases.empty()) {
    fmt::print(stderr, "There is no such case in {}.\n", options.folder);
    return 2;
  }
  static constexpr const char* names[] = {"passed", "refused", "WRONG", "CRASH"};
  std::map<std::string, Counts> byOperator;
  Counts total;
  std::map<std::string, OperatorCases> seen;
  for (const Case& each : cases) {
    const Outcome outcome = runIsolated(options.folder + "/node/" + each.name, options.way);
    ++byOperator[each.op][outcome.verdict];
    ++total[outcome.verdict];
    ++seen[each.op].all;
    if (outcome.verdict == Verdict::passed) seen[each.op].add(outcome.sentence);
    const bool shown = outcome.verdict >= Verdict::wrong || (outcome.verdict == Verdict::refused &&
                                                             (options.listRefused || !options.parts.empty()));
    if (shown)
      fmt::print("{} {}: {}\n", names[static_cast<int>(outcome.verdict)], each.name, outcome.sentence);
  }
  printTable(byOperator, total);
  if (options.writeTable) return writeOperatorTable(seen, options.table) ? 0 : 1;
  if (!options.table.empty() && !isCurrent(seen, options.table)) return 1;
  if (total[Verdict::wrong] + total[Verdict::crashed] > 0) return 1;
  if (total[Verdict::passed] >= options.minimum) return 0;
  fmt::print("Only {} cases pass; {} did before.\n", total[Verdict::passed], options.minimum);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--refused") {
      options.listRefused = true;
    } else if (word == "--static") {
      options.way = Way::instantiated;
    } else if ((word == "--table" || word == "--write-table") && i + 1 < argc) {
      options.writeTable = word == "--write-table";
      options.table = argv[++i];
    } else if (word == "--minimum" && i + 1 < argc) {
      options.minimum = std::atoi(argv[++i]);
    } else if (options.folder.empty()) {
      options.folder = word;
    } else {
      options.parts.push_back(word);
    }
  }
  return run(options);
}
