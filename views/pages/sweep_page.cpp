// Shows the table of a sweep: each combination as a point by two figures, or as a line over all of them, with
// the Pareto front. A click opens the profile of a combination.
#include <QComboBox>
#include <QFileDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QTabWidget>
#include <QVBoxLayout>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "profiler/geometry/charts/parallel_axes.h"
#include "profiler/sections/frame/sweep_file.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/page.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::SweepFile;
using timeline::ItemChart;

constexpr ColourRole kFrontRole = ColourRole::pathForward, kFitsRole = ColourRole::counter,
                     kFailsRole = ColourRole::lostImbalance;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

QString headingOf(const sections::SectionColumn& column) {
  return text(column.heading);
}

std::string shownCell(const SweepFile& file, std::size_t row, std::size_t column) {
  return formatCell(file.table.rows[row][column], file.table.columns[column].format);
}

/// The columns that may be axes: those in which some row has a number.
std::vector<std::size_t> numberColumns(const SweepFile& file) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < file.table.columns.size(); ++c) {
    for (const auto& row : file.table.rows) {
      if (!figures::numberIn(row[c])) continue;
      columns.push_back(c);
      break;
    }
  }
  return columns;
}

double numberAt(const SweepFile& file, std::size_t row, std::size_t column) {
  return figures::numberIn(file.table.rows[row][column]).value_or(kNoValue);
}

std::function<std::string(double)> formatOf(const sections::SectionColumn& column) {
  const sections::Format format =
      column.format == sections::Format::plain ? sections::Format::number : column.format;
  return [format](double value) { return formatCell(value, format); };
}

/// One axis of the parallel coordinates. Words stand on it in the order of the table.
geometry::ParallelAxis axisOf(const SweepFile& file, std::size_t column) {
  const sections::SectionColumn& description = file.table.columns[column];
  geometry::ParallelAxis axis{description.heading, {}, {}, formatOf(description)};
  bool numbers = true;
  for (const auto& row : file.table.rows)
    numbers = numbers && (std::holds_alternative<std::monostate>(row[column]) ||
                          figures::numberIn(row[column]).has_value());
  for (std::size_t r = 0; r < file.table.rows.size(); ++r) {
    if (numbers) {
      axis.values.push_back(numberAt(file, r, column));
      continue;
    }
    const std::string word = shownCell(file, r, column);
    const auto known = std::find(axis.words.begin(), axis.words.end(), word);
    axis.values.push_back(static_cast<double>(known - axis.words.begin()));
    if (known == axis.words.end()) axis.words.push_back(word);
  }
  return axis;
}

/// The table with a column that says which rows are on the front.
sections::SectionTable withFront(const SweepFile& file, const std::vector<bool>& front) {
  sections::SectionTable table = file.table;
  table.columns.insert(table.columns.begin(),
                       {"front", "Front", sections::Format::truth, "no other combination beats it"});
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    table.rows[r].insert(table.rows[r].begin(), sections::Cell(static_cast<bool>(front[r])));
  return table;
}

}  // namespace

class SweepPage : public shell::Page {
 public:
  explicit SweepPage(shell::PageContext& context) : Page(context) {
    auto* tools = new QVBoxLayout;
    tools->addWidget(makeTools());
    said_ = new QLabel(this);
    said_->setWordWrap(true);
    tools->addWidget(said_);
    auto* area = new SplitArea(context.palette, tools, this);
    chart_ = new ItemChart(context.palette, area);
    chart_->setAccessibleName(tr("Combinations"));
    chart_->installEventFilter(this);
    area->picture()->body()->addWidget(chart_, 1);
    legend_ = new timeline::Legend(context.palette, area);
    area->picture()->body()->addWidget(legend_);
    panel_ = area->picture();
    table_ = new DataTable(context.palette, area);
    table_->setFilterVisible(true);
    area->tabs()->addTab(table_, tr("Combinations"));
    setContent(area);
    setKeyWidget(chart_);
    connect(chart_, &ItemChart::clicked, this, [this](int row) {
      mark(row);
      if (!byKey_) openProfile(row);
    });
    connect(table_, &DataTable::rowActivated, this, [this](int row) {
      mark(row);
      openProfile(row);
    });
    connect(&context.session, &shell::ProfileSession::opened, this, [this] { followSession(); });
  }

  shell::Picture picture() override { return {panel_, accessibleName(), {}}; }

 protected:
  Load load() override {
    return [this, path = path_.toStdString()](const Job& job) -> base::Result<Apply> {
      const std::string named = job.catalog.property(sections::kSweepTableProperty);
      const std::string& wanted = path.empty() ? named : path;
      if (wanted.empty()) {
        return Apply([this] {
          showInstead(
              tr("Open the table of a sweep: its file with “Open…” in the menu File, or drop the file "
                 "here. “pipescope sweep CONFIG --vary KEY=A,B -o TABLE.csv --profiles FOLDER” writes "
                 "one."));
        });
      }
      PIPESCOPE_ASSIGN(SweepFile made, sections::readSweepFile(wanted));
      auto file = std::make_shared<const SweepFile>(std::move(made));
      return Apply([this, file, wanted] {
        path_ = text(wanted);
        apply(file);
      });
    };
  }

