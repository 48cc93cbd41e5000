// What is live when: bytes by program step, and the variables behind them.
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "profiler/sections/section.h"
#include "views/pages/parts/chart.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/liveness_data.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/text.h"
#include "views/shell/icons.h"
#include "views/shell/page.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;

QString livenessPageBytesText(std::int64_t bytes) {
  return text(formatCell(bytes, Format::bytes));
}

constexpr std::int64_t kFarLimit = 10;  ///< as far above what is live as this, a limit is not shown

/// What bytes are told of.
enum Source { sum, fullest, one };

}  // namespace

class LivenessPage : public shell::Page {
 public:
  explicit LivenessPage(shell::PageContext& context) : Page(context) {
    auto* area = new SplitArea(context.palette, makeToolbar(), this);
    upper_ = area->picture();
    tabs_ = area->tabs();
    chart_ = new Chart(context.palette, upper_);
    chart_->setAccessibleName(tr("Live bytes by program step"));
    chart_->setAxes(tr("program step, in compile order"), tr("bytes, sum over tiles"));
    legend_ = new timeline::Legend(context.palette, upper_);
    upper_->body()->addWidget(readout_);
    upper_->body()->addWidget(chart_, 1);
    upper_->body()->addWidget(legend_);
    table_ = new DataTable(context.palette, tabs_);
    vertices_ = new DataTable(context.palette, tabs_);
    cycles_ = new DataTable(context.palette, tabs_);
    table_->setFilterVisible(true);
    vertices_->setFilterVisible(true);
    tabs_->addTab(table_, tr("Variables"));
    tabs_->addTab(vertices_, tr("Vertices"));
    tabs_->addTab(cycles_, tr("Cycles"));
    setContent(area);
    setFocusPolicy(Qt::StrongFocus);
    connect(chart_, &Chart::clicked, this, &LivenessPage::choose);
    connect(&context.selection, &shell::Selection::changed, this, [this] {
      takeUnit();
      followOthers();
    });
    connect(chart_, &Chart::hovered, this,
            [this](int step) { readout_->setText(describe(step >= 0 ? step : chart_->mark())); });
    context.actions.describe(tr("Liveness"), tr("Previous or next step"), tr(",  ."));
    context.actions.describe(tr("Liveness"), tr("Step with most live"), tr("P"));
    context.actions.describe(tr("Liveness"), tr("Show the step on the trace"), tr("T"));
    context.actions.describe(tr("Charts"), tr("Zoom, pan, all"), tr("wheel, drag, double click"));
  }

