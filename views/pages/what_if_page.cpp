// Replays the recorded call with changes that the user chooses, and shows what they do to the step: cards, a
// waterfall, and the stages.
#include <QLabel>
#include <QVBoxLayout>
#include <array>
#include <memory>
#include <utility>

#include "profiler/figures/figure.h"
#include "profiler/geometry/charts/waterfall.h"
#include "profiler/record/memory_profile.h"
#include "profiler/replay/replay_rows.h"
#include "profiler/replay/what_if.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/replays.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/setting_words.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/what_if_controls.h"
#include "views/shell/comparison.h"
#include "views/shell/page.h"
#include "views/timeline/item_chart.h"

namespace pipescope::pages {
namespace {

using sections::Format;
using shell::Ui;

constexpr int kWhatIfRows = 16, kWhatIfChartHeight = 260, kWhatIfChartMost = 640;

/// The figures of the cards.
constexpr std::array kWhatIfCards = {"step_cycles", "samples_per_second", "bubble_fraction", "imbalance"};

/// The recording of an executable, which stays the same while changes are tried.
struct HeldRecording {
  const model::ProfileSource* source = nullptr;
  std::int64_t revision = 0;
  model::ExecutableId executable;
  replay::Recording recording;
  WhatIfOffer offer;
};

/// Content of the page for one set of changes.
struct WhatIfContent {
  std::shared_ptr<const HeldRecording> held;  ///< null: it is still being read
  sections::Section section;
  std::vector<geometry::WaterfallColumn> columns;
};

/// The columns of the waterfall, from the table of the section.
std::vector<geometry::WaterfallColumn> columnsOf(const sections::SectionTable& table) {
  const std::size_t part = columnNamed(table, "part"), ticks = columnNamed(table, "cycles");
  std::vector<geometry::WaterfallColumn> columns;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    columns.push_back({changesInWords(wordsIn(table.rows[i][part])).toStdString(),
                       numberIn(table.rows[i][ticks]), i == 0 || i + 1 == table.rows.size()});
  return columns;
}

base::Result<std::shared_ptr<const HeldRecording>> hold(const replay::ChangeContext& context,
                                                        model::ExecutableId executable,
                                                        std::shared_ptr<const HeldRecording> held) {
  if (held && held->source == &context.source && held->revision == context.catalog.revision &&
      held->executable == executable)
    return held;
  auto made = std::make_shared<HeldRecording>();
  PIPESCOPE_ASSIGN(made->recording,
                   replay::readRecording(context.source, context.catalog, executable, context.schedules));
  made->source = &context.source;
  made->revision = context.catalog.revision;
  made->executable = executable;
  made->offer = offerOf(context, made->recording);
  return std::shared_ptr<const HeldRecording>(std::move(made));
}

std::shared_ptr<WhatIfContent> contentOf(const sections::Context& reports, const replay::WhatIf& answer) {
  auto made = std::make_shared<WhatIfContent>();
  made->section = sections::whatIfSection(reports.catalog, sections::stepIntervalOf(reports), answer);
  made->columns = columnsOf(*tableNamed(made->section, "waterfall"));
  return made;
}

/// The recorded step, which is shown while all work of the call is read for its replay. Null: only the replay
/// can tell, or says why it cannot.
std::shared_ptr<const WhatIfContent> recordedContent(const sections::Context& reports,
                                                     const replay::ChangeContext& context) {
  const auto stages = sections::stagesOf(reports);
  if (!stages.ok()) return nullptr;
  const auto answer = replay::recordedAnswer(context, reports.executable, **stages);
  return answer ? contentOf(reports, *answer) : nullptr;
}

base::Result<std::shared_ptr<record::MemoryProfile>> replayedProfile(
    const shell::ProfileSnapshot& snapshot, const HeldRecording& held,
    const std::vector<replay::Change>& changes) {
  const replay::ChangeContext context{*snapshot.source, *snapshot.catalog, sections::knownSchedules()};
  PIPESCOPE_ASSIGN(const replay::WhatIf answer, replay::whatIf(context, held.recording, changes));
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  PIPESCOPE_TRY(replay::writeReplay(
      context, answer.recording, answer.timeline, changes, replay::Extent::whole, recorder,
      sections::keptIntervalOf({*snapshot.source, *snapshot.catalog, answer.recording.executable.id})));
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  return profile;
}

}  // namespace

class WhatIfPage : public shell::Page {
 public:
  explicit WhatIfPage(shell::PageContext& context) : Page(context) {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    controls_ = new WhatIfControls(context, content);
    layout->addWidget(controls_);
    auto* area = new ColumnsArea(content);
    layout->addWidget(area, 1);
    words_ = new QLabel(this);
    words_->setWordWrap(true);
    area->top()->addWidget(words_);
    auto* cards = new QHBoxLayout;
    for (FigureCard*& card : cards_) cards->addWidget(card = new FigureCard(context.palette, this), 1);
    area->top()->addLayout(cards);
    auto* panel = new Panel(context.palette, tr("From the recorded step time to the new one"), this);
    waterfall_ = panel;
    chart_ = new timeline::ItemChart(context.palette, panel);
    chart_->setAccessibleName(tr("Waterfall"));
    chart_->setHeights(kWhatIfChartHeight, kWhatIfChartMost);
    panel->body()->addWidget(chart_);
    area->top()->addWidget(panel);
    connect(chart_, &timeline::ItemChart::clicked, chart_, &timeline::ItemChart::setMarked);
    stages_ = addTable(area->bottom());
    memory_ = addTable(area->bottom());
    setContent(content);
    setKeyWidget(chart_);
    connect(controls_, &WhatIfControls::changed, this, [this] { reload(); });
    connect(controls_, &WhatIfControls::bestMoveWanted, this, [this] { addBestMove(); });
    connect(controls_, &WhatIfControls::profileWanted, this, [this] { openAsProfile(); });
  }

