// Shows the program tree: control programs and functions, what lies in them, and what each program costs.
#include <QCheckBox>
#include <QComboBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "profiler/sections/frame/words.h"
#include "profiler/sections/program_rows.h"
#include "views/pages/parts/data/debug_names.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/layout/tool_row.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;

const auto kProgramIdsKey = QStringLiteral("programs/ids"),
           kProgramLevelsKey = QStringLiteral("programs/levels");
constexpr int kProgramIdColumn = 1, kProgramTypeColumn = 2, kAllLevels = 4, kEveryLevel = 1'000,
              kMostOpenAtFirst = 2'000;
/// The list beside the tree has this width, and the page one at which it is shown.
constexpr int kLeastRoots = 350, kTreeWidth = 1'000, kRootsFrom = 1'250;

struct ProgramColour {
  const char *begin, *name;
  ColourRole role;
};
/// The colours of PopVision's program tree, by the beginning of the type.
constexpr ProgramColour kProgramColours[] = {
    {"OnTileExecute", "compute", ColourRole::compute},
    {"DoExchange", "exchange", ColourRole::exchange},
    {"GlobalExchange", "exchange between chips", ColourRole::globalExchange},
    {"StreamCopyBegin", "begin of a copy", ColourRole::control},
    {"StreamCopyMid", "copy to or from the host", ColourRole::streamCopy},
    {"StreamCopyEnd", "end of a copy", ColourRole::sync},
    {"Sync", "sync", ColourRole::sync},
    {"Sans", "sync", ColourRole::sync}};
/// Programs of other types have the colours of their steps, as on the trace.
constexpr ProgramColour kStepColours[] = {{"", "compute", ColourRole::compute},
                                          {"", "exchange", ColourRole::exchange},
                                          {"", "sync", ColourRole::sync},
                                          {"", "exchange between chips", ColourRole::globalExchange},
                                          {"", "copy to or from the host", ColourRole::streamCopy},
                                          {"", "control", ColourRole::control},
                                          {"", "remote copy", ColourRole::remoteCopy}};
constexpr ProgramColour kOtherProgram = {"", "other", ColourRole::otherKind},
                        kFlowProgram = {"", "control flow", ColourRole::programFlow};

const ProgramColour& colourOfProgram(const QString& type, const std::optional<model::StepKind>& step,
                                     bool isLeaf) {
  for (const ProgramColour& colour : kProgramColours) {
    if (type.startsWith(QLatin1String(colour.begin))) return colour;
  }
  if (!step) return isLeaf ? kOtherProgram : kFlowProgram;
  const auto found = std::ranges::find(kStepColours, geometry::roleOf(*step), &ProgramColour::role);
  return found == std::end(kStepColours) ? kOtherProgram : *found;
}

bool isFlow(const QString& type) {
  return type == QLatin1String("Sequence") || type == QLatin1String("Repeat") ||
         type == QLatin1String("Call") || type == QLatin1String("Function");
}

struct ProgramsData {
  sections::ProgramRows rows;
  sections::Section section;
  double perUnit = 1;
  TreeRows tree;  ///< has the table of the rows; it is moved into the tree of the page
  std::vector<const ProgramColour*> colours;  ///< colours that programs have, in the order of the rows
  RowMarks marks;                             ///< index into colours of each row
  std::vector<bool> used;                     ///< true for a column that some program has
};

/// Finds what the page needs of each program. For workers, because there may be very many.
void arrange(ProgramsData& data) {
  sections::ProgramRows& rows = data.rows;
  data.tree = {std::move(rows.table), rows.parents, {}};
  auto marks = std::make_shared<std::vector<int>>();
  std::map<std::tuple<std::string_view, std::optional<model::StepKind>, bool>, int> colourOf;
  data.tree.sources.reserve(rows.parents.size());
  marks->reserve(rows.parents.size());
  for (std::size_t i = 0; i < rows.parents.size(); ++i) {
    data.tree.sources.push_back(static_cast<int>(i));
    const auto& type = std::get<std::string>(data.tree.table.rows[i][kProgramTypeColumn]);
    const bool isLast = i + 1 == rows.parents.size() || rows.parents[i + 1] != static_cast<int>(i);
    const auto [known, isNew] = colourOf.try_emplace({type, rows.steps[i], isLast}, 0);
    if (isNew) {
      const QString name = text(type);
      const ProgramColour* const colour = &colourOfProgram(name, rows.steps[i], isLast && !isFlow(name));
      const auto found = std::ranges::find(data.colours, colour);
      known->second = static_cast<int>(found - data.colours.begin());
      if (found == data.colours.end()) data.colours.push_back(colour);
    }
    marks->push_back(known->second);
  }
  data.marks = std::move(marks);
  data.tree.shape = shapeOf(data.tree);
  data.used = data.tree.shape->used;
}

}  // namespace

