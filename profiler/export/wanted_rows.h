#pragma once
// Reads the rows that an export for viewers of traces asks for, block by block.
#include <vector>

#include "profiler/export/chrome.h"
#include "profiler/model/source.h"

namespace pipescope::exporting {

class WantedRows {
 public:
  WantedRows(const ChromeRequest& request, base::Progress& progress)
      : request_(request), progress_(progress) {}

  /// Calls visit(row) for every row of the table, until visit() fails or the user stops the export.
  template <class Row, class Visit>
  base::Status each(Visit&& visit) const {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, request_.source.blocks<Row>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (progress_.cancelled()) return base::cancelled("Exporting was stopped.");
      PIPESCOPE_ASSIGN(const model::Rows<Row> block, request_.source.block<Row>(b));
      for (const Row& row : *block) PIPESCOPE_TRY(visit(row));
    }
    return {};
  }

  /// True for the call of the request. If it asks for all calls: true for those of its executable, and for
  /// calls that the profile does not know.
  bool has(model::RunId call) const {
    if (request_.run) return call == *request_.run;
    const model::Run* known = request_.catalog.runs.find(call);
    return known == nullptr || known->executable == request_.executable;
  }

 private:
  const ChromeRequest& request_;
  base::Progress& progress_;
};

}  // namespace pipescope::exporting
