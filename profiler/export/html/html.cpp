#include "profiler/export/html/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/pipeline/diff.h"
#include "profiler/export/html/html_writer.h"
#include "profiler/export/html/report_pictures.h"
#include "profiler/export/svg.h"
#include "profiler/sections/diff/diff_section.h"

namespace pipescope::exporting {
namespace {

using sections::Cell;
using sections::Section;

constexpr std::size_t kMostTableRows = 60, kMostOptions = 400, kMostPicture = 3'000'000;

/// A part of the page that consists of a section of the reports.
struct ReportPart {
  const char *section, *title;
  std::size_t rows;
  bool recordedOnly = false;  ///< emulated runs have nothing to show here
};
constexpr ReportPart kReportParts[] = {
    {"kernels", "Recorded", 20, true},        {"insights", "Insights", kMostTableRows},
    {"stages", "Stages", kMostTableRows},     {"waits", "Waits", 20},
    {"memory", "Memory", kMostTableRows},     {"operations", "Operations", 40},
    {"training", "Training", kMostTableRows}, {"options", "Options", kMostOptions}};

const sections::Fact* factOf(const Section& section, std::string_view key) {
  for (const sections::Fact& fact : section.facts) {
    if (fact.key == key) return &fact;
  }
  return nullptr;
}

std::string shown(const Section& section, std::string_view key) {
  const sections::Fact* fact = factOf(section, key);
  if (fact == nullptr || std::holds_alternative<std::monostate>(fact->value)) return {};
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
  const sections::Fact* fact = factOf(summary, "time_shares");
  const auto* shares = fact == nullptr ? nullptr : std::get_if<sections::Breakdown>(&fact->value);
  double share = 0;
  if (shares != nullptr)
    for (const auto& [name, own] : *shares)
      if (name == bound) share = sections::numberOf(own);
  if (share <= 0 || share > 0.5)
    return fmt::format("The devices spend most of their time {}. ", doing->second);
  return fmt::format("The devices spend the largest part of their time ({}) {}. ",
                     sections::formatCell(share, sections::Format::fraction), doing->second);
}

/// Null: it is not known whether the model fits.
const bool* fitOf(const Section& summary) {
  const sections::Fact* fits = factOf(summary, "fits");
  return fits == nullptr ? nullptr : std::get_if<bool>(&fits->value);
}

}  // namespace

std::string verdictOf(const Section& summary) {
  const bool* does = fitOf(summary);
  std::string words = does == nullptr ? ""
                      : *does         ? "The model fits into the memory of the devices. "
                                      : "The model does not fit into the memory of the devices. ";
  const std::string rate = shown(summary, "samples_per_second"), stage = shown(summary, "limiting_stage"),
                    bubble = shown(summary, "bubble_fraction"), bound = shown(summary, "bound_by");
  if (!rate.empty())
    words += fmt::format("It {} {} samples per second. ",
                         does != nullptr && !*does ? "would process" : "processes",
                         rate.substr(0, rate.find(" /s")));
  words += mostlyDone(summary, bound);
  if (!stage.empty()) words += fmt::format("The others wait for {}. ", stage);
  if (!bubble.empty()) words += fmt::format("The bubble is {} of the flush.", bubble);
  return words;
}

namespace {

void addVerdict(const Section& summary, HtmlWriter& page) {
  const std::string words = verdictOf(summary);
  const bool* does = fitOf(summary);
  if (!words.empty())
    page.paragraph(words, does != nullptr && !*does ? "verdict bad" : "verdict");
  else if (summary.remarks.empty())
    page.paragraph("Nothing has run in this executable.", "verdict");
  for (const std::string& remark : summary.remarks) page.paragraph(remark);
}

/// A picture that needs too many bytes is drawn in a smaller width, where more of it is merged.
std::string timelineOf(const sections::Context& context, base::Progress& progress, std::string& sentence) {
  constexpr int kWidest = 1600, kNarrowest = 400;
  for (int width = kWidest; width >= kNarrowest; width /= 2) {
    std::string svg;
    const base::Status drawn = exportSvg(
        context.source, context.catalog, context.executable,
        [&](std::string_view text) {
          svg += text;
          return base::Status();
        },
        progress, width);
    if (!drawn.ok()) {
      sentence = drawn.error().message;
      return {};
    }
    if (svg.size() <= kMostPicture) return svg;
  }
  sentence = "The timeline has too many lanes for a page of this size. Open the profile in pipescope-gui.";
  return {};
}

void addTimeline(const sections::Context& context, base::Progress& progress, HtmlWriter& page) {
  std::string sentence;
  const std::string svg = timelineOf(context, progress, sentence);
  // Nobody can zoom on paper, where the pipeline of one iteration says the same.
  page.raw("<section class=\"screen\">\n");
  page.part("timeline", "Timeline");
  if (svg.empty()) {
    page.paragraph(sentence, "quiet");
    return page.raw("</section>\n");
  }
  page.paragraph(
      "The last call. Drag the picture to move it; the buttons, or the wheel with Ctrl, zoom; a double click "
      "shows everything.",
      "quiet");
  page.raw(
      "<div><button data-zoom=\"in\" title=\"Zoom in\">+</button><button data-zoom=\"out\" title=\"Zoom "
      "out\">−</button><button data-zoom=\"all\" title=\"Show everything\">All</button></div>\n<div "
      "class=\"timeline\">");
  page.raw(svg);
  page.raw("</div>\n</section>\n");
}

void addPipeline(const sections::Context& context, base::Progress& progress, HtmlWriter& page) {
  std::string sentence;
  const std::string svg = pipelinePicture(context, progress, sentence);
  // A trace without stages has no pipeline; the summary has said so.
  if (svg.empty() && context.catalog.measured()) return;
  page.part("pipeline", "Pipeline");
  if (svg.empty()) return page.paragraph(sentence, "quiet");
  if (svg.size() > kMostPicture)
    return page.paragraph(
        "The pipeline has too many passes for a page of this size. Open the profile in "
        "pipescope-gui.",
        "quiet");
  page.paragraph(
      "One iteration of the last call: a row for each device, a box for each pass of a micro-batch.",
      "quiet");
  page.raw("<div class=\"pipeline\">");
  page.raw(svg);
  page.raw("</div>\n");
}

/// The bars of a section, which say at a glance what its tables say in figures.
void addBars(const Section& section, HtmlWriter& page) {
  if (section.name == "stages") {
    if (const std::string bars = stageBars(section); !bars.empty()) {
      page.heading("Time of each stage");
      page.paragraph("per micro-batch, with host copies and exchange", "quiet");
      page.raw(bars);
    }
  } else if (section.name == "memory") {
    if (const std::string bars = memoryBars(section); !bars.empty()) {
      page.heading("Memory of each device");
      page.paragraph("sum over its memory, at the program step in which most is live", "quiet");
      page.raw(bars);
    }
  }
}

/// Leaves out what nobody decided: on a page that people read, hundreds of defaults hide the few choices.
void keepChosenOptions(Section& section) {
  for (sections::SectionTable& table : section.tables) {
    const auto origin = std::ranges::find(table.columns, "origin", &sections::SectionColumn::key);
    if (origin == table.columns.end()) continue;
    const auto column = static_cast<std::size_t>(origin - table.columns.begin());
    std::erase_if(table.rows,
                  [column](const auto& row) { return row[column] == Cell(std::string("default")); });
    table.basis = "options that are not at their default; pipescope report --section options lists all";
  }
}

void addSection(const Section& section, std::size_t rows, HtmlWriter& page) {
  for (const std::string& remark : section.remarks) page.paragraph(remark);
  page.cards(section);
  addBars(section, page);
  for (const sections::SectionTable& table : section.tables) {
    // The tables stop before the page becomes too large.
    const bool full = page.size() > kMostReportBytes * 4 / 5;
    page.table(table, section.ticksPerShownUnit, full ? 5 : rows);
  }
}

std::string subtitleOf(const sections::Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  const model::Executable* executable = catalog.executable(context.executable);
  return fmt::format(
      "{} · {} · {}{} · pipescope {}", executable == nullptr ? "" : executable->name, catalog.target.name,
      catalog.measured() ? "imported trace" : "emulated",
      catalog.property("device_model").empty() ? "" : " · device model " + catalog.property("device_model"),
      catalog.property("tool_version"));
}

}  // namespace

base::Result<std::string> htmlReport(const sections::Context& context, const std::string& title,
                                     base::Progress& progress) {
  HtmlWriter page(title, subtitleOf(context));
  PIPESCOPE_ASSIGN(const sections::SectionDefinition* summaryDefinition, sections::findSection("summary"));
  PIPESCOPE_ASSIGN(const Section summary, makeSection(*summaryDefinition, context));
  addVerdict(summary, page);
  page.cards(summary);
  if (const std::string bar = shareBar(summary); !bar.empty()) {
    page.heading("Where the devices' time goes");
    page.raw(bar);
  }
  for (const sections::SectionTable& table : summary.tables)
    page.table(table, summary.ticksPerShownUnit, kMostTableRows);
  addPipeline(context, progress, page);
  addTimeline(context, progress, page);
  for (const ReportPart& part : kReportParts) {
    const sections::SectionDefinition* definition = sections::sectionRegistry().find(part.section);
    if (definition == nullptr) continue;
    PIPESCOPE_ASSIGN(Section section, makeSection(*definition, context));
    if (section.name == "options") keepChosenOptions(section);
    // A part of an imported trace for which the trace has no data is left out, so that the report does not
    // repeat that the data are missing.
    const bool empty = section.facts.empty() && std::ranges::all_of(section.tables, [](const auto& table) {
                         return table.rows.empty();
                       });
    if (context.catalog.measured() ? empty || !section.lacks.empty() : part.recordedOnly) continue;
    page.part(part.section, part.title);
    addSection(section, part.rows, page);
  }
  return page.finish();
}

base::Result<std::string> htmlComparison(const sections::Context& before, const sections::Context& after,
                                         const std::string& beforeTitle, const std::string& afterTitle) {
  PIPESCOPE_ASSIGN(const analysis::Diff diff,
                   analysis::diff({before.source, before.catalog, before.executable},
                                  {after.source, after.catalog, after.executable}));
  PIPESCOPE_ASSIGN(const Section section, sections::diffSection(before, after, diff, {}));
  HtmlWriter page(fmt::format("{} and {}", beforeTitle, afterTitle),
                  fmt::format("before: {} — after: {}", subtitleOf(before), subtitleOf(after)));
  const std::string inShort = shown(section, "in_short");
  page.paragraph(inShort, "verdict");
  for (const std::string& remark : section.remarks) page.paragraph(remark);
  page.part("figures", "What changed");
  page.cards(section);
  for (const sections::SectionTable& table : section.tables)
    page.table(table, section.ticksPerShownUnit, kMostTableRows);
  return page.finish();
}

}  // namespace pipescope::exporting