class ProgramsPage : public shell::Page {
 public:
  explicit ProgramsPage(shell::PageContext& context) : Page(context) {
    auto* tools = new QHBoxLayout;
    tools->addWidget(makeTools());
    auto* area = area_ = new SplitArea(context.palette, tools, this);
    area->setShares(2, 1);
    upper_ = area->picture();
    tree_ = new TreeTable(context.palette, upper_);
    tree_->setYielding({"callers", "programs", "active_units", "tile_balance"});
    legend_ = new timeline::Legend(context.palette, upper_);
    auto* across = new QSplitter(Qt::Horizontal, upper_);
    across->setChildrenCollapsible(false);
    roots_ = new DataTable(context.palette, across);
    roots_->setComparable(false);  // the tree beside it has the figures of both profiles
    roots_->setYielding({"callers", "device_name"});
    roots_->setMinimumWidth(kLeastRoots);
    across->addWidget(roots_);
    across->addWidget(tree_);
    across->setStretchFactor(1, 1);
    across->setSizes({kLeastRoots, kTreeWidth});
    upper_->body()->addWidget(across, 1);
    upper_->body()->addWidget(legend_);
    connect(roots_, &DataTable::rowActivated, this, [this](int root) {
      if (root >= static_cast<int>(rootRows_.size())) return;
      const int row = rootRows_[static_cast<std::size_t>(root)];
      tree_->markRow(row);
      tree_->view()->expand(tree_->view()->currentIndex());
      choose(row);
    });
    facts_ = new FactGrid(context.palette, area->tabs());
    facts_->setComparable(true);
    names_ = new DataTable(context.palette, area->tabs());
    names_->setComparable(false);
    below_ = new DataTable(context.palette, area->tabs());
    below_->setFilterVisible(true);
    area->tabs()->addTab(below_, tr("Programs in it"));
    vertices_ = new DataTable(context.palette, area->tabs());
    vertices_->setFilterVisible(true);
    area->tabs()->addTab(vertices_, tr("Vertices"));
    area->tabs()->addTab(names_, tr("Debug"));
    area->setFacts(facts_, tr("Details"));
    area->tabs()->setCurrentIndex(0);
    setContent(area);
    setKeyWidget(tree_->view());
    connect(tree_, &TreeTable::rowActivated, this, &ProgramsPage::choose);
    tree_->setSubjects([this](int row) { return subjectOf(row); },
                       [this](const shell::Selected& selected) { return rowAbout(selected); });
    connect(tree_, &TreeTable::rowFollowed, this, &ProgramsPage::showRow);
    connect(&context.palette, &shell::Palette::changed, this, [this] {
      if (data_) applyColours();
    });
    onTrace_ = add(tr("Show the program on the trace"), Qt::Key_T, [this] { jump(QStringLiteral("trace")); });
    onLiveness_ = add(tr("Show the program in the liveness report"), Qt::Key_L,
                      [this] { jump(QStringLiteral("liveness")); });
    toFunction_ = context.actions.add(tr("Programs"), tr("Go to the function that a Call runs"), {},
                                      [this] { goToFunction(); });
    own(toFunction_);
  }

  shell::Picture picture() override { return {upper_, accessibleName(), {}}; }

