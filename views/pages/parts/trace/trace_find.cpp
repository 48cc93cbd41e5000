#include "views/pages/parts/trace/trace_find.h"

#include "profiler/geometry/timeline/timeline_search.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::TimelineItem;
using sections::Format;

/// Most names that are listed.
constexpr std::size_t kMostNames = 5000;

sections::SectionTable nameTable(const analysis::NameUses& found, const std::string& wanted) {
  sections::SectionTable table{"found",
                               "Names with “" + wanted + "”",
                               "steps in all calls of this executable; a click selects the next one",
                               {{"path", "Name path", Format::plain, ""},
                                {"kind", "Kind", Format::plain, ""},
                                {"count", "Steps", Format::count, "how often a step of this name ran"},
                                {"sum", "Sum", Format::ticks, "of the lengths of these steps"},
                                {"min", "Shortest", Format::ticks, ""},
                                {"mean", "Mean", Format::ticks, ""},
                                {"max", "Longest", Format::ticks, ""},
                                {"first", "First at", Format::ticks, "since the start of the first call"}},
                               {}};
  for (const analysis::NameUse& name : found.names) {
    if (table.rows.size() == kMostNames) break;
    table.rows.push_back({name.path, model::toString(name.kind), name.count, name.sum.count, name.min.count,
                          static_cast<std::int64_t>(name.mean() + 0.5), name.max.count, name.first.count});
  }
  return table;
}

}  // namespace

TraceFind::TraceFind(shell::Page& page, shell::PageContext& context, timeline::TimelineCanvas& canvas,
                     DataTable& list)
    : QObject(&page), page_(page), context_(context), canvas_(canvas), list_(list) {
  connect(&list_, &DataTable::rowActivated, this, [this](int row) {
    if (!uses_ || row >= static_cast<int>(uses_->names.size())) return;
    const analysis::NameUse& name = uses_->names[static_cast<std::size_t>(row)];
    pending_ = 0;
    if (!canvas_.scene().empty()) {
      const geometry::TimelineSearch search(canvas_.scene());
      TimelineItem found = search.byName({name.path, true}, canvas_.selected(), 1);
      if (!found) found = search.byName({name.path, true}, {}, 0);
      if (found) return canvas_.select(found), canvas_.reveal(found);
    }
    Q_EMIT timeWanted(name.first);
  });
}

QString TraceFind::find(const QString& wanted, int direction) {
  if (wanted.isEmpty()) return clear(), QString();
  if (canvas_.scene().empty()) return {};
  const analysis::Catalog& catalog = *context_.session.snapshot()->catalog;
  if (const auto gaps = gapWords(wanted, catalog)) return findGap(wanted, *gaps, direction);
  gapWords_.clear();
  const analysis::NameQuery query{wanted.toStdString()};
  if (!(query == query_)) {
    query_ = query;
    uses_.reset();
    dim();
    read();
  }
  return select(query_, direction);
}

QString TraceFind::select(const analysis::NameQuery& query, int direction) {
  const geometry::TimelineSearch search(canvas_.scene());
  TimelineItem found = search.byName(query, canvas_.selected(), direction);
  if (!found && direction == 0) found = search.byName(query, {}, 0);
  if (found) {
    pending_ = 0;
    canvas_.select(found);
    canvas_.reveal(found);
  } else if (direction != 0) {
    pending_ = direction;
    Q_EMIT callWanted(direction);
  }
  return answer();
}

/// Reads the gaps once, and shows the next or previous one after that.
QString TraceFind::findGap(const QString& words, const GapChoice& choice, int direction) {
  if (words == gapWords_ && !gaps_.empty()) {
    const std::size_t count = gaps_.size();
    gap_ = direction == 0 ? 0 : (gap_ + (direction > 0 ? 1 : count - 1)) % count;
    showGap();
    return answer();
  }
  clear();
  gapWords_ = words;
  progress_ = std::make_shared<shell::SharedProgress>();
  page_.readInBackground(
      this,
      [held = *context_.session.snapshot(), executable = context_.session.executable()] {
        return analysis::idleStretches(*held.source, *held.catalog, executable, kGapsOfEach);
      },
      [this, choice, progress = progress_,
       catalog = context_.session.snapshot()->catalog](base::Result<analysis::IdleStretches>&& found) {
        if (progress != progress_) return;
        if (!found.ok()) {
          Q_EMIT answered(text(found.error().message));
          return;
        }
        gaps_ = chosenGaps(*found, choice);
        gap_ = 0;
        list_.setBarsToLargest();
        list_.setTable(gapTable(gaps_, found->count, *catalog, context_.session.executable()), 1, scale_);
        if (!gaps_.empty()) showGap();
        Q_EMIT answered(answer());
        Q_EMIT listed();
      });
  return tr("looking for gaps…");
}

