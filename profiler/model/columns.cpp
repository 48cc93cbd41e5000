#include "profiler/model/columns.h"

namespace pipescope::model {

const std::vector<Table>& tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> result;
    forEachRowType([&]<class Row>() {
      result.push_back({Row::kTable, Row::kStorage, Row::kDoc, columnsOf<Row>()});
    });
    return result;
  }();
  return all;
}

std::size_t RowSet::size() const {
  std::size_t count = 0;
  forEachRowType([&]<class Row>() { count += of<Row>().size(); });
  return count;
}

bool RowSet::empty() const {
  return size() == 0;
}

void RowSet::clear() {
  forEachRowType([&]<class Row>() { of<Row>().clear(); });
}

}  // namespace pipescope::model
