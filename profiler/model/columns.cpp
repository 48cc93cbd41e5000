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

RowSet::RowSet() = default;
RowSet::RowSet(const RowSet&) = default;
RowSet::RowSet(RowSet&&) noexcept = default;
RowSet& RowSet::operator=(const RowSet&) = default;
RowSet& RowSet::operator=(RowSet&&) noexcept = default;
RowSet::~RowSet() = default;

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

void RowSet::append(const RowSet& other) {
  forEachRowType([&]<class Row>() {
    const std::vector<Row>& rows = other.of<Row>();
    of<Row>().insert(of<Row>().end(), rows.begin(), rows.end());
  });
}

RowSet RowSet::only(std::size_t table) const {
  RowSet one;
  forEachRowType([&]<class Row>() {
    if (tableIndexOf<Row>() == table) one.of<Row>() = of<Row>();
  });
  return one;
}

}  // namespace pipescope::model