/// The trace shows the call of the gap, if it shows another one, and then what is selected.
void TraceFind::showGap() {
  const analysis::IdleStretch& gap = gaps_[gap_];
  Q_EMIT timeWanted(gap.start);
  context_.selection.set(subjectOf(gap));
}

void TraceFind::goOn() {
  if (pending_ == 0 || query_.empty() || canvas_.scene().empty()) return;
  const geometry::TimelineSearch search(canvas_.scene());
  const int direction = std::exchange(pending_, 0);
  TimelineItem from;
  if (direction < 0) from.start = canvas_.scene().model()->trace->end, from.kind = TimelineItem::Kind::far;
  const TimelineItem found = search.byName(query_, from, direction < 0 ? -1 : 0);
  if (!found) return;
  canvas_.select(found);
  canvas_.reveal(found);
  Q_EMIT answered(answer());
}

void TraceFind::clear() {
  query_ = {};
  gapWords_.clear();
  gaps_.clear();
  uses_.reset();
  pending_ = 0;
  if (progress_) progress_->cancel();
  progress_.reset();
  dim();
}

void TraceFind::dim() {
  geometry::TimelineOptions options = canvas_.options();
  options.find = query_;
  canvas_.setOptions(options);
}

void TraceFind::read() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  if (progress_) progress_->cancel();
  progress_ = std::make_shared<shell::SharedProgress>();
  page_.readInBackground(
      this,
      [held = *snapshot, executable = context_.session.executable(), query = query_, progress = progress_] {
        return analysis::nameUses(*held.source, *held.catalog, executable, query, *progress);
      },
      [this, progress = progress_](base::Result<analysis::NameUses>&& found) {
        if (progress != progress_) return;
        if (!found.ok()) {
          Q_EMIT answered(text(found.error().message));
          return;
        }
        showList(*found);
        uses_ = *std::move(found);
        Q_EMIT answered(answer());
        Q_EMIT listed();
      });
}

void TraceFind::showList(const analysis::NameUses& found) {
  list_.setTable(nameTable(found, query_.text), 1, scale_);
}

void TraceFind::readUses(const QString& path) {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (oneProgress_) oneProgress_->cancel();
  oneProgress_.reset();
  if (snapshot == nullptr || path.isEmpty()) return;
  oneProgress_ = std::make_shared<shell::SharedProgress>();
  page_.readInBackground(
      this,
      [held = *snapshot, executable = context_.session.executable(),
       query = analysis::NameQuery{path.toStdString(), true}, progress = oneProgress_] {
        return analysis::nameUses(*held.source, *held.catalog, executable, query, *progress);
      },
      [this, progress = oneProgress_](base::Result<analysis::NameUses>&& found) {
        if (progress != oneProgress_ || !found.ok() || found->names.empty()) return;
        Q_EMIT usesRead(found->names.front());
      });
}

/// Returns a text such as "480 steps, 12 names · layer1/conv/Convolve".
QString TraceFind::answer() const {
  if (!gapWords_.isEmpty()) {
    if (gaps_.empty()) return tr("no device waits in the last call");
    const analysis::IdleStretch& gap = gaps_[gap_];
    const model::Device* device = context_.session.snapshot()->catalog->device(gap.device);
    return tr("gap %1 of %2 · %3 waits %4 · %5")
        .arg(gap_ + 1)
        .arg(gaps_.size())
        .arg(device == nullptr ? QString() : text(device->name), text(formatDuration(gap.length(), scale_)),
             text(model::toString(gap.cause)));
  }
  if (!uses_) return tr("counting…");
  if (uses_->count == 0) return tr("nothing found in any call");
  const QString steps = text(geometry::groupedNumber(uses_->count)),
                names = text(geometry::groupedNumber(static_cast<std::int64_t>(uses_->names.size())));
  QString said = uses_->names.size() == 1 ? tr("%1 steps of one name").arg(steps)
                                          : tr("%1 steps of %2 names").arg(steps, names);
  if (canvas_.isSelectionShown() && canvas_.selected()) {
    const QString path = text(canvas_.scene().pathOf(canvas_.selected()));
    if (!path.isEmpty()) said += QStringLiteral(" · ") + path;
  }
  return said;
}

}  // namespace pipescope::pages
