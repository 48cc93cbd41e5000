// What is live when: bytes by program step, and the variables behind them.
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "profiler/analysis/memory.h"
#include "profiler/analysis/tile_memory.h"
#include "profiler/sections/section.h"
#include "views/pages/parts/chart.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/panel.h"
#include "views/shell/icons.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

QString text(const std::string& from) {
  return QString::fromStdString(from);
}
QString bytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

struct Space {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::int64_t bytesPerUnit = 0;
};

struct LivenessData {
  std::vector<Space> spaces;
  model::MemorySpaceId shown;
  analysis::Liveness liveness;
  std::vector<QString> names;  ///< of each step's program
};

base::Result<LivenessData> collect(const sections::Context& context, model::MemorySpaceId wanted) {
  LivenessData content;
  PIPESCOPE_ASSIGN(const analysis::Memory memory,
                   analysis::memory(context.source, context.catalog, context.executable));
  for (const analysis::DeviceMemory& device : memory.devices) {
    if (device.peakStep >= 0) 
      content.spaces.push_back(
          {device.space, model::DeviceId(device.index), text(device.name), device.bytesPerUnit.count});
  }
  if (content.spaces.empty()) return content;
  const auto found = std::find_if(content.spaces.begin(), content.spaces.end(),
                                  [&](const Space& space) { return space.id == wanted; });
  content.shown = found == content.spaces.end() ? content.spaces.front().id : found->id;
  PIPESCOPE_ASSIGN(content.liveness,
                   analysis::liveness(context.source, context.catalog, context.executable, content.shown));
  for (const analysis::LivenessPoint& step : content.liveness.steps) {
    const auto index = static_cast<std::size_t>(step.program.value);
    const bool known = step.program.valid() && index < context.catalog.programs.size();
    content.names.push_back(
        known ? text(context.catalog.namePath(context.catalog.programs[index].debugContext)) : QString());
  }
  return content;
}

sections::Table variableTable(const std::vector<analysis::LiveVariable>& variables) {
  sections::Table table{"variables",
                        "Live variables",
                        "sum over the device's tiles",
                        {{"name", "Variable", Format::plain, "name path"},
                         {"bytes", "Bytes", Format::bytes, ""},
                         {"max_tile", "Most on a tile", Format::bytes, ""},
                         {"category", "Category", Format::plain, ""},
                         {"shape", "Shape", Format::plain, ""},
                         {"live", "Live in steps", Format::plain, ""}},
                        {}};
  for (const analysis::LiveVariable& v : variables) {
    const std::string lives =
        v.alwaysLive ? "always" : std::to_string(v.firstStep) + "–" + std::to_string(v.endStep - 1);
    table.rows.push_back({v.name, v.bytes.count, v.maxUnitBytes.count, v.category, v.shape, lives});
  }
  return table;
}

}  // namespace