  /// The details show the same program of both profiles.
  void mirror(const Page* shown) override {
    const auto* other = static_cast<const ProgramsPage*>(shown);
    if (other == nullptr || !data_ || !other->data_) return;
    const int row = other->selected_ < 0 ? -1 : rowOfPath(other->pathOf(other->selected_));
    if (row != selected_) showRow(row);
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      auto content = std::make_shared<ProgramsData>();
      const sections::Context context{job.source, job.catalog, job.executable, -1, job.reports};
      content->perUnit = sections::wordsOf(job.catalog).time.ticks;
      const auto show = [this](const std::shared_ptr<ProgramsData>& made) {
        arrange(*made);
        return [this, made] { apply(made); };
      };
      const auto begin = [&](sections::ProgramRows devices) {
        auto first = std::make_shared<ProgramsData>();
        first->rows = std::move(devices);
        first->perUnit = content->perUnit;
        job.begin(show(first));
      };
      PIPESCOPE_ASSIGN(content->rows, sections::programRows(context, begin));
      PIPESCOPE_ASSIGN(content->section, sectionNamed("programs", context));
      return Apply(show(content));
    };
  }

  void forget() override { selected_ = -1; }

 private:
  QAction* add(const QString& what, Qt::Key key, std::function<void()> run) {
    QAction* action = context_.actions.add(tr("Programs"), what, {QKeySequence(key)}, std::move(run));
    own(action);
    return action;
  }

  QWidget* makeTools() {
    auto* tools = new ToolRow(context_, this);
    tools->setIndent(kSplitIndent);
    levels_ = tools->combo({tr("1 level"), tr("2 levels"), tr("3 levels"), tr("4 levels"), tr("All levels")},
                           tr("Levels"), tr("How deep the tree is open"));
    wantedLevels_ = qBound(0, context_.settings.value(kProgramLevelsKey, 3).toInt(), kAllLevels);
    connect(levels_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
      context_.settings.setValue(kProgramLevelsKey, index);
      wantedLevels_ = index;
      openLevels();
    });
    ids_ = new QCheckBox(tr("Ids"), tools);
    ids_->setToolTip(tr("Show the number of each program in the profile"));
    ids_->setFocusPolicy(Qt::TabFocus);
    ids_->setChecked(context_.settings.value(kProgramIdsKey, false).toBool());
    connect(ids_, &QCheckBox::toggled, this, [this](bool on) {
      context_.settings.setValue(kProgramIdsKey, on);
      applyColumns();
    });
    tools->space();
    tools->add(ids_);
    tools->stretch();
    tools->button(QStringLiteral("trace"), tr("Show the program on the trace"),
                  [this] { jump(QStringLiteral("trace")); });
    tools->button(QStringLiteral("liveness"), tr("Show the program in the liveness report"),
                  [this] { jump(QStringLiteral("liveness")); });
    tools->pictureButton();
    return tools;
  }

  /// The rows of the whole tree.
  const sections::SectionTable& programs() const { return tree_->ownRows().table; }

  /// Lists the programs that no other one holds: a control program for each device, and functions.
  void listRoots() {
    const sections::SectionTable& all = programs();
    const sections::ShownTime time = data_->section.time();
    sections::SectionTable table{"roots", "Control programs and functions", "", {}, {}};
    if (!time.isCycles()) table.basis = sections::wordsFor(time).cyclesOrTimes();
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < all.columns.size(); ++c) {
      const std::string& key = all.columns[c].key;
      const bool wanted = c == 0 || key == "device_name" || key == "cycles" || key == "callers";
      if (!wanted || (c > 0 && !data_->used[c])) continue;
      columns.push_back(c);
      table.columns.push_back(all.columns[c]);
    }
    rootRows_.clear();
    for (std::size_t row = 0; row < all.rows.size(); ++row) {
      if (data_->rows.parents[row] >= 0) continue;
      rootRows_.push_back(static_cast<int>(row));
      std::vector<sections::Cell>& cells = table.rows.emplace_back();
      for (const std::size_t c : columns) cells.push_back(all.rows[row][c]);
      // The names of functions end with this word, and the list has little room.
      const QString name = debugNameOf(static_cast<int>(row));
      const bool isFunction = wordsIn(all.rows[row][kProgramTypeColumn]) == QLatin1String("Function");
      if (isFunction && !name.isEmpty()) cells.front() = name.toStdString();
    }
    roots_->setTable(std::move(table), data_->perUnit);
    roots_->setVisible(showsRoots());
  }

  /// A trace of another tool has a flat list of names, which need not stand beside themselves.
  bool showsRoots() const {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    return rootRows_.size() > 1 && width() >= kRootsFrom && snapshot != nullptr &&
           !snapshot->catalog->measured();
  }

  void resizeEvent(QResizeEvent* event) override {
    Page::resizeEvent(event);
    roots_->setVisible(showsRoots());
  }

  /// The selected program stays selected.
  void apply(const std::shared_ptr<ProgramsData>& made) {
    const QStringList path = data_ && selected_ >= 0 ? pathOf(selected_) : QStringList();
    shell::dropInBackground(std::exchange(data_, made));
    if (made->tree.table.rows.empty()) {
      return showInstead(tr("This profile has no programs: it was imported, or its run stated costs only."));
    }
    tree_->setRows(std::move(made->tree), data_->perUnit);
    listRoots();
    applyColumns();
    applyColours();
    openLevels(kMostOpenAtFirst);
    const int row = path.isEmpty() ? -1 : rowOfPath(path);
    if (row >= 0) tree_->markRow(row);
    showRow(row);
    if (const int about = rowAbout(context_.selection.current()); about >= 0) {
      tree_->markRow(about);
      showRow(about);
    }
  }

  /// Hides columns that no program has, such as the code if the devices have none.
  void applyColumns() {
    for (int c = kProgramTypeColumn + 1; c < static_cast<int>(data_->used.size()); ++c)
      tree_->setColumnShown(c, data_->used[static_cast<std::size_t>(c)]);
    tree_->setColumnShown(kProgramIdColumn, ids_->isChecked());
    tree_->setColumnShown(kProgramTypeColumn, false);
  }

  void openLevels(int most = TreeTable::kMostOpen) {
    const int opened = tree_->openTo(wantedLevels_ == kAllLevels ? kEveryLevel : wantedLevels_, most);
    // A large tree may open fewer levels than users chose.
    levels_->setCurrentIndex(std::min(opened, wantedLevels_));
  }

  void applyColours() {
    std::vector<timeline::LegendEntry> entries;
    std::vector<QPixmap> swatches;
    for (const ProgramColour* colour : data_->colours) {
      swatches.push_back(timeline::swatch(colour->role, false, context_.palette, devicePixelRatioF()));
      const auto same = [&](const auto& entry) { return entry.text == tr(colour->name); };
      if (std::ranges::none_of(entries, same)) entries.push_back({tr(colour->name), colour->role, false});
    }
    tree_->setMarks(std::move(swatches), data_->marks);
    legend_->setEntries(std::move(entries));
  }

  /// Shows a program that the user clicked, and tells other pages.
  void choose(int row) {
    showRow(row);
    context_.selection.set(subjectOf(row));
  }

  /// A program, or the first one in it that runs on the device.
  shell::Selected subjectOf(int row) const {
    const int leaf = firstStepOf(row);
    shell::Selected subject;
    subject.kind = shell::Selected::Kind::program;
    subject.device = data_->rows.devices[static_cast<std::size_t>(leaf)];
    subject.program = data_->rows.ids[static_cast<std::size_t>(leaf)];
    subject.name = debugNameOf(leaf);
    return subject;
  }

  /// The name in "OnTileExecute (layer1/conv)".
  QString debugNameOf(int row) const {
    const QString words = wordsIn(programs().rows[static_cast<std::size_t>(row)][0]);
    const auto open = words.indexOf(QLatin1Char('('));
    return open >= 0 && words.endsWith(QLatin1Char(')')) ? words.mid(open + 1, words.size() - open - 2)
                                                         : QString();
  }

  /// The program itself, or the first program in it that has no children and therefore runs on the device.
  int firstStepOf(int row) const {
    const auto& parents = data_->rows.parents;
    const auto count = static_cast<int>(parents.size());
    int at = row;
    while (at + 1 < count && parents[static_cast<std::size_t>(at + 1)] == at) ++at;
    return at;
  }

  void showRow(int row) {
    selected_ = row;
    const auto& table = programs();
    const bool any = row >= 0;
    for (QAction* action : {onTrace_, onLiveness_}) setPossible(action, any);
    setPossible(toFunction_, any && functionOf(row) >= 0);
    std::vector<ShownFact> facts;
    sections::SectionTable below{
        "programs", any ? "Programs in it" : "Outermost programs", table.basis, {}, {}};
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (!any) break;
      const sections::Cell& cell = table.rows[static_cast<std::size_t>(row)][c];
      if (!std::holds_alternative<std::monostate>(cell))
        facts.push_back({text(table.columns[c].heading),
                         text(factText(data_->section, {"", "", cell, table.columns[c].format, ""})),
                         text(table.columns[c].doc)});
    }
    below.columns = table.columns;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (data_->rows.parents[i] == (any ? row : -1)) below.rows.push_back(table.rows[i]);
    }
    if (!any) {
      facts.push_back({tr("Selection"), tr("select a program to see its figures"), {}});
      for (const sections::Fact& fact : data_->section.facts)
        facts.push_back({text(fact.label), text(factText(data_->section, fact)), text(fact.doc)});
    }
    facts_->setFacts(std::move(facts));
    area_->setNothingSelected(!any);
    below_->setTable(std::move(below), data_->perUnit);
    names_->setTable(debugTable({}));
    vertices_->setTable({"vertices", "Vertices", any ? "" : "select a program", {}, {}});
    if (any) readNames(row), readVertices(row);
  }

  void readNames(int row) {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr) return;
    readInBackground(
        [held = *snapshot, id = data_->rows.contexts[static_cast<std::size_t>(row)]] {
          return namesAbove(*held.catalog, id);
        },
        [this, row, data = data_](const std::vector<model::DebugContext>& chain) {
          if (data == data_ && row == selected_) names_->setTable(debugTable(chain));
        });
  }

  void readVertices(int row) {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr) return;
    readInBackground(
        [held = *snapshot, executable = context_.session.executable(), row, data = data_] {
          return sections::programVertices({*held.source, *held.catalog, executable},
                                           sections::programsBelow(data->rows, row));
        },
        [this, row, data = data_](const base::Result<sections::SectionTable>& table) {
          if (data != data_ || row != selected_) return;
          vertices_->setTable(
              table.ok() ? *table
                         : sections::SectionTable{"vertices", "Vertices", table.error().message, {}, {}});
        });
  }

  /// The texts of a program and of those around it, the outermost last.
  QStringList pathOf(int row) const {
    QStringList path;
    for (int at = row; at >= 0; at = data_->rows.parents[static_cast<std::size_t>(at)])
      path << wordsIn(programs().rows[static_cast<std::size_t>(at)][0]);
    return path;
  }

  int rowOfPath(const QStringList& path) const {
    const sections::Cell name = path.front().toStdString();
    for (int row = 0; row < static_cast<int>(data_->rows.parents.size()); ++row) {
      const bool maybe = programs().rows[static_cast<std::size_t>(row)][0] == name;
      if (maybe && pathOf(row) == path) return row;
    }
    return -1;
  }

  int rowOf(model::ProgramId id) const {
    const auto found = std::ranges::find(data_->rows.ids, id);
    return found == data_->rows.ids.end() ? -1 : static_cast<int>(found - data_->rows.ids.begin());
  }

  int functionOf(int row) const {
    const model::ProgramId target = data_->rows.targets[static_cast<std::size_t>(row)];
    return target.valid() ? rowOf(target) : -1;
  }

  void goToFunction() {
    if (selected_ < 0 || functionOf(selected_) < 0) return;
    const int function = functionOf(selected_);
    tree_->markRow(function);
    choose(function);
  }

  void jump(const QString& page) {
    if (selected_ < 0) return;
    choose(selected_);
    shell::Place place;
    place.page = page;
    context_.go(place);
  }

  /// The row of the selected program, or the first row of a program that works for the selected operation;
  /// −1: there is none.
  int rowAbout(const shell::Selected& selected) const {
    if (!data_ || programs().rows.empty()) return -1;
    if (selected.program.valid()) {
      if (const int row = rowOf(selected.program); row >= 0) return row;
    }
    if (selected.name.isEmpty()) return -1;
    const auto worksFor = [&](int row) {
      const QString name = debugNameOf(row);
      return name == selected.name || name.startsWith(selected.name + QLatin1Char('/'));
    };
    const auto count = static_cast<int>(data_->rows.parents.size());
    for (int row = 0; row < count; ++row) {
      if (worksFor(row)) return row;
    }
    return -1;
  }

  std::shared_ptr<const ProgramsData> data_;
  Panel* upper_ = nullptr;
  QComboBox* levels_ = nullptr;
  int wantedLevels_ = 0;
  QCheckBox* ids_ = nullptr;
  TreeTable* tree_ = nullptr;
  DataTable* roots_ = nullptr;
  std::vector<int> rootRows_;  ///< row of the tree that each row of the list shows
  timeline::Legend* legend_ = nullptr;
  FactGrid* facts_ = nullptr;
  DataTable *below_ = nullptr, *vertices_ = nullptr, *names_ = nullptr;
  QAction *onTrace_ = nullptr, *onLiveness_ = nullptr, *toFunction_ = nullptr;
  SplitArea* area_ = nullptr;
  int selected_ = -1;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(programs) {
  registry.add(
      {QStringLiteral("programs"), QObject::tr("Programs"), QStringLiteral("programs"),
       QObject::tr("The program tree, and what each program costs"), PageGroup::model, 20,
       [](PageContext& context) -> Page* { return new pages::ProgramsPage(context); }, true,
       [](const analysis::Catalog& catalog, model::ExecutableId) { return pages::whyNoPrograms(catalog); }});
}

}  // namespace pipescope::shell