  shell::Picture picture() override { return {waterfall_, accessibleName(), {}}; }

  /// Replays the changes of the place in place of those that were chosen before.
  void show(const shell::Place& place) override {
    if (place.changes.isEmpty()) return;
    std::vector<replay::Change> changes;
    for (const QString& words : place.changes) {
      const base::Result<replay::Change> change = replay::parseChange(words.toStdString());
      if (!change.ok()) return remark(text(change.error().message), shell::NoticeKind::error);
      changes.push_back(*change);
    }
    controls_->setChanges(std::move(changes));
    compareWanted_ = place.compare;
    reload();
  }

 protected:
  Load load() override {
    return [this, held = held_, changes = controls_->changes()](const Job& job) -> base::Result<Apply> {
      if (job.catalog.executables.empty())
        return base::badInput("The profile has no executable: its run ended before anything was compiled.");
      if (job.catalog.stagesOf(job.executable).empty()) {
        return Apply(
            [this] { showInstead(tr("The profile has no stages, so there is no pipeline to replay.")); });
      }
      const sections::Context reports{job.source, job.catalog, job.executable, -1, job.reports};
      PIPESCOPE_ASSIGN(const auto memory, sections::memoryOf(reports));
      const replay::ChangeContext context{job.source, job.catalog, sections::knownSchedules(), memory.get()};
      if (!held && changes.empty()) {
        if (const std::shared_ptr<const WhatIfContent> first = recordedContent(reports, context))
          job.begin([this, first] { apply(*first); });
      }
      PIPESCOPE_ASSIGN(auto recording, hold(context, job.executable, held));
      auto answer = replay::whatIf(context, recording->recording, changes);
      // Changes that cannot be replayed stay above, so that the user can take them back.
      const QString refused = answer.ok() ? QString() : text(answer.error().message);
      if (!answer.ok() && !changes.empty()) answer = replay::whatIf(context, recording->recording, {});
      if (!answer.ok()) return answer.error();
      const std::shared_ptr<WhatIfContent> made = contentOf(reports, *answer);
      made->held = std::move(recording);
      return Apply([this, content = std::shared_ptr<const WhatIfContent>(made), refused] {
        if (!refused.isEmpty()) compareWanted_ = false;
        apply(*content);
        remark(inWords(refused), shell::NoticeKind::error);
      });
    };
  }
  void forget() override {
    held_.reset();
    controls_->setChanges({});
  }

