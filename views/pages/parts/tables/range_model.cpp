#include "views/pages/parts/tables/range_model.h"

#include <algorithm>

#include "profiler/base/number_ranges.h"
#include "profiler/geometry/colour_role.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/tables/table_menu.h"

namespace pipescope::pages {

using geometry::ColourRole;
using sections::Format;

namespace {

constexpr const char* kOfOnePiece = QT_TR_NOOP("Time in which at least one engine computes ÷ visible time");

struct Heading {
  const char *name, *doc;
  const char* unit = "";  ///< unit of the figures as plain numbers
};
constexpr Heading kHeadings[] = {
    {QT_TR_NOOP("Device"), QT_TR_NOOP("Device and the stages it holds")},
    {QT_TR_NOOP("Time"), QT_TR_NOOP("Compute, exchange, sync, host copies, global exchange and idle "
                                    "time; each instant is counted once")},
    {QT_TR_NOOP("Balance"),
     QT_TR_NOOP("Mean time of a %1 ÷ time of the slowest %1, averaged over compute steps"), "0 … 1"},
    {QT_TR_NOOP("Efficiency"),
     QT_TR_NOOP("Parallel efficiency: compute time summed over %1s ÷ (%1s × visible time)"), "0 … 1"},
    {QT_TR_NOOP("Stream Rx"), QT_TR_NOOP("Received from the host"), "B"},
    {QT_TR_NOOP("Stream Tx"), QT_TR_NOOP("Sent to the host"), "B"},
    {QT_TR_NOOP("Global Rx"), QT_TR_NOOP("Received from other devices"), "B"},
    {QT_TR_NOOP("Global Tx"), QT_TR_NOOP("Sent to other devices"), "B"},
    {QT_TR_NOOP("Compute"), QT_TR_NOOP("Time of compute steps"), "ticks"},
    {QT_TR_NOOP("Idle"), QT_TR_NOOP("Time without placement or transfer"), "ticks"},
    {QT_TR_NOOP("Total"), QT_TR_NOOP("Length of the visible time"), "ticks"}};
static_assert(std::size(kHeadings) == RangeModel::columns);

QString rangeText(const std::string& text) {
  return QString::fromStdString(text);
}

}  // namespace

void RangeModel::setRows(std::shared_ptr<const analysis::Trace> trace,
                         std::vector<analysis::RangeStatistics> rows, const geometry::TimeScale& scale) {
  const bool same = rows.size() == rows_.size() && trace == trace_;
  const bool parts = trace && trace_ && trace->large && trace_->large && trace->start == trace_->start &&
                     trace->end == trace_->end;
  const bool anew = trace != trace_ && !parts;
  if (!same) beginResetModel();
  trace_ = std::move(trace);
  rows_ = std::move(rows);
  scale_ = scale;
  unit_.clear();
  if (trace_) {
    // The devices hold the whole trace, so they are not copied.
    for (const analysis::DeviceTrace& each : trace_->devices)
      if (each.units > 1) unit_ = rangeText(each.unitName.empty() ? "unit" : each.unitName);
  }
  const std::set<int> before = filled_;
  findFilled(anew);
  if (!same) endResetModel();
  if (before != filled_) Q_EMIT headerDataChanged(Qt::Horizontal, streamIn, globalOut);
  if (!same) return;
  if (!rows_.empty()) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
  }
}

