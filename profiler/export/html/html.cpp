#include "profiler/export/html/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/pipeline/diff.h"
#include "profiler/export/html/html_writer.h"
#include "profiler/export/html/report_findings.h"
#include "profiler/export/html/report_pictures.h"
#include "profiler/export/html/report_rows.h"
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
constexpr ReportPart kReportParts[] = {{"kernels", "Recorded", 20, true},
                                       {"stages", "Stages", kMostTableRows},
                                       {"waits", "Waits", 20},
                                       {"memory", "Memory", kMostTableRows},
                                       {"operations", "Operations", 40},
                                       {"training", "Training", kMostTableRows},
                                       {"options", "Options", kMostOptions}};

std::string shown(const Section& section, std::string_view key) {
  const auto fact = std::ranges::find(section.facts, key, &sections::Fact::key);
  return fact == section.facts.end() || std::holds_alternative<std::monostate>(fact->value)
             ? std::string()
             : factText(section, *fact);
}

/// Remarks of a run that say what it did; the others are warnings and errors.
bool isNote(const std::string& remark) {
  return remark.starts_with("info: ");
}

/// The verdict, and below it what is wrong.
void addVerdict(const Section& summary, const Section* kernels, HtmlWriter& page) {
  std::string words = verdictOf(summary);
  if (words.empty() && kernels != nullptr) words = recordedVerdictOf(*kernels);
  const bool* does = fitOf(summary);
  if (!words.empty())
    page.paragraph(words, does != nullptr && !*does ? "verdict bad" : "verdict");
  else if (summary.remarks.empty())
    page.paragraph("Nothing has run in this executable.", "verdict");
  constexpr std::string_view kError = "error: ";
  for (const std::string& remark : summary.remarks) {
    if (remark.starts_with(kError))
      page.paragraph(remark.substr(kError.size()), "problem");
    else if (!isNote(remark))
      page.paragraph(remark);
  }
}

/// The remarks that are notes, each once and without the word that marks them.
std::vector<std::string> notesOf(const Section& summary) {
  std::vector<std::string> notes;
  for (const std::string& remark : summary.remarks) {
    const std::string note = isNote(remark) ? remark.substr(remark.find(' ') + 1) : std::string();
    if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
  return notes;
}

/// Facts for cards: without what the head of the page, the verdict, the bar of shares and other facts say.
Section cardsOf(Section summary) {
  std::erase_if(summary.facts, [](const sections::Fact& fact) {
    constexpr std::string_view kSaid[] = {"system", "tool_version", "division", "bound_by", "time_shares"};
    return std::ranges::find(kSaid, fact.key) != std::end(kSaid) ||
           (fact.key == "state" && fact.value == Cell(std::string("complete")));
  });
  return summary;
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

void addBars(const char* heading, const std::string& basis, const std::string& bars, HtmlWriter& page) {
  if (bars.empty()) return;
  page.heading(heading);
  page.paragraph(basis, "quiet");
  page.raw(bars);
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
  for (const sections::SectionTable& table : section.tables) {
    // The tables stop before the page becomes too large.
    const bool full = page.size() > kMostReportBytes * 4 / 5;
    page.table(table, section.ticksPerShownUnit, full ? 5 : rows);
  }
}

std::string subtitleOf(const sections::Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  const model::Executable* executable = catalog.executable(context.executable);
  const std::string division = catalog.divisionOf(context.executable);
  return fmt::format(
      "{} · {}{} · {}{} · pipescope {}", executable == nullptr ? "" : executable->name, catalog.target.name,
      division.empty() ? "" : " · " + division, catalog.measured() ? "imported trace" : "emulated",
      catalog.property("device_model").empty() ? "" : " · device model " + catalog.property("device_model"),
      catalog.property("tool_version"));
}

/// The sections of a report, each made once.
class ReportSections {
 public:
  static base::Result<ReportSections> make(const sections::Context& context) {
    ReportSections made;
    for (const char* name : {"summary", "kernels", "insights", "stages", "waits", "memory", "operations",
                             "training", "options"}) {
      const sections::SectionDefinition* definition = sections::sectionRegistry().find(name);
      if (definition == nullptr) continue;
      PIPESCOPE_ASSIGN(Section section, makeSection(*definition, context));
      made.sections_.emplace(name, std::move(section));
    }
    return made;
  }
  /// Null: there is no such section.
  const Section* find(const std::string& name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Section> sections_;
};

/// A part of an imported trace for which the trace has no data is left out, so that the report does not
/// repeat that the data are missing.
bool isLeftOut(const ReportPart& part, const Section& section, bool measured) {
  const bool empty = section.facts.empty() && std::ranges::all_of(section.tables, [](const auto& table) {
                       return table.rows.empty();
                     });
  return measured ? empty || !section.lacks.empty() : part.recordedOnly;
}

/// All that one sees at a glance: verdict, figures, bars, the pipeline and the findings.
void addOverview(const sections::Context& context, const ReportSections& all, base::Progress& progress,
                 HtmlWriter& page) {
  const Section& summary = *all.find("summary");
  const Section* kernels = context.catalog.measured() ? all.find("kernels") : nullptr;
  addVerdict(summary, kernels, page);
  page.cards(cardsOf(summary));
  if (const std::string bar = shareBar(summary); !bar.empty()) {
    page.heading("Where the devices' time goes");
    page.raw(bar);
  }
  if (kernels != nullptr)
    addBars("What each accelerator does", "from the first start to the last end of its kernels and copies",
            acceleratorBars(*kernels), page);
  addPipeline(context, progress, page);
  if (const Section* stages = all.find("stages"))
    addBars("Time of each stage",
            fmt::format("{}, with host copies and exchange",
                        stages->time().isCycles() ? "cycles per micro-batch" : "per micro-batch"),
            stageBars(*stages), page);
  if (const Section* memory = all.find("memory"))
    addBars("Memory of each device", "sum over its memory, at the program step in which most is live",
            memoryBars(*memory), page);
  const Section* insights = all.find("insights");
  if (insights == nullptr || (context.catalog.measured() && !insights->lacks.empty())) return;
  page.part("insights", "Insights");
  const std::string findings = findingsHtml(*insights);
  if (findings.empty())
    page.paragraph(insights->lacks.empty() ? "No rule found anything to change." : insights->lacks);
  page.raw(findings);
}

}  // namespace

base::Result<std::string> htmlReport(const sections::Context& context, const std::string& title,
                                     base::Progress& progress) {
  HtmlWriter page(title, subtitleOf(context));
  PIPESCOPE_ASSIGN(const ReportSections all, ReportSections::make(context));
  addOverview(context, all, progress, page);
  addTimeline(context, progress, page);
  const Section& summary = *all.find("summary");
  page.part("run", "Run");
  page.list(notesOf(summary));
  for (const sections::SectionTable& table : summary.tables)
    page.table(table, summary.ticksPerShownUnit, kMostTableRows);
  for (const ReportPart& part : kReportParts) {
    const Section* found = all.find(part.section);
    if (found == nullptr) continue;
    Section section = *found;
    if (section.name == "options") keepChosenOptions(section);
    if (isLeftOut(part, section, context.catalog.measured())) continue;
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
