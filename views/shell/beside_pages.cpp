#include "views/shell/beside_pages.h"

#include <QCheckBox>
#include <QComboBox>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "views/shell/beside.h"
#include "views/shell/comparison.h"

namespace pipescope::shell {
namespace {

/// The parts of a page by name. Parts of one name are numbered.
std::map<QString, Beside*> partsOf(const QWidget& page) {
  std::map<QString, Beside*> parts;
  std::map<QString, int> uses;
  for (QWidget* widget : page.findChildren<QWidget*>()) {
    auto* part = dynamic_cast<Beside*>(widget);
    if (part == nullptr || part->besideName().isEmpty()) continue;
    const QString name = QStringLiteral("%1/%2/%3")
                             .arg(QString::fromLatin1(widget->metaObject()->className()), part->besideName());
    parts[name.arg(uses[name]++)] = part;
  }
  return parts;
}

/// The control of the other page that does the same.
template <class Control>
Control* counterpartOf(const Control& control, const QWidget& here, const QWidget& there) {
  const QList<Control*> own = here.findChildren<Control*>(), others = there.findChildren<Control*>();
  const int place = own.indexOf(const_cast<Control*>(&control));
  if (place < 0 || own.size() != others.size()) return nullptr;
  Control* other = others[place];
  return other->accessibleName() == control.accessibleName() ? other : nullptr;
}

}  // namespace

BesidePages::BesidePages(PageContext& context, QObject* parent)
    : QObject(parent),
      own_(context),
      session_(std::make_unique<ProfileSession>(Opener())),
      none_(std::make_unique<Comparison>(Opener())),
      context_{*session_,
               context.palette,
               selection_,
               range_,
               actions_,
               context.settings,
               context.go,
               context.toggleTimeUnit,
               context.savePicture,
               context.saved,
               context.find,
               *none_,
               context.chooseCompared,
               context.openBeside} {
  connect(&context.comparison, &Comparison::changed, this, &BesidePages::followComparison);
  connect(&context.session, &ProfileSession::opened, this, &BesidePages::followExecutable);
  connect(&context.session, &ProfileSession::executableChanged, this, &BesidePages::followExecutable);
  connect(&context.timeRange, &TimeRange::changed, this, [this] { followRange(false); });
  connect(&range_, &TimeRange::changed, this, [this] { followRange(true); });
}

BesidePages::~BesidePages() {
  end();
  for (const auto& [id, page] : pages_) delete page;
}

void BesidePages::follow(Page* shown, const PageDefinition& definition) {
  if (shown == shown_) return;
  end();
  shown_ = shown;
  definition_ = &definition;
  begin();
}

bool BesidePages::isSettled() const {
  return source_ == nullptr || source_->isSettled();
}

void BesidePages::reload() {
  for (const auto& [id, page] : pages_) page->reload();
}

void BesidePages::followComparison() {
  const ProfileSnapshot* other = own_.comparison.snapshot();
  if (other == nullptr ? !compared_ : compared_ == other->catalog) return;
  compared_ = other == nullptr ? nullptr : other->catalog;
  end();
  if (other != nullptr) {
    session_->share(*other, own_.comparison.title());
    followExecutable();
  }
  begin();
}

/// The source shows its executable of the same name.
void BesidePages::followExecutable() {
  const ProfileSnapshot* own = own_.session.snapshot();
  const model::Executable* row =
      own == nullptr ? nullptr : own->catalog->executable(own_.session.executable());
  if (compared_ && row != nullptr) session_->setExecutableByName(QString::fromStdString(row->name));
}

void BesidePages::begin() {
  if (!compared_ || shown_ == nullptr || !definition_->comparable) return;
  Page*& page = pages_[definition_->id];
  if (page == nullptr) {
    page = definition_->make(context_);
    page->setAccessibleName(definition_->title);
    page->resize(shown_->size());
    // The keys are those of the shown page.
    for (QAction* action : page->actions()) action->setShortcuts(QList<QKeySequence>());
  }
  source_ = page;
  connect(source_, &Page::settled, this, &BesidePages::join);
  connect(shown_, &Page::settled, this, &BesidePages::join);
  source_->loadUnseen(true);
  shareControls();
  showLine({});
  if (source_->isSettled()) join();
}

void BesidePages::end() {
  if (source_ == nullptr) return;
  disconnect(source_, nullptr, this, nullptr);
  source_->loadUnseen(false);
  source_->mirror(nullptr);
  takeChart();
  if (shown_ != nullptr) {
    disconnect(shown_, nullptr, this, nullptr);
    for (QWidget* control : shown_->findChildren<QWidget*>()) disconnect(control, nullptr, this, nullptr);
    for (const auto& [name, part] : partsOf(*shown_)) part->showBeside(nullptr, {});
    shown_->setAbove({}, {});
  }
  source_ = nullptr;
}

/// Gives each part of the shown page the figures of the source's part.
void BesidePages::join() {
  if (source_ == nullptr || shown_ == nullptr || !source_->isSettled() || !shown_->isSettled()) return;
  source_->mirror(shown_);
  const auto own = partsOf(*shown_), others = partsOf(*source_);
  const BesideTerms terms{ticksRatio(), isSameWork()};
  for (const auto& [name, part] : own) {
    const auto other = others.find(name);
    part->showBeside(other == others.end() ? nullptr : other->second, terms);
  }
  if (const QString why = source_->showsContent() ? QString() : source_->notice(); why != why_) showLine(why);
  if (chart_ == nullptr && source_->showsContent()) {
    chart_ = source_->chartBeside();
    if (chart_ != nullptr) shown_->setChartAbove(chart_);
    if (chart_ != nullptr) followRange(false);
  }
}

/// Says above the page what it is compared with.
void BesidePages::showLine(const QString& why) {
  takeChart();
  why_ = why;
  const QString title = own_.comparison.title();
  shown_->setAbove(why.isEmpty() ? tr("Compared with %1, the source").arg(title)
                                 : tr("Compared with %1, the source, which says: %2").arg(title, why),
                   [this] { own_.comparison.clear(); });
}

/// Gives the chart back to the source's page.
void BesidePages::takeChart() {
  if (chart_ != nullptr) {
    chart_->hide();
    chart_->setParent(source_);
  }
  chart_ = nullptr;
}

/// Both show the same stretch of time, counted from the beginning of what each showed at first.
void BesidePages::followRange(bool ofSource) {
  if (following_ || source_ == nullptr || chart_ == nullptr) return;
  const TimeRange& from = ofSource ? range_ : own_.timeRange;
  TimeRange& to = ofSource ? own_.timeRange : range_;
  const double ticks = ticksRatio();
  if (ticks <= 0 || from.view().width() <= 0) return;
  const double ratio = ofSource ? ticks : 1 / ticks;
  const auto moment = [&](base::Ticks time) {
    return to.origin() + base::Ticks(std::llround(static_cast<double>((time - from.origin()).count) * ratio));
  };
  const base::Ticks start = moment(from.start());
  const base::Ticks end = std::max(
      moment(from.end()), start + base::Ticks(static_cast<std::int64_t>(geometry::TimeView::kShortest)));
  following_ = true;
  to.show(geometry::TimeView(start, end, std::max(1, to.view().width())));
  following_ = false;
}

/// The choices above the shown page count for both pages.
void BesidePages::shareControls() {
  for (QComboBox* box : shown_->findChildren<QComboBox*>()) {
    connect(box, QOverload<int>::of(&QComboBox::activated), this, [this, box](int index) {
      QComboBox* other = source_ == nullptr ? nullptr : counterpartOf(*box, *shown_, *source_);
      const int place = other == nullptr ? -1 : other->findText(box->itemText(index));
      if (place < 0 || place == other->currentIndex()) return;
      other->setCurrentIndex(place);
      Q_EMIT other->activated(place);
    });
  }
  for (QCheckBox* box : shown_->findChildren<QCheckBox*>()) {
    connect(box, &QCheckBox::toggled, this, [this, box](bool on) {
      QCheckBox* other = source_ == nullptr ? nullptr : counterpartOf(*box, *shown_, *source_);
      if (other != nullptr) other->setChecked(on);
    });
  }
}

/// True if calls of both profiles have as many micro-batches and samples.
bool BesidePages::isSameWork() const {
  const ProfileSnapshot* own = own_.session.snapshot();
  const model::Executable *target =
                              own == nullptr ? nullptr : own->catalog->executable(own_.session.executable()),
                          *source = compared_ ? compared_->executable(session_->executable()) : nullptr;
  if (target == nullptr || source == nullptr) return false;
  const auto work = [](const model::Executable& row) {
    return std::tuple(row.microBatchSize, row.microBatches, row.deviceIterations, row.replicas);
  };
  return work(*target) == work(*source);
}

/// Ticks of the window's profile in one tick of the source; 0 if only one of them has times.
double BesidePages::ticksRatio() const {
  const ProfileSnapshot* own = own_.session.snapshot();
  if (own == nullptr || !compared_) return 0;
  const auto states = [](const analysis::Catalog& catalog) {
    return catalog.target.tickMeaning == model::TickMeaning::cost;
  };
  if (states(*own->catalog) != states(*compared_)) return 0;
  const auto ticks = [](const analysis::Catalog& catalog) {
    return static_cast<double>(std::max<std::int64_t>(1, catalog.timebase({}).ticksPerSecond));
  };
  return ticks(*own->catalog) / ticks(*compared_);
}

}  // namespace pipescope::shell