 private:
  QString inWords(const QString& sentence) const {
    return withSettingsInWords(sentence, *context_.session.snapshot()->catalog);
  }

  DataTable* addTable(QVBoxLayout* column) {
    return addTablePanel(context_.palette, *column, kWhatIfRows, this);
  }

  void apply(const WhatIfContent& content) {
    if (content.held && held_ != content.held) {
      held_ = content.held;
      controls_->setOffer(held_->offer);
    }
    QStringList sentences;
    if (controls_->changes().empty())
      sentences << tr(
          "Choose a change above: the recorded call is then replayed with it. Several changes are "
          "replayed together, and the waterfall shows what each one does by itself.");
    for (const std::string& remark : content.section.remarks) sentences << inWords(text(remark));
    words_->setText(sentences.join(QLatin1Char(' ')));
    words_->setVisible(!sentences.isEmpty());
    for (std::size_t i = 0; i < cards_.size(); ++i) applyCard(*cards_[i], kWhatIfCards[i], content);
    applyWaterfall(content);
    const double perUnit = content.section.ticksPerShownUnit;
    stages_->setTable(*tableNamed(content.section, "stages"), perUnit);
    memory_->setTable(*tableNamed(content.section, "memory"), perUnit);
    memory_->parentWidget()->setVisible(content.held && holdsStash(*tableNamed(content.section, "memory")));
    if (content.held && std::exchange(compareWanted_, false)) openAsProfile();
  }

  /// A trace of another tool names stages, but tells nothing about their memory.
  static bool holdsStash(const sections::SectionTable& table) {
    return std::ranges::any_of(table.rows, [](const std::vector<sections::Cell>& row) {
      return std::any_of(row.begin() + 1, row.end(), [](const sections::Cell& cell) {
        return !std::holds_alternative<std::monostate>(cell);
      });
    });
  }

  void applyCard(FigureCard& card, const std::string& key, const WhatIfContent& content) {
    const figures::Figure& what = figures::figure(key);
    const sections::Fact &before = *factNamed(content.section, "before_" + key),
                         &after = *factNamed(content.section, "after_" + key);
    const auto shown = [&](const sections::Fact& fact) {
      return text(loneText(fact.value, fact.format, content.section.time()));
    };
    const bool known = !std::holds_alternative<std::monostate>(before.value) &&
                       !std::holds_alternative<std::monostate>(after.value);
    const bool oneStage = tableNamed(content.section, "stages")->rows.size() == 1;
    const bool isShown = known && !(oneStage && what.ofSeveralStages);
    card.setVisible(isShown);
    if (!isShown) return;
    const double from = numberIn(before.value), to = numberIn(after.value);
    const sections::Fact* hypothetical = factNamed(content.section, "hypothetical");
    const bool isHypothetical = hypothetical != nullptr && hypothetical->value == sections::Cell(true);
    const QString caption = isHypothetical && before.format == Format::ticks  ? tr("Hypothetical step time")
                            : isHypothetical && before.format == Format::rate ? tr("Hypothetical samples/s")
                                                                              : text(what.label);
    const QString large = text(sections::cardText(after.value, after.format, content.section.time()));
    // The section states an interval of the step time and of no other figure.
    const QString interval =
        key == "step_cycles" ? intervalIn(content.section, "after_step_least_cycles") : QString();
    constexpr double kRounding = 1e-9;  // replayed sums differ in the last digits
    if (std::abs(from - to) <= kRounding * std::abs(from))
      return card.setFigure(caption, large, withInterval(tr("as recorded"), interval), {});
    const bool isShare = before.format == Format::fraction;  // changes by percentage points
    const sections::Cell change = isShare ? to - from : from == 0 ? 0 : to / from - 1;
    const bool better = (to > from) == what.moreIsBetter();
    const bool judged = before.format != Format::ticks || hasSameWork(content.section);
    card.setFigure(
        caption,
        from == 0 && !isShare ? large
                              : text(sections::changeText(isShare ? "delta" : "relative", Format::fraction,
                                                          formatCell(change, Format::fraction), change)),
        withInterval(text(sections::fromToText(shown(before).toStdString(), shown(after).toStdString())),
                     interval),
        {},
        !judged  ? Ui::text
        : better ? Ui::good
                 : Ui::error);
  }

