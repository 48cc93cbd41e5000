#include "views/pages/parts/tables/row_subject.h"

#include <QEvent>
#include <QWidget>
#include <algorithm>
#include <array>

#include "views/pages/parts/data/text.h"
#include "views/shell/main_window.h"

namespace pipescope::pages {
namespace {

using SubjectKind = shell::Selected::Kind;
using sections::Cell;
using sections::SectionTable;

/// Returns the place of the column that names operations or variables, or the number of columns.
std::size_t nameColumnOf(const SectionTable& table) {
  constexpr std::array kNamedTables = {"operations", "blocks",   "operators", "kernels", "found",
                                       "variables",  "vertices", "exchanges", "programs"};
  constexpr std::array kNameHeadings = {"Operation", "Variable", "Full name", "Node", "Name path"};
  constexpr std::array kNameKeys = {"operation", "variable", "name", "path", "tensor", "block", "program"};
  const auto isNameOf = [&](const sections::SectionColumn& column) {
    if (column.key != "name" && column.key != "path") return true;
    return std::ranges::count(kNamedTables, table.key) > 0 ||
           std::ranges::count(kNameHeadings, column.heading) > 0;
  };
  for (const char* key : kNameKeys) {
    const auto found = std::ranges::find(table.columns, key, &sections::SectionColumn::key);
    if (found != table.columns.end() && isNameOf(*found))
      return static_cast<std::size_t>(found - table.columns.begin());
  }
  return table.columns.size();
}

/// Columns that say what a row is about; the number of columns where there is none.
struct SubjectColumns {
  explicit SubjectColumns(const SectionTable& table) : name(nameColumnOf(table)), none(table.columns.size()) {
    const bool ofStages = table.key == "stages" || table.key == "memory";
    const bool stageIsAnother = table.key == "waits" || table.key == "gaps";  // the stage waited for
    device = deviceName = stage = stageName = start = end = none;
    for (std::size_t c = 0; c < none; ++c) {
      const std::string& key = table.columns[c].key;
      const bool isNumber = table.columns[c].format == sections::Format::index;
      if (key == "device" && isNumber) device = c;
      if (key == "device_name" || (key == "device" && !isNumber)) deviceName = c;
      if ((key == "stage" && !stageIsAnother) || (key == "index" && ofStages)) stage = c;
      if (key == "index" && (table.key == "devices" || table.key == "engines")) device = c;
      if (key == "name" && table.key == "workers") deviceName = c;
      if (key == "from" && table.key == "links") deviceName = c;  // the device that sends
      if (key == "name" && table.key == "stages") stageName = c;
      if (table.key == "gaps" && key == "start_cycles") start = c;
      if (table.key == "gaps" && key == "end_cycles") end = c;
    }
    isProgram = name < none && table.columns[name].key == "program";
    isVariable =
        name < none && (table.columns[name].key == "variable" || table.columns[name].key == "tensor" ||
                        table.columns[name].heading == "Variable" || table.key == "variables");
  }
  std::size_t name, none, device, deviceName, stage, stageName, start, end;
  bool isVariable = false, isProgram = false;
};

QString textAt(const std::vector<Cell>& row, std::size_t column) {
  const auto* found = column < row.size() ? std::get_if<std::string>(&row[column]) : nullptr;
  return found == nullptr ? QString() : text(*found);
}
std::optional<std::int64_t> numberOf(const std::vector<Cell>& row, std::size_t column) {
  const auto* found = column < row.size() ? std::get_if<std::int64_t>(&row[column]) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

/// The name that a row is about; of a program "OnTileExecute (layer1/conv)" the one in brackets.
QString nameIn(const std::vector<Cell>& row, const SubjectColumns& at) {
  const QString words = textAt(row, at.name);
  if (!at.isProgram) return words;
  const auto open = words.indexOf(QLatin1Char('('));
  return open >= 0 && words.endsWith(QLatin1Char(')')) ? words.mid(open + 1, words.size() - open - 2) : words;
}

/// The stage of a row, by its number or by a name that is a number.
std::optional<std::int32_t> stageIn(const std::vector<Cell>& row, const SubjectColumns& at) {
  if (const auto stage = numberOf(row, at.stage)) return static_cast<std::int32_t>(*stage);
  bool isNumber = false;
  const int named = textAt(row, at.stageName).toInt(&isNumber);
  return isNumber ? std::optional(named) : std::nullopt;
}

/// True if `inner` lies within the group `outer`: "layer1/conv" in "layer1".
bool liesWithin(const QString& inner, const QString& outer) {
  return !outer.isEmpty() && inner.size() > outer.size() && inner.startsWith(outer) &&
         (inner[outer.size()] == QLatin1Char('/') || inner[outer.size()] == QLatin1Char('.'));
}

model::DeviceId deviceNamed(const analysis::Catalog* catalog, const QString& name) {
  if (catalog == nullptr || name.isEmpty()) return {};
  for (const model::Device& device : catalog->devices) {
    if (text(device.name) == name) return device.id;
  }
  return {};
}

}  // namespace

shell::Selected subjectOf(const SectionTable& table, int row, const analysis::Catalog* catalog) {
  shell::Selected subject;
  if (row < 0 || row >= static_cast<int>(table.rows.size())) return subject;
  const std::vector<Cell>& cells = table.rows[static_cast<std::size_t>(row)];
  const SubjectColumns at(table);
  subject.name = nameIn(cells, at);
  if (const auto device = numberOf(cells, at.device)) subject.device = model::DeviceId(*device);
  if (!subject.device.valid()) subject.device = deviceNamed(catalog, textAt(cells, at.deviceName));
  if (const auto stage = stageIn(cells, at)) subject.stage = *stage;
  const auto start = numberOf(cells, at.start), end = numberOf(cells, at.end);
  if (start && end) subject.start = base::Ticks(*start), subject.end = base::Ticks(*end);
  subject.kind = start && end              ? SubjectKind::wait
                 : !subject.name.isEmpty() ? (at.isVariable ? SubjectKind::variable : SubjectKind::operation)
                 : subject.stage >= 0      ? SubjectKind::stage
                 : subject.device.valid()  ? SubjectKind::device
                                           : SubjectKind::none;
  return subject;
}

int nearestName(const QString& wanted, int count, const std::function<QString(int)>& nameAt) {
  int around = -1, within = -1;
  qsizetype longest = 0;
  for (int i = 0; i < count; ++i) {
    const QString name = nameAt(i);
    if (name == wanted) return i;
    if (name.size() > longest && liesWithin(wanted, name)) around = i, longest = name.size();
    if (within < 0 && liesWithin(name, wanted)) within = i;
  }
  return around >= 0 ? around : within;
}

int rowAbout(const shell::Selected& selected, const SectionTable& table, const analysis::Catalog* catalog) {
  const SubjectColumns at(table);
  const int count = static_cast<int>(table.rows.size());
  const auto cells = [&](int row) -> const std::vector<Cell>& {
    return table.rows[static_cast<std::size_t>(row)];
  };
  if (at.name < at.none) {
    if (selected.name.isEmpty()) return -1;
    return nearestName(selected.name, count, [&](int row) { return nameIn(cells(row), at); });
  }
  const auto firstRow = [&](const auto& fits) {
    for (int row = 0; row < count; ++row) {
      if (fits(cells(row))) return row;
    }
    return -1;
  };
  if (at.start < at.none) {
    return firstRow([&](const auto& row) {
      const auto start = numberOf(row, at.start), end = numberOf(row, at.end),
                 device = numberOf(row, at.device);
      return selected.kind == SubjectKind::wait && start && end && device &&
             *device == selected.device.value && *start <= selected.start.count && selected.end.count <= *end;
    });
  }
  if ((at.stage < at.none || at.stageName < at.none) && selected.stage >= 0)
    return firstRow([&](const auto& row) { return stageIn(row, at) == selected.stage; });
  // Rows with names of another kind are about those, and not about their device.
  const bool isDevice = table.key == "devices" || table.key == "workers";
  const bool isNamed = !isDevice && std::ranges::any_of(table.columns, [](const auto& column) {
    return column.key == "name" || column.key == "path";
  });
  const model::Device* device = catalog == nullptr || isNamed ? nullptr : catalog->device(selected.device);
  if (device == nullptr) return -1;
  const QString name = text(device->name);
  return firstRow([&](const auto& row) {
    return numberOf(row, at.device) == device->id.value ||
           (at.deviceName < at.none && textAt(row, at.deviceName) == name);
  });
}

shell::Selected withDevice(shell::Selected subject, shell::ProfileSession& session) {
  const shell::ProfileSnapshot* snapshot = session.snapshot();
  if (snapshot == nullptr || subject.stage < 0 || subject.device.valid()) return subject;
  for (const model::Stage* stage : snapshot->catalog->stagesOf(session.executable())) {
    if (stage->index == subject.stage) subject.device = stage->device;
  }
  return subject;
}

bool covers(const shell::Selected& selected, const shell::Selected& subject) {
  return (subject.name.isEmpty() || subject.name == selected.name) &&
         (subject.stage < 0 || subject.stage == selected.stage) &&
         (!subject.device.valid() || subject.device == selected.device) &&
         (subject.kind != SubjectKind::wait || subject.start == selected.start);
}

RowSelection::RowSelection(QWidget& table, Find find, Mark mark)
    : QObject(&table), table_(table), find_(std::move(find)), mark_(std::move(mark)) {
  table.installEventFilter(this);
}

const analysis::Catalog* RowSelection::catalog() const {
  const shell::ProfileSnapshot* snapshot = session_ == nullptr ? nullptr : session_->snapshot();
  return snapshot == nullptr ? nullptr : snapshot->catalog.get();
}

bool RowSelection::eventFilter(QObject*, QEvent* event) {
  if (event->type() != QEvent::Show) return false;
  auto* window = qobject_cast<shell::MainWindow*>(table_.window());
  if (window != nullptr && selection_ == nullptr) {
    selection_ = &window->selection();
    session_ = &window->session();
    connect(selection_, &shell::Selection::changed, this, &RowSelection::follow);
  }
  follow();
  return false;
}

void RowSelection::follow() {
  if (choosing_ || selection_ == nullptr || !table_.isVisible()) return;
  const int row =
      selection_->current().kind == SubjectKind::none ? -1 : find_(selection_->current(), catalog());
  if (row < 0 && !marked_) return;
  marked_ = row >= 0;
  mark_(row);
}

void RowSelection::choose(const shell::Selected& subject, const std::function<void()>& handlers) {
  choosing_ = true;
  const QPointer<RowSelection> alive(this);
  handlers();
  if (alive.isNull()) return;  // a handler may open another profile
  if (selection_ != nullptr && subject.kind != SubjectKind::none && !covers(selection_->current(), subject))
    selection_->set(withDevice(subject, *session_));
  marked_ = subject.kind != SubjectKind::none;
  choosing_ = false;
}

}  // namespace pipescope::pages