void RangeModel::findFilled(bool anew) {
  if (anew) filled_.clear();
  if (scale_.unit == geometry::TimeUnit::costUnits) return;  // Transfers have costs there and no sizes.
  for (const int column : {streamIn, streamOut, globalIn, globalOut}) {
    if (hasBytes(column)) filled_.insert(column);
  }
  if (!anew || !trace_) return;
  const auto note = [&](int column, base::Bytes bytes) {
    if (bytes.count > 0) filled_.insert(column);
  };
  for (const analysis::TraceSegment& segment : trace_->segments) {
    note(streamIn, segment.use.streamIn);
    note(streamOut, segment.use.streamOut);
    note(globalIn, segment.use.globalIn);
    note(globalOut, segment.use.globalOut);
  }
  for (const analysis::DeviceTrace& each : trace_->devices) {
    for (const analysis::TransferLane& lane : each.transferLanes) {
      const bool host = !lane.peer.valid();
      const int column = host ? (lane.outgoing ? streamOut : streamIn) : lane.outgoing ? globalOut : globalIn;
      for (std::size_t i = 0; i < lane.transfers.size() && !fills(column); ++i)
        note(column, trace_->transfers[static_cast<std::size_t>(lane.transfers[i])].bytes);
    }
  }
}

int RangeModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int RangeModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns);
}

QVariantList RangeModel::parts(const analysis::RangeStatistics& row) const {
  QVariantList list;
  const double whole = std::max(1.0, static_cast<double>(row.total.count));
  const auto add = [&](ColourRole role, std::int64_t ticks) {
    if (ticks > 0) list << QVariant(QVariantList{static_cast<int>(role), static_cast<double>(ticks) / whole});
  };
  for (const model::StepKind kind :
       {model::StepKind::compute, model::StepKind::exchange, model::StepKind::sync,
        model::StepKind::globalExchange, model::StepKind::streamCopy, model::StepKind::remoteCopy,
        model::StepKind::control}) {
    add(geometry::roleOf(kind), row.byKind[analysis::kindIndex(kind)]);
  }
  add(ColourRole::otherKind, row.byKind[analysis::kStepKinds - 1]);
  add(ColourRole::idle, row.idle.count);
  return list;
}

QString RangeModel::text(const analysis::RangeStatistics& row, int column, bool compact) const {
  constexpr std::int64_t kLong = 10'000;  // shorter numbers gain nothing
  const analysis::DeviceTrace& of = trace_->devices[static_cast<std::size_t>(row.device)];
  const auto time = [&](std::int64_t ticks) {
    const base::Ticks whole(ticks);
    if (scale_.unit != geometry::TimeUnit::cycles) return rangeText(formatDuration(whole, scale_));
    return rangeText(compact && ticks >= kLong ? formatCell(ticks, Format::amount)
                                               : geometry::groupedNumber(ticks));
  };
  const auto bytes = [](base::Bytes b) {
    return b.count == 0 ? QStringLiteral("–") : rangeText(formatCell(b.count, Format::bytes));
  };
  const auto share = [](double value) {
    return value > 0 ? rangeText(formatCell(value, Format::fraction)) : QStringLiteral("–");
  };
  switch (column) {
    case Column::device: {
      QString name = rangeText(of.name);
      if (!of.stages.empty())
        name += (of.stages.size() == 1 ? tr(" · stage %1") : tr(" · stages %1"))
                    .arg(rangeText(base::numberRanges(of.stages)));
      return name;
    }
    case Column::proportions:
      return proportionsText(row).join(QStringLiteral(" · "));
    case Column::balance:
      return share(row.tileBalance);
    case Column::efficiency:
      return share(row.parallelEfficiency);
    case Column::streamIn:
      return bytes(row.streamIn);
    case Column::streamOut:
      return bytes(row.streamOut);
    case Column::globalIn:
      return bytes(row.globalIn);
    case Column::globalOut:
      return bytes(row.globalOut);
    case Column::compute:
      return time(row.byKind[analysis::kindIndex(model::StepKind::compute)]);
    case Column::idle:
      return time(row.idle.count);
    case Column::total:
      return time(row.total.count);
    default:
      return {};
  }
}

QString RangeModel::longestTime() const {
  if (!trace_) return {};
  analysis::RangeStatistics whole;
  whole.total = trace_->end - trace_->start;
  const QString longest = text(whole, Column::total, compact_);
  // A shorter time may have a fraction while the longest has none: "64.5 cost units" and "252 cost units".
  return scale_.unit == geometry::TimeUnit::cycles ? longest : longest + QStringLiteral(".5");
}