  /// The arrow keys mark a combination, and Return opens its profile.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (watched == chart_ && event->type() == QEvent::MouseButtonPress) byKey_ = false;
    if (watched != chart_ || event->type() != QEvent::KeyPress) return Page::eventFilter(watched, event);
    byKey_ = true;
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key != Qt::Key_Return && key != Qt::Key_Enter) return false;
    openProfile(chart_->marked());
    return true;
  }

 private:
  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    view_ =
        tools->combo({tr("Scatter"), tr("Parallel coordinates")}, tr("Chart"), tr("How to draw the table"));
    across_ = tools->combo({}, tr("Across"), tr("The figure of the horizontal axis; the front counts it"));
    up_ = tools->combo({}, tr("Up"), tr("The figure of the vertical axis; the front counts it"));
    for (QComboBox* box : {view_, across_, up_})
      connect(box, QOverload<int>::of(&QComboBox::activated), this, [this] { draw(); });
    name_ = new shell::ElidedLabel(context_.palette, Qt::AlignLeft | Qt::AlignVCenter, tools);
    name_->setAccessibleName(tr("Table"));
    tools->add(name_, 1);
    tools->button(QStringLiteral("open"), tr("Open another table"), [this] { chooseTable(); });
    tools->pictureButton();
    return tools;
  }

  void chooseTable() {
    auto* dialog = new QFileDialog(window(), tr("Open the table of a sweep"), QString(),
                                   tr("Tables of sweeps (*.csv *.json)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
      path_ = path;
      reload();
    });
    dialog->open();
  }

  /// A table that was opened as a file brings the window here. A profile keeps the table that is shown.
  void followSession() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr) return;
    const QString named = text(snapshot->catalog->property(sections::kSweepTableProperty));
    if (named.isEmpty()) return;
    // The table that was shown before may already be loading again.
    const bool other = path_ != named;
    path_ = named;
    if (other) reload();
    if (snapshot->catalog->executables.empty()) context_.go({QStringLiteral("sweep")});
  }

  void apply(std::shared_ptr<const SweepFile> file) {
    const bool other = file_ == nullptr || shownPath_ != path_;
    file_ = std::move(file);
    shownPath_ = path_;
    name_->setText(tr("%1: %2 combinations of %3")
                       .arg(path_.section(QLatin1Char('/'), -1))
                       .arg(file_->table.rows.size())
                       .arg(text(file_->name)));
    if (other) offerAxes();
    draw();
  }

  void offerAxes() {
    columns_ = numberColumns(*file_);
    for (QComboBox* box : {across_, up_}) {
      box->clear();
      for (const std::size_t column : columns_) box->addItem(headingOf(file_->table.columns[column]));
    }
    const auto choose = [&](QComboBox* box, std::initializer_list<const char*> keys) {
      for (const char* key : keys) {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
          if (file_->table.columns[columns_[i]].key == key) return box->setCurrentIndex(static_cast<int>(i));
        }
      }
    };
    choose(across_, {"memory_bytes", "devices"});
    choose(up_, {"samples_per_second", "step_time_us", "memory_use"});
  }

  std::size_t columnOf(const QComboBox* box) const {
    return columns_[static_cast<std::size_t>(std::max(0, box->currentIndex()))];
  }

  void draw() {
    if (file_ == nullptr || columns_.empty()) {
      showInstead(tr("No combination of this table has figures: none of them can run."));
      return;
    }
    const std::size_t x = columnOf(across_), y = columnOf(up_);
    front_ = sections::paretoRows(*file_, {x, y});
    const QString first = headingOf(file_->table.columns[x]), second = headingOf(file_->table.columns[y]);
    panel_->setTitle(
        view_->currentIndex() == 0 ? tr("%1 over %2").arg(second, first)
                                   : tr("All figures, one line for each combination"),
        tr("on the front, no other combination that fits is better in %1 or %2 without being worse "
           "in the other")
            .arg(first, second));
    view_->currentIndex() == 0 ? drawScatter(x, y) : drawParallel();
    applyLegend();
    table_->setTable(withFront(*file_, front_));
    const int row = rowOfProfile();
    if (row >= 0) mark(row);
    say(row);
  }

  /// Names the colours that some combination has.
  void applyLegend() {
    const std::pair<QString, ColourRole> names[] = {
        {tr("Pareto front"), kFrontRole}, {tr("fits"), kFitsRole}, {tr("does not fit"), kFailsRole}};
    std::vector<timeline::LegendEntry> entries;
    for (const auto& [name, role] : names) {
      bool any = false;
      for (std::size_t row = 0; row < file_->table.rows.size(); ++row) any = any || roleOf(row) == role;
      if (any) entries.push_back({name, role, false});
    }
    legend_->setEntries(std::move(entries));
  }

  ColourRole roleOf(std::size_t row) const {
    if (front_[row]) return kFrontRole;
    return file_->fits[row] ? kFitsRole : kFailsRole;
  }

  void drawScatter(std::size_t x, std::size_t y) {
    std::vector<geometry::ScatterPoint> points;
    for (std::size_t r = 0; r < file_->table.rows.size(); ++r)
      points.push_back({numberAt(*file_, r, x), numberAt(*file_, r, y), roleOf(r), front_[r]});
    const auto axis = [&](std::size_t column) {
      const sections::SectionColumn& description = file_->table.columns[column];
      return geometry::FigureAxis{description.heading + " (" + description.doc + ")", formatOf(description),
                                  description.format == sections::Format::bytes};
    };
    setChart([points, across = axis(x), up = axis(y)](QSize size) {
      return geometry::ScatterPlot(points, across, up, size.width(), size.height());
    });
  }

  void drawParallel() {
    std::vector<geometry::ParallelAxis> axes;
    for (std::size_t c = 0; c + 1 < file_->table.columns.size(); ++c) axes.push_back(axisOf(*file_, c));
    std::vector<geometry::ParallelLine> lines;
    for (std::size_t r = 0; r < file_->table.rows.size(); ++r) lines.push_back({roleOf(r), front_[r]});
    setChart([axes, lines](QSize size) {
      return geometry::ParallelAxes(axes, lines, size.width(), size.height());
    });
  }

  template <class Make>
  void setChart(Make at) {
    chart_->setFigure(
        at,
        [file = file_](int row) {
          QStringList lines;
          for (std::size_t c = 0; c < file->table.columns.size(); ++c) {
            const std::string value = shownCell(*file, static_cast<std::size_t>(row), c);
            if (!value.empty()) lines << tr("%1: %2").arg(headingOf(file->table.columns[c]), text(value));
          }
          return lines.join(QLatin1Char('\n'));
        },
        timeline::ItemChart::numbered(file_->table.rows.size()));
  }

  QString settingsOf(int row) const {
    QStringList parts;
    for (std::size_t c = 0; c < file_->varied; ++c)
      parts << QStringLiteral("%1 = %2").arg(headingOf(file_->table.columns[c]),
                                             text(shownCell(*file_, static_cast<std::size_t>(row), c)));
    return parts.join(QStringLiteral(", "));
  }

  void mark(int row) {
    chart_->setMarked(row);
    table_->markRow(row);
    say(row);
  }

  void say(int row) {
    const bool any = std::ranges::any_of(file_->profiles, [](const auto& one) { return !one.empty(); });
    if (row < 0) {
      said_->setText(any ? tr("A click on a combination opens its profile; the arrow keys only mark one.")
                         : tr("This sweep wrote no profiles; with --profiles FOLDER, a click opens one."));
      return;
    }
    const std::string& profile = file_->profiles[static_cast<std::size_t>(row)];
    said_->setText(profile.empty() ? tr("%1: it has no profile.").arg(settingsOf(row))
                                   : tr("%1: %2").arg(settingsOf(row), text(profile)));
  }

  void openProfile(int row) {
    if (file_ == nullptr || row < 0 || row >= static_cast<int>(file_->profiles.size())) return;
    const std::string& profile = file_->profiles[static_cast<std::size_t>(row)];
    if (!profile.empty() && text(profile) != context_.session.path()) context_.session.open(text(profile));
  }

  /// The row of the profile that the window shows; −1: none.
  int rowOfProfile() const {
    for (std::size_t r = 0; r < file_->profiles.size(); ++r)
      if (!file_->profiles[r].empty() && text(file_->profiles[r]) == context_.session.path())
        return static_cast<int>(r);
    return -1;
  }

  QString path_, shownPath_;  ///< path of the table that is wanted, and of the one that is shown
  std::shared_ptr<const SweepFile> file_;
  std::vector<std::size_t> columns_;  ///< columns that may be axes
  std::vector<bool> front_;
  bool byKey_ = false;  ///< the chart was used by key last
  QComboBox *view_ = nullptr, *across_ = nullptr, *up_ = nullptr;
  shell::ElidedLabel* name_ = nullptr;
  QLabel* said_ = nullptr;
  ItemChart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  Panel* panel_ = nullptr;
  DataTable* table_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(sweep) {
  registry.add({QStringLiteral("sweep"), QObject::tr("Sweep"), QStringLiteral("sweep"),
                QObject::tr("The combinations of a sweep, with the best ones"), PageGroup::experiments, 30,
                [](PageContext& context) -> Page* { return new pages::SweepPage(context); }, false});
}

}  // namespace pipescope::shell