  /// A step with other micro-batches may take longer without being slower.
  static bool hasSameWork(const sections::Section& section) {
    return factNamed(section, "before_micro_batches")->value ==
           factNamed(section, "after_micro_batches")->value;
  }

  void applyWaterfall(const WhatIfContent& content) {
    const auto format = [time = content.section.time()](double value, bool change) {
      const std::string shown = timeText(value, time, sections::TimeStyle::exactChart);
      return change ? sections::signedText(shown, value) : shown;
    };
    // Without a change, two equal bars would say nothing.
    waterfall_->setVisible(!controls_->changes().empty());
    waterfall_->setTitle(tr("From the recorded step time to the new one"),
                         tr("%1 of an iteration; the changes add up to the difference")
                             .arg(chartUnit(content.section.time())));
    QStringList tips;
    for (const geometry::WaterfallColumn& column : content.columns)
      tips << tr("%1: %2").arg(text(column.name), text(format(column.value, !column.total)));
    const auto at = [columns = content.columns, format, judged = hasSameWork(content.section)](QSize size) {
      return geometry::Waterfall(columns, size.width(), size.height(), format, judged);
    };
    chart_->setFigure(
        at, [tips](int item) { return tips.at(item); },
        timeline::ItemChart::numbered(content.columns.size()));
  }

  void addBestMove() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr || !held_) return;
    readInBackground(
        [held = held_, own = *snapshot] {
          return replay::bestMove({*own.source, *own.catalog, sections::knownSchedules()}, held->recording);
        },
        [this, held = held_](const replay::BestMoveAnswer& answer) {
          if (held != held_) return;
          if (!answer.move) return remark(text(answer.reason), shell::NoticeKind::info);
          controls_->setChanges({});
          controls_->addChange(answer.move->change);
        });
  }

  /// Opens the replayed call in a window of its own, which compares it with the recorded one.
  void openAsProfile() {
    const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
    if (snapshot == nullptr || !held_) return;
    if (controls_->changes().empty())
      return remark(tr("Choose a change first: without one, the replayed call is the recorded one."),
                    shell::NoticeKind::info);
    const QString title = context_.session.title();
    readInBackground(
        [held = held_, own = *snapshot, changes = controls_->changes()] {
          return replayedProfile(own, *held, changes);
        },
        [this, own = *snapshot, title](const base::Result<std::shared_ptr<record::MemoryProfile>>& made) {
          if (!made.ok()) return remark(text(made.error().message), shell::NoticeKind::error);
          context_.openBeside({{*made, {}, {}}, tr("What-if of %1").arg(title), {own.source, {}, {}}, title});
        });
  }

  std::shared_ptr<const HeldRecording> held_;
  WhatIfControls* controls_ = nullptr;
  bool compareWanted_ = false;  ///< the replayed call is to be opened as soon as it is known
  QLabel* words_ = nullptr;
  std::array<FigureCard*, kWhatIfCards.size()> cards_{};
  Panel* waterfall_ = nullptr;
  timeline::ItemChart* chart_ = nullptr;
  DataTable *stages_ = nullptr, *memory_ = nullptr;
};

}  // namespace pipescope::pages

namespace pipescope::shell {

PIPESCOPE_REGISTER_PAGE(what_if) {
  registry.add({QStringLiteral("what-if"), QObject::tr("What if"), QStringLiteral("what_if"),
                QObject::tr("What the recorded step would take with other costs, links or options"),
                PageGroup::experiments, 10,
                [](PageContext& context) -> Page* { return new pages::WhatIfPage(context); }, false,
                pages::whyNoPipeline});
}

}  // namespace pipescope::shell