void RangeModel::setCompact(bool compact) {
  if (compact == compact_) return;
  compact_ = compact;
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columns - 1), {Qt::DisplayRole});
}

bool RangeModel::hasBytes(int column) const {
  return std::ranges::any_of(rows_,
                             [&](const auto& row) { return sortValue(row, column).toLongLong() != 0; });
}

QStringList RangeModel::proportionsText(const analysis::RangeStatistics& row) const {
  const auto part = [&](const QString& name, std::int64_t ticks) {
    const double share = static_cast<double>(ticks) / std::max(1.0, static_cast<double>(row.total.count));
    return QStringLiteral("%1: %2 (%3)")
        .arg(name, rangeText(formatDuration(base::Ticks(ticks), scale_)),
             rangeText(formatCell(share, Format::fraction)));
  };
  QStringList parts;
  for (std::size_t kind = 0; kind + 1 < analysis::kStepKinds; ++kind) {
    if (row.byKind[kind] != 0)
      parts << part(rangeText(model::toString(static_cast<model::StepKind>(kind))), row.byKind[kind]);
  }
  parts << part(tr("idle"), row.idle.count);
  return parts;
}

QVariant RangeModel::sortValue(const analysis::RangeStatistics& row, int column) const {
  const auto kind = [&](model::StepKind of) {
    return QVariant::fromValue<qlonglong>(row.byKind[analysis::kindIndex(of)]);
  };
  const auto bytes = [](base::Bytes b) { return QVariant::fromValue<qlonglong>(b.count); };
  switch (column) {
    case Column::proportions:
    case Column::compute:
      return kind(model::StepKind::compute);
    case Column::balance:
      return row.tileBalance;
    case Column::efficiency:
      return row.parallelEfficiency;
    case Column::streamIn:
      return bytes(row.streamIn);
    case Column::streamOut:
      return bytes(row.streamOut);
    case Column::globalIn:
      return bytes(row.globalIn);
    case Column::globalOut:
      return bytes(row.globalOut);
    case Column::idle:
      return QVariant::fromValue<qlonglong>(row.idle.count);
    case Column::total:
      return QVariant::fromValue<qlonglong>(row.total.count);
    default:  // sorts by number of the device, not by name
      return row.device;
  }
}

QVariant RangeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || !trace_) return {};
  const analysis::RangeStatistics& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column(), compact_);
    case kFullTextRole:
      return text(row, index.column());
    case Qt::TextAlignmentRole:
      return static_cast<int>((index.column() == device ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kRawRole:
      return index.column() == device || index.column() == proportions ? QVariant()
                                                                       : sortValue(row, index.column());
    case kSortRole:
      return sortValue(row, index.column());
    case kValueRole:
      if (index.column() == proportions) return parts(row);
      return index.column() == balance ? row.tileBalance : row.parallelEfficiency;
    case Qt::ToolTipRole: {
      if (index.column() == proportions) return proportionsText(row).join(QLatin1Char('\n'));
      return compact_ && index.column() >= compute ? QVariant(text(row, index.column())) : QVariant();
    }
    default:
      return {};
  }
}

QVariant RangeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columns) return {};
  if (role == Qt::DisplayRole && section == balance && !unit_.isEmpty())
    return tr("%1 balance").arg(unit_.left(1).toUpper() + unit_.mid(1));
  if (role == Qt::DisplayRole) return tr(kHeadings[section].name);
  if (role == kRawRole) return QString::fromUtf8(kHeadings[section].unit);
  if (role == Qt::ToolTipRole) {
    if (section == efficiency && !hasUnits()) return tr(kOfOnePiece);
    const QString doc = tr(kHeadings[section].doc);
    return section == balance || section == efficiency ? QString(doc).replace(QStringLiteral("%1"), unit_)
                                                       : doc;
  }
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section <= efficiency ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

}  // namespace pipescope::pages
