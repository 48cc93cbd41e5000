// Shows the table of a sweep: each combination as a point by two figures, or as a line over all of them, with
// the Pareto front. A double click opens the profile of a combination.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QRubberBand>
#include <QTabWidget>
#include <QVBoxLayout>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "profiler/geometry/charts/parallel_axes.h"
#include "profiler/sections/frame/sweep_file.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
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
/// Columns with the ends of intervals, which the menu of the table shows.
const std::set<std::string> kIntervalEnds = {"memory_least_bytes", "memory_most_bytes", "step_time_least_us",
                                             "step_time_most_us"};
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

/// False for a column that is no axis of its own: all combinations have the same value, or it is an end of
/// the interval of another column.
bool tellsApart(const SweepFile& file, std::size_t column) {
  if (kIntervalEnds.contains(file.table.columns[column].key)) return false;
  return std::ranges::any_of(file.table.rows,
                             [&](const auto& row) { return row[column] != file.table.rows.front()[column]; });
}

/// The rows of the table with a column that says which of them are on the front.
sections::SectionTable withFront(const SweepFile& file, const std::vector<bool>& front,
                                 const std::vector<std::size_t>& rows) {
  sections::SectionTable table = file.table;
  table.rows.clear();
  table.columns.insert(table.columns.begin(),
                       {"front", "Front", sections::Format::truth, "no other combination beats it"});
  for (const std::size_t row : rows) {
    table.rows.push_back(file.table.rows[row]);
    table.rows.back().insert(table.rows.back().begin(), sections::Cell(static_cast<bool>(front[row])));
  }
  return table;
}