 protected:
  Load load() override {
    LivenessChoice wanted;
    wanted.space =
        model::MemorySpaceId(device_->currentData().isValid() ? device_->currentData().toLongLong() : -1);
    wanted.single = source_->currentIndex() == Source::one;
    wanted.unit = unit_;
    return [this, wanted](const Job& job) -> base::Result<Apply> {
      auto made = collectLiveness({job.source, job.catalog, job.executable}, wanted);
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

  void forget() override {
    chart_->setMark(-1);
    unit_.reset();
  }

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
    source_->addItems({tr("Sum over tiles"), tr("Fullest tile"), tr("One tile")});
    source_->setAccessibleName(tr("Bytes of"));
    source_->setToolTip(
        tr("Bytes of all tiles together, of the one that holds most at each step, or of a chosen one"));
    tile_ = new QSpinBox(this);
    tile_->setAccessibleName(tr("Tile"));
    tile_->setToolTip(tr("The tile whose bytes are shown, from 0"));
    tile_->setKeyboardTracking(false);
    tile_->setVisible(false);
    for (QWidget* widget : std::initializer_list<QWidget*>{device_, source_, tile_, always_, previous, peak,
                                                           next, filter_, jump_})
      bar->addWidget(widget);
    bar->addStretch(1);
    connect(device_, QOverload<int>::of(&QComboBox::activated), this, [this] {
      chart_->setMark(-1);
      unit_.reset();
      tellDevice();
      reload();
    });
    connect(source_, QOverload<int>::of(&QComboBox::activated), this, &LivenessPage::followSource);
    connect(tile_, QOverload<int>::of(&QSpinBox::valueChanged), this, [this](int tile) {
      unit_ = tile;
      reload();
    });
    connect(always_, &QCheckBox::toggled, this, [this] {
      showStack();
      readVariables();
    });
    connect(peak, &QPushButton::clicked, this, &LivenessPage::choosePeak);
    return bar;
  }

  void apply(std::shared_ptr<const LivenessData> content) {
    const bool sameSpace = data_ && data_->shown.id == content->shown.id &&
                           data_->liveness.steps.size() == content->liveness.steps.size();
    data_ = std::move(content);
    if (data_->spaces.empty()) {
      const bool modelled = !context_.session.snapshot()->catalog->memorySpaces.empty();
      return showInstead(!modelled ? tr("Liveness is not modelled for this system: its costs come from the "
                                        "configuration. Emulate an IPU system to see what is live when.")
                                   : tr("This profile holds no liveness for the executable."));
    }
    const QSignalBlocker blocker(device_);
    device_->clear();
    for (const LivenessSpace& space : data_->spaces)
      device_->addItem(space.name, QVariant::fromValue<qlonglong>(space.id.value));
    device_->setCurrentIndex(device_->findData(QVariant::fromValue<qlonglong>(data_->shown.id.value)));
    if (!sameSpace) chart_->setMark(-1);
    followUnits();
    showStack();
    chart_->mark() < 0 ? selectPeak() : selectStep(chart_->mark());
    followOthers();
  }

  /// All tiles' bytes are there already; those of one are read when they are asked for.
  void followSource() {
    if (!data_ || source_->currentIndex() == Source::one) return reload();
    followUnits();
    showStack();
    selectStep(chart_->mark());
  }

  /// Memory in one piece has no tiles to choose from.
  void followUnits() {
    const LivenessSpace& space = data_->shown;
    const bool units = space.units > 1;
    if (!units) source_->setCurrentIndex(Source::sum);
    source_->setVisible(units);
    tile_->setVisible(ofOne());
    tabs_->setTabVisible(tabs_->indexOf(vertices_), units);
    const QSignalBlocker blocker(tile_);
    tile_->setRange(0, static_cast<int>(std::min<std::int64_t>(space.units - 1, INT_MAX)));
    tile_->setPrefix(text(space.unitName) + QLatin1Char(' '));
    if (data_->unit >= 0) tile_->setValue(static_cast<int>(data_->unit));
    remark(ofOne() && !data_->ofUnit.known ? tr("This profile does not say which %1 holds what; record steps "
                                                "or tiles (--record) and run again.")
                                                 .arg(text(space.unitName))
                                           : QString());
  }

  /// Always-live bytes of what is shown; of the fullest tile nothing, for the tile with most of one need not
  /// have most of the other.
  std::int64_t base() const {
    return ofFullest() ? 0 : ofOne() ? data_->ofUnit.alwaysLive.count : data_->liveness.alwaysLive.count;
  }
  std::int64_t above(std::size_t step) const {
    if (ofOne())
      return step < data_->ofUnit.notAlwaysLive.size() ? data_->ofUnit.notAlwaysLive[step].count : 0;
    const analysis::LivenessPoint& point = data_->liveness.steps[step];
    return ofFullest() ? point.maxUnitNotAlwaysLive.count : point.notAlwaysLive.count;
  }

  void showStack() {
    if (!data_ || data_->spaces.empty()) return;
    const auto& steps = data_->liveness.steps;
    StackLayer below{ColourRole::alwaysLive, std::vector<std::int64_t>(steps.size(), base()), true};
    StackLayer top{ColourRole::notAlwaysLive, {}, true};
    std::vector<ChartBand> bands;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      top.values.push_back(above(i));
      const auto at = static_cast<double>(i);
      const QString pass = text(model::toString(steps[i].pass));
      if (bands.empty() || bands.back().name != pass)
        bands.push_back({at, at, pass, true, geometry::roleOf(steps[i].pass)});
      bands.back().to = at + 1;
    }
    std::vector<StackLayer> layers;
    std::vector<timeline::LegendEntry> entries;
    always_->setEnabled(!ofFullest());
    if (always_->isChecked() && !ofFullest()) {
      layers.push_back(std::move(below));
      entries.push_back(
          {tr("always live, %1").arg(livenessPageBytesText(base())), ColourRole::alwaysLive, false});
    }
    layers.push_back(std::move(top));
    const LivenessSpace& space = data_->shown;
    const QString unit = text(space.unitName), capacity = livenessPageBytesText(space.bytesPerUnit);
    entries.push_back({ofFullest()
                           ? tr("not always live, on the %1 that holds most of it in the step").arg(unit)
                           : tr("not always live"),
                       ColourRole::notAlwaysLive, false});
    chart_->setAxes(tr("program step, in compile order"),
                    space.units <= 1 ? tr("bytes")
                    : ofOne()        ? tr("bytes on %1 %2").arg(unit).arg(data_->unit)
                    : ofFullest()    ? tr("bytes on one %1").arg(unit)
                                     : tr("bytes, sum over %1s").arg(unit));
    chart_->setStack(std::move(layers), std::move(bands));
    // A limit far above what is live would press that onto the axis.
    std::int64_t most = 0;
    for (int step = 0; step < chart_->size(); ++step) most = std::max(most, chart_->total(step));
    const bool near = most >= space.bytesPerUnit / kFarLimit;
    chart_->setLimit((ofOne() || ofFullest()) && near ? static_cast<double>(space.bytesPerUnit) : -1,
                     tr("%1 per %2").arg(capacity, unit));
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
          cycles_->setTable(cyclesTable(place_, data_->shown, timeScale()));
        });
  }

  /// A step that the user selected: other pages light it too.
  void choose(int step) {
    selectStep(step);
    if (!data_ || chart_->mark() != step) return;
    shell::Selected selected;
    selected.kind = shell::Selected::Kind::program;
    selected.device = data_->shown.device;
    selected.program = data_->liveness.steps[static_cast<std::size_t>(step)].program;
    following_ = true;
    context_.selection.set(selected);
    following_ = false;
  }
  void choosePeak() {
    if (data_) choose(peakStep());
  }

  /// The user chose a device: other pages light it.
  void tellDevice() {
    for (const LivenessSpace& space : data_->spaces) {
      if (space.id.value != device_->currentData().toLongLong()) continue;
      shell::Selected selected;
      selected.kind = shell::Selected::Kind::device;
      selected.device = space.device;
      following_ = true;
      context_.selection.set(selected);
      following_ = false;
    }
  }

  bool ofFullest() const { return source_->currentIndex() == Source::fullest; }
  bool ofOne() const { return source_->currentIndex() == Source::one && data_ && data_->unit >= 0; }

  /// A tile that another page selected.
  void takeUnit() {
    const std::int64_t unit = context_.selection.current().unit;
    if (following_ || unit < 0) return;
    unit_ = unit;
    source_->setCurrentIndex(Source::one);
    if (data_) reload();
  }

  /// What another page selected: its device, and its program step.
  void followOthers() {
    if (following_ || !data_) return;
    const shell::Selected& selected = context_.selection.current();
    const auto space = std::find_if(data_->spaces.begin(), data_->spaces.end(),
                                    [&](const LivenessSpace& one) { return one.device == selected.device; });
    if (!selected.device.valid() || space == data_->spaces.end()) return;
    if (space->id != data_->shown.id) {
      device_->setCurrentIndex(device_->findData(QVariant::fromValue<qlonglong>(space->id.value)));
      chart_->setMark(-1);
      return reload();  // and then again
    }
    const auto& steps = data_->liveness.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (selected.program.valid() && steps[i].program == selected.program)
        return selectStep(static_cast<int>(i));
    }
  }

  void selectPeak() {
    if (data_) selectStep(peakStep());
  }

  int peakStep() const {
    return static_cast<int>(ofOne() && data_->ofUnit.known ? data_->ofUnit.peakStep
                                                           : data_->liveness.peakStep);
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
    const QString what = name.isEmpty() ? text(model::toString(point.pass)) : name;
    if (ofFullest())
      return tr("Step %1 of %2 · %3 · %4 not always live on the fullest %5")
          .arg(step)
          .arg(data_->liveness.steps.size())
          .arg(what, livenessPageBytesText(point.maxUnitNotAlwaysLive.count), text(data_->shown.unitName));
    const QString peak = step == peakStep() ? tr(", the peak") : QString();
    const std::int64_t now = above(static_cast<std::size_t>(step));
    return tr("Step %1 of %2 · %3 · %4 not always live, %5 in all%6")
        .arg(step)
        .arg(data_->liveness.steps.size())
        .arg(what, livenessPageBytesText(now), livenessPageBytesText(now + base()), peak);
  }

  /// The table of the selected step; a later choice overtakes an earlier one.
  void readVariables() {
    const shell::Snapshot* snapshot = context_.session.snapshot();
    const int step = chart_->mark();
    if (!data_ || snapshot == nullptr || step < 0 || step >= static_cast<int>(data_->liveness.steps.size()))
      return;
    const std::int32_t index = data_->liveness.steps[static_cast<std::size_t>(step)].step;
    readProgram(data_->liveness.steps[static_cast<std::size_t>(step)].program);
    const std::int64_t unit = ofOne() && data_->ofUnit.known ? data_->unit : -1;
    readBeside(
        [held = *snapshot, executable = context_.session.executable(), space = data_->shown, index, unit,
         withAlways = always_->isChecked()] {
          return liveVariableTable({*held.source, *held.catalog, executable}, space, unit, index, withAlways);
        },
        [this, generation = ++generation_](base::Result<sections::Table>&& table) {
          if (generation != generation_) return;
          if (!table.ok()) return table_->setTable({"variables", table.error().message, "", {}, {}});
          vertices_->setTable(liveVertices(*table));
          table_->setTable(*std::move(table));
        });
  }

  std::shared_ptr<const LivenessData> data_;
  QComboBox *device_ = nullptr, *source_ = nullptr;
  QSpinBox* tile_ = nullptr;
  std::optional<std::int64_t> unit_;  ///< chosen; none: the fullest
  QCheckBox* always_ = nullptr;
  ElidedLabel* readout_ = nullptr;
  Chart* chart_ = nullptr;
  timeline::Legend* legend_ = nullptr;
  DataTable *table_ = nullptr, *vertices_ = nullptr, *cycles_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  Panel* upper_ = nullptr;
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
