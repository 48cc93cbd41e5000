#include "profiler/export/html/report_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/export/html/html_writer.h"
#include "profiler/export/html/report_rows.h"
#include "profiler/sections/frame/column_text.h"

namespace pipescope::exporting {
namespace {

using sections::Cell;
using sections::Format;
using sections::Section;

std::string shownFact(const Section& section, std::string_view key) {
  const auto fact = std::ranges::find(section.facts, key, &sections::Fact::key);
  if (fact == section.facts.end() || !fact->inText || std::holds_alternative<std::monostate>(fact->value))
    return {};
  return factText(section, *fact);
}

/// Says what the devices do for most of their time, by the name of the largest share. It may be less than a
/// half.
std::string mostlyDone(const Section& summary, std::string_view bound) {
  constexpr std::pair<std::string_view, std::string_view> kDoings[] = {
      {"compute", "computing"},
      {"exchange", "exchanging data"},
      {"stream", "with copies from and to the host"},
      {"host", "waiting for the host"},
      {"memory", "with copies from and to remote memory"},
      {"pipeline", "waiting for other stages"},
      {"control", "in passes in which no engine computes or moves data"}};
  const auto* doing = std::ranges::find(kDoings, bound, [](const auto& known) { return known.first; });
  if (doing == std::end(kDoings)) return {};
  const auto fact = std::ranges::find(summary.facts, "time_shares", &sections::Fact::key);
  const auto* shares = fact == summary.facts.end() ? nullptr : std::get_if<sections::Breakdown>(&fact->value);
  double share = 0;
  if (shares != nullptr)
    for (const auto& [name, own] : *shares)
      if (name == bound) share = sections::numberOf(own);
  if (share <= 0 || share > 0.5)
    return fmt::format("The devices spend most of their time {}. ", doing->second);
  return fmt::format("The devices spend the largest part of their time ({}) {}. ",
                     sections::formatCell(share, Format::fraction), doing->second);
}

/// A sentence on what the accelerators do for the parts of their time.
std::string partsOfTime(const TableRows& devices) {
  double span = 0, busy = 0, compute = 0, exposed = 0;
  for (std::size_t row = 0; row < devices.count(); ++row) {
    span += devices.value(row, "span_cycles");
    busy += devices.value(row, "busy_cycles");
    compute += devices.value(row, "compute_cycles");
    exposed += devices.value(row, "exposed_communication_cycles");
  }
  if (!(span > 0)) return {};
  const auto share = [span](double ticks) { return sections::formatCell(ticks / span, Format::fraction); };
  std::string words = devices.count() == 1 ? devices.words(0, "device_name") + " computes"
                                           : fmt::format("{} accelerators compute", devices.count());
  words += fmt::format(" for {} of the time", share(compute));
  if (exposed > 0)
    words += fmt::format(", only {} for {}", devices.count() == 1 ? "communicates" : "communicate",
                         share(exposed));
  return words +
         fmt::format(", and {} idle for {}. ", devices.count() == 1 ? "is" : "are", share(span - busy));
}

/// The change of a finding's rate in large letters, with its style.
std::pair<std::string, const char*> gainOf(const TableRows& findings, std::size_t row) {
  const Cell gain = findings.cell(row, "gain_fraction"), bound = findings.cell(row, "gain_bound_fraction");
  const double value = findings.value(row, "gain_fraction");
  if (!std::holds_alternative<std::monostate>(gain) &&
      (value > 0 || std::holds_alternative<std::monostate>(bound)))
    return {sections::changeText("relative", Format::fraction, formatCell(gain, Format::fraction), gain),
            value > 0 ? "gain good" : "gain"};
  if (!std::holds_alternative<std::monostate>(bound))
    return {"up to +" + formatCell(bound, Format::fraction), "gain"};
  return {"not known", "gain unknown"};
}

}  // namespace

std::string verdictOf(const Section& summary) {
  const bool* does = fitOf(summary);
  std::string words = does == nullptr ? ""
                      : *does         ? "The model fits into the memory of the devices. "
                                      : "The model does not fit into the memory of the devices. ";
  const std::string rate = shownFact(summary, "samples_per_second"),
                    stage = shownFact(summary, "limiting_stage"),
                    bubble = shownFact(summary, "bubble_fraction"), bound = shownFact(summary, "bound_by");
  if (!rate.empty())
    words += fmt::format("It {} {} samples per second. ",
                         does != nullptr && !*does ? "would process" : "processes",
                         rate.substr(0, rate.find(" /s")));
  words += mostlyDone(summary, bound);
  if (!stage.empty()) words += fmt::format("The others wait for {}. ", stage);
  if (!bubble.empty()) words += fmt::format("The bubble is {} of the flush.", bubble);
  return words;
}

std::string recordedVerdictOf(const Section& kernels) {
  const TableRows devices(kernels, "devices");
  std::string words = partsOfTime(devices);
  if (words.empty()) return {};
  if (const std::string step = shownFact(kernels, "mean_marked_step_cycles"); !step.empty())
    words += fmt::format("A training step takes {}, the mean of those that the host marks.", step);
  return words;
}

std::string findingsHtml(const Section& insights) {
  const TableRows findings(insights, "insights");
  std::string out;
  for (std::size_t row = 0; row < findings.count(); ++row) {
    const std::string changes = findings.words(row, "changes"), reason = findings.words(row, "gain_reason");
    const auto [gain, style] = gainOf(findings, row);
    const auto number = [&](const char* key) {
      return sections::formatCell(findings.value(row, key), Format::ratio);
    };
    out += fmt::format(
        "<div class=\"finding{}\"><div><b>{}. {}</b><p>{}</p><p class=\"quiet\">{}: {}; the threshold is "
        "{}</p></div><div><span class=\"quiet\">{}</span><b class=\"{}\">{}</b><span "
        "class=\"quiet\">{}</span></div></div>\n",
        findings.cell(row, "severe") == Cell(true) ? " severe" : "", row + 1,
        htmlText(findings.words(row, "what")), htmlText(findings.words(row, "advice")),
        htmlText(findings.words(row, "figure_meaning")), number("figure"), number("threshold"),
        htmlText(changes.empty() ? "Gain" : "Rate with " + changes), style, htmlText(gain),
        htmlText(!reason.empty()   ? reason
                 : changes.empty() ? ""
                                   : "as a replay of the recorded call says"));
  }
  return out;
}

}  // namespace pipescope::exporting
