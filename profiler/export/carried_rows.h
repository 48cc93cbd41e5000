#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "profiler/export/chrome.h"
#include "profiler/export/wanted_rows.h"
#include "profiler/model/columns.h"

namespace pipescope::exporting {

/// What metadata of a trace is called that holds rows of the profile.
inline constexpr const char* kCarriedRows = "pipescope_rows";

/// The rows of an emulated run as JSON, which an export carries as metadata beside its events. Viewers pass
/// over it; `pipescope import` restores the profile from it, with all that events cannot say: blocks,
/// operators, memory, settings. Rows of other executables, and what ran in calls that are not exported, are
/// left out, and ids are those that the rows will have then.
///
/// A piece is an object: the table's name, the number of rows, and an object with their columns. A column is
/// an array of values; a single value, if all rows have it; {"differences": […]}, of which each value is the
/// sum so far; or
/// {"texts": […], "indices": […]}. Ids of rows are not stated, because they count from 0. The last piece
/// states how many pieces and events the trace has, so that a reader notices if some are missing.
class CarriedRows {
 public:
  using Take = std::function<base::Status(std::string_view piece)>;

  CarriedRows(const ChromeRequest& request, const WantedRows& rows) : request_(request), rows_(rows) {}

  /// Calls `take` for every piece but the last one.
  base::Status each(const Take& take);
  /// The last piece, for a trace with so many events.
  std::string end(std::int64_t events) const;

 private:
  /// Which rows of a table are kept. Rows keep their order.
  class Kept {
   public:
    void add(std::int64_t row);
    /// The number of the row among the kept ones; −1: it is left out.
    std::int64_t numberOf(std::int64_t row) const;

   private:
    struct Range {
      std::int64_t first = 0, count = 0, number = 0;
    };
    std::vector<Range> ranges_;
    std::int64_t count_ = 0;
  };

  template <class Row>
  static constexpr bool isCarried() {
    return !std::is_same_v<Row, model::LevelNode>;  // the store makes them from other rows
  }
  template <class Row>
  static constexpr bool hasId() {
    return requires(Row row) {
      row.id.value;
    };
  }
  template <class Id>
  static constexpr std::size_t tableOf();
  template <class Id>
  bool keeps(Id id) const {
    return kept_[tableOf<Id>()].numberOf(id.value) >= 0;
  }
  template <class Row>
  bool wants(const Row& row) const;
  template <class Row>
  base::Status findKept();
  template <class Row>
  void renumber(Row& row) const;
  template <class Row>
  base::Status writeTable(const Take& take);

  const ChromeRequest& request_;
  const WantedRows& rows_;
  std::array<Kept, model::kTableCount> kept_;
  std::set<model::CounterId> ofWholeRun_;  // counters of no device, by their old ids
  std::int64_t pieces_ = 0;
};

}  // namespace pipescope::exporting