class LivenessPage : public shell::Page {
 public:
  explicit LivenessPage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(14, 10, 14, 12);
    layout->setSpacing(8);
    layout->addLayout(makeToolbar());
    auto* splitter = new QSplitter(Qt::Vertical, content);
    splitter->setChildrenCollapsible(false);
    auto* upper = new Panel(context.palette, {}, splitter);
    chart_ = new Chart(context.palette, upper);
    chart_->setAccessibleName(tr("Live bytes by program step"));
    chart_->setAxes(tr("program step, in compile order"), tr("bytes, sum over tiles"));
    legend_ = new timeline::Legend(context.palette, upper);
    upper->body()->addWidget(readout_);
    upper->body()->addWidget(chart_, 1);
    upper->body()->addWidget(legend_);
    auto* lower = new Panel(context.palette, {}, splitter);
    tabs_ = new QTabWidget(lower);
    tabs_->setDocumentMode(true);
    table_ = new DataTable(context.palette, tabs_);
    vertices_ = new DataTable(context.palette, tabs_);
    cycles_ = new DataTable(context.palette, tabs_);
    table_->setFilterVisible(true);
    vertices_->setFilterVisible(true);
    tabs_->addTab(table_, tr("Variables"));
    tabs_->addTab(vertices_, tr("Vertices"));
    tabs_->addTab(cycles_, tr("Cycles"));
    lower->body()->addWidget(tabs_);
    upper_ = upper;
    splitter->addWidget(upper);
    splitter->addWidget(lower);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    layout->addWidget(splitter, 1);
    setContent(content);
    setFocusPolicy(Qt::StrongFocus);
    connect(chart_, &Chart::clicked, this, &LivenessPage::choose);
    connect(&context.selection, &shell::Selection::changed, this, &LivenessPage::followOthers);
    connect(chart_, &Chart::hovered, this,
            [this](int step) { readout_->setText(describe(step >= 0 ? step : chart_->mark())); });
    context.actions.describe(tr("Liveness"), tr("Previous or next step"), tr(",  ."));
    context.actions.describe(tr("Liveness"), tr("Step with most live"), tr("P"));
    context.actions.describe(tr("Liveness"), tr("Show the step on the trace"), tr("T"));
    context.actions.describe(tr("Charts"), tr("Zoom, pan, all"), tr("wheel, drag, double click"));
  }

 protected:
  Load load() override {
    const model::MemorySpaceId wanted(device_->currentData().isValid() ? device_->currentData().toLongLong()
                                                                       : -1);
    return [this, wanted](const Job& job) -> base::Result<Apply> {
      auto made = collect({job.source, job.catalog, job.executable}, wanted);
      if (!made.ok()) return made.error();
      auto content = std::make_shared<const LivenessData>(*std::move(made));
      return Apply([this, content] { apply(content); });
    };
  }

  void keyPressEvent(QKeyEvent* event) override {
    switch (event->key()) {
      case Qt::Key_Comma:
        return choose(chart_->mark() - 1);
      case Qt::Key_Period:
        return choose(chart_->mark() + 1);
      case Qt::Key_P:
        return choosePeak();
      case Qt::Key_T:
        return jump();
      default:
        Page::keyPressEvent(event);
    }
  }

  QWidget* picture() override { return upper_; }

  void forget() override { chart_->setMark(-1); }

 private:
  QHBoxLayout* makeToolbar() {
    auto* bar = new QHBoxLayout;
    bar->setSpacing(8);
    device_ = new QComboBox(this);
    device_->setAccessibleName(tr("Device"));
    device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    always_ = new QCheckBox(tr("Always live below"), this);
    always_->setChecked(true);
    always_->setToolTip(
        tr("What is reserved for the whole program, as the base of the chart and in the table"));
    auto* previous = new QToolButton(this);
    auto* next = new QToolButton(this);
    auto* peak = new QPushButton(tr("Peak"), this);
    peak->setToolTip(tr("The step with most live (P)"));
    const std::vector<std::tuple<QToolButton*, QString, QString, int>> steps = {
        {previous, QStringLiteral("previous"), tr("Previous step (,)"), -1},
        {next, QStringLiteral("next"), tr("Next step (.)"), 1}};
    for (const auto& [button, name, tip, by] : steps) {
      button->setAutoRaise(true);
      button->setToolTip(tip);
      button->setAccessibleName(tip);
      const auto follow = [this, tool = button, drawing = name] {
        tool->setIcon(shell::icon(drawing, context_.palette));
      };
      follow();
      connect(&context_.palette, &shell::Palette::changed, button, follow);
      connect(button, &QToolButton::clicked, this, [this, move = by] { choose(chart_->mark() + move); });
    }
    readout_ = new ElidedLabel(context_.palette, Qt::AlignRight | Qt::AlignVCenter, this);
    jump_ = new QPushButton(tr("Show on the trace"), this);
    jump_->setToolTip(tr("Where this program step ran first in the last call (T)"));
    jump_->setEnabled(false);
    connect(jump_, &QPushButton::clicked, this, &LivenessPage::jump);
    filter_ = new QLineEdit(this);
    filter_->setPlaceholderText(tr("Next step named…"));
    filter_->setAccessibleName(tr("Step name"));
    filter_->setToolTip(tr("Enter goes to the next step whose name contains this"));
    filter_->setMaximumWidth(170);
    connect(filter_, &QLineEdit::returnPressed, this, &LivenessPage::goToNamed);
    source_ = new QComboBox(this);
    source_->addItems({tr("Sum over tiles"), tr("Fullest tile")});
    source_->setAccessibleName(tr("Bytes of"));
    source_->setToolTip(tr("Bytes of all tiles together, or of the one that holds most at each step"));
    for (QWidget* widget :
         std::initializer_list<QWidget*>{device_, source_, always_, previous, peak, next, filter_, jump_})
      bar->addWidget(widget);
    bar->addStretch(1);
    connect(device_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      chart_->setMark(-1);
      tellDevice();
      reload();
    });
    connect(source_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      showStack();
      readout_->setText(describe(chart_->mark()));
    });
    connect(always_, &QCheckBox::toggled, this, [this] {
      showStack();
      readVariables();
    });
    connect(peak, &QPushButton::clicked, this, &LivenessPage::choosePeak);
    return bar;
  }

  void apply(std::shared_ptr<const LivenessData> content) {
    const bool sameSpace = data_ && data_->shown == content->shown &&
                           data_->liveness.steps.size() == content->liveness.steps.size();
    data_ = std::move(content);
    if (data_->spaces.empty()) {
      const std::string& family = context_.session.snapshot()->catalog->target.family;
      return showInstead(family == "fixed"
                             ? tr("Liveness is not modelled for the system “fixed”: its costs come from the "
                                  "configuration. Emulate an IPU system to see what is live when.")
                             : tr("This profile holds no liveness for the executable."));
    }
    const QSignalBlocker blocker(device_);
    device_->clear();
    for (const Space& space : data_->spaces)
      device_->addItem(space.name, QVariant::fromValue<qlonglong>(space.id.value));
    device_->setCurrentIndex(device_->findData(QVariant::fromValue<qlonglong>(data_->shown.value)));
    if (!sameSpace) chart_->setMark(-1);
    showStack();
    if (chart_->mark() < 0) selectPeak();
    followOthers();
  }

  void showStack() {
    if (!data_ || data_->spaces.empty()) return;
    const auto& steps = data_->liveness.steps;
    StackLayer base{ColourRole::alwaysLive,
                    std::vector<std::int64_t>(steps.size(), data_->liveness.alwaysLive.count), true};
    StackLayer above{ColourRole::notAlwaysLive, {}, true};
    std::vector<ChartBand> bands;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      above.values.push_back(ofFullest() ? steps[i].maxUnitNotAlwaysLive.count : steps[i].notAlwaysLive.count);
      const auto at = static_cast<double>(i);
      const QString pass = text(model::toString(steps[i].pass));
      if (bands.empty() || bands.back().name != pass)
        bands.push_back({at, at, pass, true, geometry::roleOf(steps[i].pass)});
      bands.back().to = at + 1;
    }
    std::vector<StackLayer> layers;
    std::vector<timeline::LegendEntry> entries;
    always_->setEnabled(!ofFullest());  // the tile with most of one need not have most of the other
    if (always_->isChecked() && !ofFullest()) {
      layers.push_back(std::move(base));
      entries.push_back({tr("always live, %1").arg(bytesText(data_->liveness.alwaysLive.count)),
                         ColourRole::alwaysLive, false});
    }
    layers.push_back(std::move(above));
    entries.push_back({ofFullest() ? tr("not always live, on the tile that holds most of it in the step")
                                   : tr("not always live"),
                       ColourRole::notAlwaysLive, false});
    chart_->setAxes(tr("program step, in compile order"), ofFullest() ? tr("bytes on one tile") : tr("bytes, sum over tiles"));
    std::int64_t capacity = 0;
    for (const Space& space : data_->spaces) capacity = space.id == data_->shown ? space.bytesPerUnit : capacity;
    chart_->setLimit(ofFullest() ? static_cast<double>(capacity) : -1, tr("%1 per tile").arg(bytesText(capacity)));
    chart_->setStack(std::move(layers), std::move(bands));
    legend_->setEntries(std::move(entries));
  }

  void goToNamed() {
    const QString wanted = filter_->text().trimmed();
    if (!data_ || wanted.isEmpty()) return;
    const int count = static_cast<int>(data_->names.size());
    for (int i = 1; i <= count; ++i) {
      const int step = (chart_->mark() + i) % count;
      if (data_->names[static_cast<std::size_t>(step)].contains(wanted, Qt::CaseInsensitive))
        return choose(step);
    }
    readout_->setText(tr("No step of this device is named like “%1”.").arg(wanted));
  }

  /// To the first placement of the selected step in the last call.
  void jump() {
    if (place_ && place_->ran) context_.go({QStringLiteral("trace"), place_->time, -1, QString()});
  }

  /// Cycles of the selected program step, and where it runs.
  void readProgram(model::ProgramId program) {
    const shell::Snapshot* snapshot = context_.session.snapshot();
    place_.reset();
    jump_->setEnabled(false);
    const auto progress = std::make_shared<shell::SharedProgress>();
    if (programProgress_) programProgress_->cancel();
    programProgress_ = progress;
    readBeside(
        [held = *snapshot, executable = context_.session.executable(), program, progress] {
          return analysis::programPlace(*held.source, *held.catalog, executable, program, *progress);
        },
        [this, progress](base::Result<analysis::ProgramPlace>&& place) {
          if (progress != programProgress_) return;
          if (place.ok()) place_ = *std::move(place);
          jump_->setEnabled(place_ && place_->ran);
          showCycles();
        });
  }

  void showCycles() {
    sections::Table table{"cycles",
                          "Cycles of the step",
                          "estimated by the device model, per execution",
                          {{"figure", "Figure", Format::plain, ""}, {"value", "Value", Format::plain, ""}},
                          {}};
    if (!place_ || !place_->found) {
      table.basis = "this program step takes no time of its own on the trace, or steps were not recorded";
    } else {
      const model::Step& step = place_->step;
      const auto count = [](std::int64_t value) { return geometry::groupedNumber(value); };
      table.rows = {{"Program", place_->kind},
                    {"Kind", model::toString(step.kind)},
                    {"Length", count(step.ticks.count)},
                    {"Active tiles", count(step.activeUnits)},
                    {"Fastest active tile", count(step.minTicks.count)},
                    {"Mean over all tiles", count(std::llround(step.meanTicks))},
                    {"Slowest tile", count(step.maxTicks.count)},
                    {"Received", formatCell(step.bytesIn.count, Format::bytes)},
                    {"Sent", formatCell(step.bytesOut.count, Format::bytes)}};
    }
    cycles_->setTable(std::move(table));
  }

  /// A step that the user selected: other pages light it too.
  void choose(int step) {
    selectStep(step);
    if (!data_ || chart_->mark() != step) return;
    shell::Selected selected;
    selected.kind = shell::Selected::Kind::program;
    selected.device = deviceShown();
    selected.program = data_->liveness.steps[static_cast<std::size_t>(step)].program;
    following_ = true;
    context_.selection.set(selected);
    following_ = false;
  }
  void choosePeak() {
    if (data_) choose(static_cast<int>(data_->liveness.peakStep));
  }

  /// The user chose a device: other pages light it.
  void tellDevice() {
    for (const Space& space : data_->spaces) {
      if (space.id.value != device_->currentData().toLongLong()) continue;
      shell::Selected selected;
      selected.kind = shell::Selected::Kind::device;
      selected.device = space.device;
      following_ = true;
      context_.selection.set(selected);
      following_ = false;
    }
  }

  bool ofFullest() const { return source_->currentIndex() == 1; }

  model::DeviceId deviceShown() const {
    for (const Space& space : data_->spaces) {
      if (space.id == data_->shown) return space.device;
    }
    return {};
  }

  /// What another page selected: its device, and its program step.
  void followOthers() {
    if (following_ || !data_) return;
    const shell::Selected& selected = context_.selection.current();
    const auto space = std::find_if(data_->spaces.begin(), data_->spaces.end(),
                                    [&](const Space& one) { return one.device == selected.device; });
    if (!selected.device.valid() || space == data_->spaces.end()) return;
    if (space->id != data_->shown) {
      device_->setCurrentIndex(device_->findData(QVariant::fromValue<qlonglong>(space->id.value)));
      chart_->setMark(-1);
      return reload();  // and then again
    }
    const auto& steps = data_->liveness.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (selected.program.valid() && steps[i].program == selected.program) return selectStep(static_cast<int>(i));
    }
  }

  void selectPeak() {
    if (data_) selectStep(static_cast<int>(data_->liveness.peakStep));
  }

  void selectStep(int step) {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return;
    chart_->setMark(step);
    readout_->setText(describe(step));
    readVariables();
  }

  QString describe(int step) const {
    if (!data_ || step < 0 || step >= static_cast<int>(data_->liveness.steps.size())) return {};
    const analysis::LivenessPoint& point = data_->liveness.steps[static_cast<std::size_t>(step)];
    const QString& name = data_->names[static_cast<std::size_t>(step)];
    if (ofFullest())
      return tr("Step %1 of %2 · %3 · %4 not always live on the fullest tile")
          .arg(step)
          .arg(data_->liveness.steps.size())
          .arg(name.isEmpty() ? text(model::toString(point.pass)) : name, bytesText(point.maxUnitNotAlwaysLive.count));
    const QString peak = step == data_->liveness.peakStep ? tr(", the peak") : QString();
    return tr("Step %1 of %2 · %3 · %4 not always live, %5 in all%6")
        .arg(step)
        .arg(data_->liveness.steps.size())
        .arg(name.isEmpty() ? text(model::toString(point.pass)) : name, bytesText(point.notAlwaysLive.count),
             bytesText((point.notAlwaysLive + data_->liveness.alwaysLive).count), peak);
  }

  /// The table of the selected step; a later choice overtakes an earlier one.
  void readVariables() {
    const shell::Snapshot* snapshot = context_.session.snapshot();
    const int step = chart_->mark();
    if (!data_ || snapshot == nullptr || step < 0 || step >= static_cast<int>(data_->liveness.steps.size()))
      return;
    const std::int32_t index = data_->liveness.steps[static_cast<std::size_t>(step)].step;
    readProgram(data_->liveness.steps[static_cast<std::size_t>(step)].program);
    readBeside(
        [held = *snapshot, executable = context_.session.executable(), space = data_->shown, index,
         withAlways = always_->isChecked()]() -> base::Result<sections::Table> {
          PIPESCOPE_ASSIGN(
              const auto variables,
              analysis::liveVariables(*held.source, *held.catalog, executable, space, index, withAlways));
          return variableTable(variables);
        },
        [this, generation = ++generation_](base::Result<sections::Table>&& table) {
          if (generation != generation_) return;
          if (!table.ok()) return table_->setTable({"variables", table.error().message, "", {}, {}});
          sections::Table vertices = *table;
          vertices.key = "vertices";
          vertices.title = "Live vertices";
          vertices.rows.erase(std::remove_if(vertices.rows.begin(), vertices.rows.end(),
                                             [](const auto& row) {
                                               return std::get<std::string>(row[3]).rfind("vertex", 0) != 0;
                                             }),
                              vertices.rows.end());
          vertices_->setTable(std::move(vertices));
          table_->setTable(*std::move(table));
        });
  }

  std::shared_ptr<const LivenessData> data_;
  QComboBox *device_ = nullptr, *source_ = nullptr;
  QCheckBox* always_ = nullptr;
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable *table_ = nullptr, *vertices_ = nullptr, *cycles_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QWidget* upper_ = nullptr;
  QPushButton* jump_ = nullptr;
  QLineEdit* filter_ = nullptr;
  std::optional<analysis::ProgramPlace> place_;
  std::shared_ptr<shell::SharedProgress> programProgress_;
  int generation_ = 0;
  bool following_ = false;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(liveness) {
  registry.add({QStringLiteral("liveness"), QObject::tr("Liveness"), QStringLiteral("liveness"),
                QObject::tr("What is live at each program step"), 50,
                [](PageContext& context) -> Page* { return new pages::LivenessPage(context); }});
}

}  // namespace pipescope::shell