/// The different values of a column in the order of the table.
std::vector<std::string> valuesIn(const SweepFile& file, std::size_t column) {
  std::vector<std::string> values;
  for (std::size_t row = 0; row < file.table.rows.size(); ++row) {
    const std::string value = shownCell(file, row, column);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

/// The rows in the order of the table below the chart: first those that fit, the best of a figure first.
std::vector<std::size_t> bestFirst(const SweepFile& file, std::size_t column) {
  const figures::Figure* figure = sections::findSweepFigure(file.table.columns[column].key);
  const bool more = figure != nullptr && figure->moreIsBetter();
  std::vector<std::size_t> rows(file.table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::ranges::stable_sort(rows, [&](std::size_t a, std::size_t b) {
    if (file.fits[a] != file.fits[b]) return static_cast<bool>(file.fits[a]);
    const double first = numberAt(file, a, column), second = numberAt(file, b, column);
    if (std::isnan(first) || std::isnan(second)) return std::isnan(second) && !std::isnan(first);
    return more ? first > second : first < second;
  });
  return rows;
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
    panel_->setHelp(QStringLiteral("The chart"));
    table_ = new DataTable(context.palette, area);
    table_->setFilterVisible(true);
    table_->setYielding({"tokens_per_second", "system_devices", "memory_use"});
    table_->setHidden([](const sections::SectionTable& table) {
      std::set<std::string> hidden = kIntervalEnds;
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const bool any = std::ranges::any_of(table.rows, [c](const auto& row) {
          return !std::holds_alternative<std::monostate>(row[c]) && row[c] != sections::Cell(std::string());
        });
        if (!any) hidden.insert(table.columns[c].key);
      }
      return hidden;
    });
    area->tabs()->addTab(table_, tr("Combinations"));
    setContent(area);
    setKeyWidget(chart_);
    band_ = new QRubberBand(QRubberBand::Rectangle, chart_);
    connect(chart_, &ItemChart::clicked, this, [this](int row) {
      if (!isBrushing_) mark(row);
    });
    connect(chart_, &ItemChart::doubleClicked, this, &SweepPage::openProfile);
    connect(chart_, &ItemChart::menuWanted, this, [this](int row, const QPoint& at) {
      QMenu* menu = makeMenu(row);
      menu->setAttribute(Qt::WA_DeleteOnClose);
      menu->popup(at);
    });
    const auto rowOf = [this](int shown) {
      return shown < static_cast<int>(shownRows_.size())
                 ? static_cast<int>(shownRows_[static_cast<std::size_t>(shown)])
                 : -1;
    };
    connect(table_, &DataTable::rowActivated, this, [this, rowOf](int shown) { mark(rowOf(shown)); });
    connect(table_, &DataTable::rowOpened, this, [this, rowOf](int shown) { openProfile(rowOf(shown)); });
    area->tabs()->setTabBarAutoHide(true);  // it is the only table
    context.actions.describe(tr("Sweep"), tr("Keep some combinations, or all again"),
                             tr("drag a rectangle; Esc, double click beside them"));
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
      for (std::size_t c = 0; c < made.varied; ++c) {
        sections::SectionColumn& column = made.table.columns[c];
        if (column.doc.empty()) column.doc = column.key;
        column.heading = settingInWords(text(column.key)).toStdString();
        if (!column.heading.empty())
          column.heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(column.heading[0])));
      }
      auto file = std::make_shared<const SweepFile>(std::move(made));
      return Apply([this, file, wanted] {
        path_ = text(wanted);
        apply(file);
      });
    };
  }

  /// The arrow keys mark a combination, and Return opens its profile.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (watched == chart_ && brush(*event)) return true;
    if (watched != chart_ || event->type() != QEvent::KeyPress) return Page::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape && std::ranges::count(kept_, false) > 0) {
      keepAll();
      return true;
    }
    if (key != Qt::Key_Return && key != Qt::Key_Enter) return false;
    openProfile(chart_->marked());
    return true;
  }

 private:
  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kSplitIndent);
    view_ =
        tools->combo({tr("Scatter"), tr("Parallel coordinates")}, tr("Chart"), tr("How to draw the table"));
    across_ = tools->combo({}, tr("Across"), tr("The figure of the horizontal axis; the front counts it"));
    up_ = tools->combo({}, tr("Up"), tr("The figure of the vertical axis; the front counts it"));
    colour_ = tools->combo({}, tr("Colours"), tr("What the colours tell: the front, or the values of a key"));
    for (QComboBox* box : {view_, across_, up_, colour_})
      connect(box, QOverload<int>::of(&QComboBox::activated), this, [this] { draw(); });
    name_ = new shell::ElidedLabel(context_.palette, Qt::AlignLeft | Qt::AlignVCenter, tools);
    name_->setAccessibleName(tr("Table"));
    tools->add(name_, 1);
    tools->button(QStringLiteral("open"), tr("Open another table"), [this] { chooseTable(); });
    tools->pictureButton();
    return tools;
  }

  /// The menu of a combination in the chart.
  QMenu* makeMenu(int row) {
    auto* menu = new QMenu(this);
    const std::string& profile = file_->profiles[static_cast<std::size_t>(row)];
    menu->addAction(tr("Open its profile"), this, [this, row] { openProfile(row); })
        ->setEnabled(!profile.empty());
    menu->addAction(tr("Show in the table"), this, [this, row] { mark(row); });
    menu->addAction(tr("Copy the combination"), this,
                    [words = settingsOf(row)] { QApplication::clipboard()->setText(words); });
    return menu;
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
    const QString name = path_.section(QLatin1Char('/'), -1), model = text(file_->name);
    const auto count = file_->table.rows.size();
    // A table that names no model is named after its file.
    name_->setText(model.isEmpty() || name.startsWith(model + QLatin1Char('.'))
                       ? tr("%1: %2 combinations").arg(name).arg(count)
                       : tr("%1: %2 combinations of %3").arg(name).arg(count).arg(model));
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
    colour_->clear();
    colour_->addItem(tr("Colour: front"));
    for (std::size_t c = 0; c < file_->varied; ++c)
      colour_->addItem(tr("Colour: %1").arg(headingOf(file_->table.columns[c])));
    kept_.assign(file_->table.rows.size(), true);
    choose(across_, {"memory_bytes", "devices"});
    choose(up_, {"output_tokens_per_second", "samples_per_second", "step_time_us", "memory_use"});
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
                                   : tr("The figures that differ, one line for each combination"),
        tr("on the front, no other combination that fits is better in %1 or %2 without being worse "
           "in the other")
            .arg(first, second));
    view_->currentIndex() == 0 ? drawScatter(x, y) : drawParallel();
    applyLegend();
    shownRows_ = bestFirst(*file_, y);
    std::erase_if(shownRows_, [this](std::size_t row) { return !kept_[row]; });
    table_->setTable(withFront(*file_, front_, shownRows_));
    const int row = rowOfProfile();
    if (row >= 0) mark(row);
    say(row);
  }

  /// The place of the key that the colours tell among the columns; −1: they tell the front.
  int colourColumn() const { return std::max(0, colour_->currentIndex()) - 1; }

  /// Names the colours that some combination has.
  void applyLegend() {
    std::vector<timeline::LegendEntry> entries;
    if (colourColumn() >= 0) {
      const auto column = static_cast<std::size_t>(colourColumn());
      const std::vector<std::string> values = valuesIn(*file_, column);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const QString value = text(values[i]);
        entries.push_back({i == 0 ? tr("%1: %2").arg(headingOf(file_->table.columns[column]), value) : value,
                           geometry::seriesRole(static_cast<int>(i)), false});
      }
      return legend_->setEntries(std::move(entries));
    }
    const std::pair<QString, ColourRole> names[] = {
        {tr("Pareto front"), kFrontRole}, {tr("fits"), kFitsRole}, {tr("does not fit"), kFailsRole}};
    for (const auto& [name, role] : names) {
      bool any = false;
      for (std::size_t row = 0; row < file_->table.rows.size(); ++row) any = any || roleOf(row) == role;
      if (any) entries.push_back({name, role, false});
    }
    legend_->setEntries(std::move(entries));
  }

  ColourRole roleOf(std::size_t row) const {
    if (!kept_[row]) return ColourRole::dimmed;
    if (colourColumn() >= 0) {
      const auto column = static_cast<std::size_t>(colourColumn());
      const std::vector<std::string> values = valuesIn(*file_, column);
      const auto known = std::ranges::find(values, shownCell(*file_, row, column));
      return geometry::seriesRole(static_cast<int>(known - values.begin()));
    }
    if (front_[row]) return kFrontRole;
    return file_->fits[row] ? kFitsRole : kFailsRole;
  }

  void keepAll() {
    kept_.assign(file_->table.rows.size(), true);
    draw();
  }

  /// Keeps the combinations within a rectangle that the user drags. A double click beside them keeps all
  /// again. Returns true for events that are done with.
  bool brush(const QEvent& event) {
    if (file_ == nullptr || file_->table.rows.empty()) return false;
    const auto* mouse = static_cast<const QMouseEvent*>(&event);
    switch (event.type()) {
      case QEvent::MouseButtonPress:
        isBrushing_ = false;
        pressed_ = mouse->pos();
        return false;
      case QEvent::MouseMove:
        if (!(mouse->buttons() & Qt::LeftButton)) return false;
        isBrushing_ =
            isBrushing_ || (mouse->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance();
        band_->setVisible(isBrushing_);
        band_->setGeometry(QRect(pressed_, mouse->pos()).normalized());
        return isBrushing_;
      case QEvent::MouseButtonRelease:
        if (!isBrushing_) return false;
        band_->hide();
        keep(QRect(pressed_, mouse->pos()).normalized());
        isBrushing_ = false;
        return true;
      case QEvent::MouseButtonDblClick:
        if (chart_->itemAt(mouse->pos()) >= 0) return false;
        keepAll();
        return true;
      default:
        return false;
    }
  }

  /// Keeps what is drawn within the rectangle, if anything is.
  void keep(const QRect& part) {
    std::vector<bool> kept(file_->table.rows.size(), false);
    for (std::size_t row = 0; row < kept.size(); ++row)
      kept[row] = meets_ && meets_(chart_->size(), static_cast<int>(row), part);
    if (std::ranges::none_of(kept, [](bool one) { return one; })) kept.assign(kept.size(), true);
    kept_ = std::move(kept);
    draw();
  }

  void drawScatter(std::size_t x, std::size_t y) {
    std::vector<geometry::ScatterPoint> points;
    for (std::size_t r = 0; r < file_->table.rows.size(); ++r)
      points.push_back({numberAt(*file_, r, x), numberAt(*file_, r, y), roleOf(r), front_[r]});
    const auto axis = [&](std::size_t column) {
      const sections::SectionColumn& description = file_->table.columns[column];
      // A doc is a sentence, and stands in brackets here.
      const std::string doc = description.doc.substr(0, description.doc.find_last_not_of('.') + 1);
      return geometry::FigureAxis{description.heading + (doc.empty() ? "" : " (" + doc + ")"),
                                  formatOf(description), description.format == sections::Format::bytes};
    };
    const auto at = [points, across = axis(x), up = axis(y)](QSize size) {
      return geometry::ScatterPlot(points, across, up, size.width(), size.height());
    };
    setChart(at);
    meets_ = [at](QSize size, int row, const QRect& part) {
      const geometry::Box box = at(size).boxOf(row);
      return box.width > 0 && part.intersects(QRect(box.x, box.y, box.width, box.height));
    };
  }

  void drawParallel() {
    std::vector<geometry::ParallelAxis> axes;
    for (std::size_t c = 0; c + 1 < file_->table.columns.size(); ++c) {
      if (tellsApart(*file_, c)) axes.push_back(axisOf(*file_, c));
    }
    std::vector<geometry::ParallelLine> lines;
    for (std::size_t r = 0; r < file_->table.rows.size(); ++r) lines.push_back({roleOf(r), front_[r]});
    const auto at = [axes, lines](QSize size) {
      return geometry::ParallelAxes(axes, lines, size.width(), size.height());
    };
    setChart(at);
    meets_ = [at](QSize size, int row, const QRect& part) {
      return at(size).meets(row, {part.x(), part.y(), part.width(), part.height()});
    };
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
    const auto shown = std::ranges::find(shownRows_, static_cast<std::size_t>(row));
    table_->markRow(shown == shownRows_.end() ? -1 : static_cast<int>(shown - shownRows_.begin()));
    say(row);
  }

  void say(int row) {
    const bool any = std::ranges::any_of(file_->profiles, [](const auto& one) { return !one.empty(); });
    if (row < 0) {
      const auto kept = std::ranges::count(kept_, true);
      if (kept < static_cast<std::ptrdiff_t>(kept_.size()))
        return said_->setText(
            tr("%1 of %2 combinations are kept; Esc, or a double click beside them, keeps all.")
                .arg(kept)
                .arg(kept_.size()));
      said_->setText(
          any ? tr("A double click on a combination, or Return, opens its profile. Drag a rectangle to keep "
                   "some "
                   "of them.")
              : tr("This sweep wrote no profiles; with --profiles FOLDER, a double click opens one."));
      return;
    }
    const std::string& profile = file_->profiles[static_cast<std::size_t>(row)];
    said_->setText(profile.empty() ? tr("%1: it has no profile.").arg(settingsOf(row))
                                   : tr("%1: %2").arg(settingsOf(row), text(profile)));
  }

  void openProfile(int row) {
    if (file_ == nullptr || row < 0 || row >= static_cast<int>(file_->profiles.size())) return;
    const std::string& profile = file_->profiles[static_cast<std::size_t>(row)];
    if (profile.empty()) return;
    if (text(profile) != context_.session.path()) context_.session.open(text(profile));
    context_.go({QStringLiteral("summary")});
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
  std::vector<std::size_t> shownRows_;  ///< row of the file that each row of the table shows
  std::vector<bool> kept_;              ///< false for combinations outside of the rectangle that was dragged
  std::function<bool(QSize, int row, const QRect&)> meets_;  ///< a combination is drawn within a part
  QRubberBand* band_ = nullptr;
  QPoint pressed_;
  bool isBrushing_ = false;
  QComboBox* colour_ = nullptr;
  std::vector<std::size_t> columns_;  ///< columns that may be axes
  std::vector<bool> front_;
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
