#include "app/python/table_columns.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace pipescope::python {
namespace {

namespace py = pybind11;

template <class Row>
std::vector<Row> rowsBetween(const model::ProfileSource& source, std::int64_t start, std::int64_t stop) {
  const py::gil_scoped_release release;
  std::vector<Row> found;
  const auto blocks = source.blocks<Row>();
  if (!blocks.ok()) {
    const py::gil_scoped_acquire acquire;
    raise(blocks.error());
  }
  for (std::size_t b = 0; b < blocks->size(); ++b) {
    const model::BlockInfo& block = (*blocks)[b];
    const std::int64_t from = std::max(start, block.firstRow) - block.firstRow;
    const std::int64_t to = std::min(stop, block.firstRow + block.rows) - block.firstRow;
    if (to <= from) continue;
    const auto rows = source.block<Row>(b);
    if (!rows.ok()) {
      const py::gil_scoped_acquire acquire;
      raise(rows.error());
    }
    found.insert(found.end(), (*rows)->begin() + from, (*rows)->begin() + to);
  }
  return found;
}

template <class Row>
py::dict columnsOf(const std::vector<Row>& rows) {
  py::dict result;
  const auto columns = model::columnsOf<Row>();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    py::array_t<std::int64_t> integers(columns[c].type == model::ColumnType::integer ? rows.size() : 0);
    py::array_t<double> reals(columns[c].type == model::ColumnType::real ? rows.size() : 0);
    py::list texts;
    auto* integer = integers.mutable_data();
    auto* real = reals.mutable_data();
    for (const Row& row : rows) {
      std::size_t place = 0;
      Row::fields(row, [&](const char*, const auto& field, const char*, const char*) {
        if (place++ != c) return;
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, std::string>) {
          // Files are not trusted: what is no UTF-8 is shown as such.
          texts.append(py::reinterpret_steal<py::object>(
              PyUnicode_DecodeUTF8(field.data(), static_cast<Py_ssize_t>(field.size()), "replace")));
        } else if constexpr (std::is_same_v<Field, double>) {
          *real++ = field;
        } else {
          *integer++ = model::toInteger(field);
        }
      });
    }
    const py::str name(columns[c].name);
    switch (columns[c].type) {
      case model::ColumnType::integer:
        result[name] = integers;
        break;
      case model::ColumnType::real:
        result[name] = reals;
        break;
      case model::ColumnType::text:
        result[name] = texts;
        break;
    }
  }
  return result;
}

}  // namespace

void raise(const base::Error& error) {
  switch (error.kind) {
    case base::ErrorKind::badInput:
      throw py::value_error(error.message);
    case base::ErrorKind::io:
      PyErr_SetString(PyExc_OSError, error.message.c_str());
      throw py::error_already_set();
    default:
      PyErr_SetString(PyExc_RuntimeError, error.message.c_str());
      throw py::error_already_set();
  }
}

py::dict tableColumns(const model::ProfileSource& source, const std::string& table, std::int64_t start,
                      std::int64_t stop) {
  py::dict result;
  std::string known;
  bool found = false;
  if (stop < 0) stop = std::numeric_limits<std::int64_t>::max();
  model::forEachRowType([&]<class Row>() {
    known += (known.empty() ? "" : ", ") + std::string(Row::kTable);
    if (table != Row::kTable) return;
    found = true;
    result = columnsOf(rowsBetween<Row>(source, start, stop));
  });
  if (!found) throw py::value_error("A profile has no table \"" + table + "\"; known are " + known + ".");
  return result;
}

}  // namespace pipescope::python
