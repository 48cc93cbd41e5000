#include "views/pages/parts/data/gap_data.h"

#include <QRegularExpression>
#include <algorithm>

#include "profiler/sections/frame/words.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

std::string nameOfDevice(const analysis::Catalog& catalog, model::DeviceId id) {
  const model::Device* device = catalog.device(id);
  return device == nullptr ? "host" : device->name;
}

/// Returns whom the longest wait of a stretch is for. If the recorded wait names the waiting device itself,
/// that device has done its part, and the answer names the others.
std::string waitedForIn(const analysis::Catalog& catalog, model::ExecutableId executable,
                        const analysis::IdleStretch& gap) {
  if (gap.waitedForDevice != gap.device) return nameOfDevice(catalog, gap.waitedForDevice);
  if (gap.waitCause == model::WaitCause::exchange) return "copies of others";
  if (gap.waitCause != model::WaitCause::collective) return nameOfDevice(catalog, gap.device);
  const bool shared =
      !catalog.property("replay." + std::to_string(executable.value) + ".shared_links").empty();
  return shared ? "other replicas or shared links" : "other replicas";
}

/// A text such as "fill 80 %, exchange 20 %"; empty if there is one cause only.
std::string causesIn(const analysis::IdleStretch& gap) {
  if (gap.parts.size() < 2) return {};
  std::vector<std::pair<base::Ticks, model::WaitCause>> parts;
  for (const auto& [cause, ticks] : gap.parts) parts.emplace_back(ticks, cause);
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words;
  for (const auto& [ticks, cause] : parts) {
    const double share = static_cast<double>(ticks.count) / static_cast<double>(gap.length().count);
    words += (words.empty() ? "" : ", ") + model::toString(cause) + " " +
             formatCell(share, sections::Format::fraction);
  }
  return words;
}

}  // namespace

std::vector<analysis::IdleStretch> chosenGaps(const analysis::IdleStretches& all, const GapChoice& choice) {
  std::vector<analysis::IdleStretch> chosen;
  for (const analysis::IdleStretch& gap : all.longest) {
    if ((!choice.device.valid() || gap.device == choice.device) &&
        (!choice.cause || gap.cause == *choice.cause))
      chosen.push_back(gap);
  }
  if (chosen.size() > kGapsOfEach) chosen.resize(kGapsOfEach);
  return chosen;
}

sections::SectionTable gapTable(const std::vector<analysis::IdleStretch>& gaps, std::int64_t all,
                                const analysis::Catalog& catalog, model::ExecutableId executable) {
  using sections::Format;
  const sections::Words words = sections::wordsOf(catalog);
  sections::SectionTable table{"gaps",
                               "The longest idle stretches",
                               words.basis("last call") + ", " + formatCell(all, Format::count) +
                                   " in all; bars to the longest; a double click shows one on the trace",
                               {},
                               {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"start_cycles", "Start", Format::ticks, "since the start of the first call"},
                   {"end_cycles", "End", Format::ticks, "", false},
                   {"cycles", "Length", Format::ticks, "waits that follow each other without work"},
                   {"share", "Share", Format::fraction, "of the call's time"},
                   {"cause", "Cause", Format::plain, "of the largest part"},
                   {"waits_for", "Waits for", Format::plain, "during the longest wait"},
                   {"iteration", "Iteration", Format::index, "in which it begins"},
                   {"causes", "All causes", Format::plain, "if there are several"}};
  const model::Run* run = catalog.lastRunOf(executable);
  const double length = run == nullptr ? 0 : static_cast<double>((run->end - run->start).count);
  for (const analysis::IdleStretch& gap : gaps) {
    const double share = length > 0 ? static_cast<double>(gap.length().count) / length : 0;
    table.rows.push_back(
        {gap.device.value, nameOfDevice(catalog, gap.device), gap.start.count, gap.end.count,
         gap.length().count, share, model::toString(gap.cause), waitedForIn(catalog, executable, gap),
         gap.iteration < 0 ? sections::Cell() : sections::Cell(std::int64_t{gap.iteration}), causesIn(gap)});
  }
  return table;
}

std::optional<GapChoice> gapWords(const QString& words, const analysis::Catalog& catalog) {
  static const QRegularExpression form(
      QStringLiteral("^\\s*(?:the\\s+)?(?:longest\\s+)?(?:gap|wait|idle(?:\\s+stretch)?)(?:e?s)?"
                     "(?:\\s+(?:of|on))?(?:\\s+(?:device|rank))?(?:\\s+(\\S.*?))?\\s*$"),
      QRegularExpression::CaseInsensitiveOption);
  const QRegularExpressionMatch match = form.match(words);
  if (!match.hasMatch()) return std::nullopt;
  const QString wanted = match.captured(1);
  if (wanted.isEmpty()) return GapChoice();
  for (const model::Device& device : catalog.devices) {
    if (text(device.name).compare(wanted, Qt::CaseInsensitive) == 0) return GapChoice{device.id, {}};
  }
  bool isNumber = false;
  const model::DeviceId byNumber(wanted.toLongLong(&isNumber));
  if (isNumber && catalog.device(byNumber) != nullptr) return GapChoice{byNumber, {}};
  return std::nullopt;
}

shell::Selected subjectOf(const analysis::IdleStretch& gap) {
  shell::Selected subject;
  subject.kind = shell::Selected::Kind::wait;
  subject.device = gap.device;
  subject.start = gap.start;
  subject.end = gap.end;
  return subject;
}

}  // namespace pipescope::pages
