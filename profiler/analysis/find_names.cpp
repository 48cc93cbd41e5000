#include "profiler/analysis/find_names.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <unordered_set>

#include "profiler/analysis/block_walk.h"

namespace pipescope::analysis {
namespace {

std::string lowerCase(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// Collects the names of one kind that contain all words.
class NameList {
 public:
  explicit NameList(const std::vector<std::string>& words) {
    for (const std::string& word : words) words_.push_back(lowerCase(word));
  }

  void add(FoundName found) {
    const std::string name = lowerCase(found.name);
    const bool fits = !name.empty() && std::ranges::all_of(words_, [&](const std::string& word) {
      return name.find(word) != std::string::npos;
    });
    if (fits && seen_.insert(found.name).second) names_.push_back(std::move(found));
  }

  void moveTo(std::vector<FoundName>& all, std::size_t most) {
    const auto rank = [&](const FoundName& found) {
      const bool begins = !words_.empty() && lowerCase(found.name).starts_with(words_.front());
      return std::tuple(!begins, found.name.size(), found.name);
    };
    std::ranges::sort(names_, {}, rank);
    if (names_.size() > most) names_.resize(most);
    std::ranges::move(names_, std::back_inserter(all));
  }

 private:
  std::vector<std::string> words_;
  std::unordered_set<std::string> seen_;
  std::vector<FoundName> names_;
};

/// Calls visit(row) for all rows of the executable, and stops when the user has.
template <class Row, class Visit>
base::Status forRowsOf(const model::ProfileSource& source, model::ExecutableId executable,
                       base::Progress& progress, const Visit& visit) {
  return forEachRow<Row>(
      source, progress, [](const model::BlockInfo&, const std::vector<model::ColumnRange>&) { return true; },
      [&](const Row& row, std::int64_t) {
        if (row.executable == executable) visit(row);
        return true;
      });
}

}  // namespace

Result<std::vector<FoundName>> findNames(const model::ProfileSource& source, const Catalog& catalog,
                                         model::ExecutableId executable,
                                         const std::vector<std::string>& words, std::size_t most,
                                         base::Progress& progress) {
  NameList operations(words), variables(words);
  PIPESCOPE_TRY(forRowsOf<model::Operator>(source, executable, progress, [&](const model::Operator& row) {
    if (row.pass == model::Pass::forward)
      operations.add({catalog.namePath(row.debugContext), row.kind, false, row.stage, {}});
  }));
  PIPESCOPE_TRY(forRowsOf<model::Variable>(source, executable, progress, [&](const model::Variable& row) {
    if (row.shape.empty()) return;  // code
    const model::MemorySpace* space = catalog.memorySpaces.find(row.space);
    variables.add({catalog.namePath(row.debugContext), row.category, true, row.stage,
                   space == nullptr ? model::DeviceId() : space->device});
  }));
  std::vector<FoundName> all;
  operations.moveTo(all, most);
  variables.moveTo(all, most);
  return all;
}

}  // namespace pipescope::analysis
