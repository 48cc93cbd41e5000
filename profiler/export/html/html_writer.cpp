#include "profiler/export/html/html_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "profiler/base/check.h"
#include "profiler/base/files/file_kind.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/heading_text.h"

namespace pipescope::exporting {

/// The style and the script of the page (generated).
std::span<const std::pair<std::string_view, std::string_view>> embeddedReportParts();

namespace {

using sections::Cell;
using sections::Format;
using sections::SectionColumn;

constexpr std::size_t kLongCell = 60, kLongFact = 32, kLongValue = 14;
constexpr std::size_t kFewColumns = 5, kFewRows = 24;  ///< of a table that may stand beside another one
constexpr std::size_t kColumnsOfLists = 3;             ///< of a long table whose rows may stand side by side

std::string_view embeddedPart(std::string_view name) {
  for (const auto& [file, content] : embeddedReportParts()) {
    if (file.ends_with(name)) return content;
  }
  PIPESCOPE_CHECK(false, "the report lacks " + std::string(name));
  return {};
}

bool isFigure(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

/// Columns that text shows and that have a value in some row.
std::vector<std::size_t> shownColumns(const sections::SectionTable& table) {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      return c < row.size() && !std::holds_alternative<std::monostate>(row[c]) &&
             row[c] != Cell(std::string());
    });
    if (table.columns[c].inText && any) shown.push_back(c);
  }
  return shown;
}

/// The table with the column "device_name", which text leaves out, in the place of the indices of devices.
sections::SectionTable withNames(sections::SectionTable table) {
  const auto find = [&table](std::string_view key) {
    return std::ranges::find(table.columns, key, &SectionColumn::key);
  };
  const auto index = find("device"), name = find("device_name");
  if (index == table.columns.end() || name == table.columns.end() || !index->inText) return table;
  index->inText = false;
  name->inText = true;
  name->heading = index->heading;
  return table;
}

/// Times and bytes that change are coloured: less is better.
const char* styleOfChange(const SectionColumn& column, const Cell& cell) {
  if (!column.key.starts_with("delta")) return "";
  const auto* n = std::get_if<std::int64_t>(&cell);
  const auto* x = std::get_if<double>(&cell);
  const double value = n != nullptr ? static_cast<double>(*n) : x != nullptr ? *x : 0;
  if (column.format != Format::ticks && column.format != Format::bytes && column.format != Format::seconds)
    return "";
  return value > 0 ? " up" : value < 0 ? " down" : "";
}

}  // namespace

std::string htmlText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

HtmlWriter::HtmlWriter(const std::string& title, const std::string& subtitle)
    : title_(title), subtitle_(subtitle) {}

void HtmlWriter::part(const std::string& id, const std::string& title) {
  links_ += fmt::format("<a href=\"#{}\">{}</a> ", id, htmlText(title));
  body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", id, htmlText(title));
}

void HtmlWriter::heading(const std::string& title) {
  body_ += fmt::format("<h3>{}</h3>\n", htmlText(title));
}

void HtmlWriter::paragraph(const std::string& text, const char* style) {
  if (text.empty()) return;
  body_ +=
      fmt::format("<p{}>{}</p>\n", *style == 0 ? "" : fmt::format(" class=\"{}\"", style), htmlText(text));
}

void HtmlWriter::list(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  body_ += "<ul>\n";
  for (const std::string& sentence : sentences) body_ += fmt::format("<li>{}</li>\n", htmlText(sentence));
  body_ += "</ul>\n";
}

/// A fact whose label is indented belongs to the one before it, and is a line of its card. Facts with long
/// values are no cards, but lines below them.
void HtmlWriter::cards(const sections::Section& section) {
  constexpr int kManyLines = 3;  // in a narrow card, each would need two lines
  struct Card {
    std::string head, lines;
    int parts = 0;
  };
  std::vector<Card> cards;
  std::string lines, whole;  // the label of the fact whose parts follow
  bool inLine = false;
  for (const sections::Fact& fact : section.facts) {
    const std::string value = factText(section, fact);
    if (!fact.inText || value == "–" || value.empty()) continue;
    const bool isPart = fact.label.starts_with("  ") && !cards.empty(),
               isLong = value.size() > kLongFact || std::holds_alternative<sections::Breakdown>(fact.value);
    const std::string label =
        htmlText(fact.label.substr(std::min(fact.label.size(), fact.label.find_first_not_of(' '))));
    const std::string doc = htmlText(fact.doc), text = htmlText(value);
    if (!isPart) whole = label;
    if (isLong || (isPart && inLine)) {
      lines += fmt::format("<dt title=\"{}\">{}</dt><dd>{}</dd>\n", doc,
                           isPart ? whole + ", " + label : label, text);
      inLine = inLine || !isPart;
    } else if (isPart) {
      cards.back().lines +=
          fmt::format("<small title=\"{}\"><span class=\"quiet\">{}:</span> {}</small>", doc, label, text);
      ++cards.back().parts;
    } else {
      cards.push_back({fmt::format("<span class=\"quiet\" title=\"{}\">{}</span><b{}>{}</b>", doc, label,
                                   value.size() > kLongValue ? " class=\"longer\"" : "", text)});
      inLine = false;
    }
  }
  if (!cards.empty()) body_ += "<div class=\"cards\">\n";
  for (const Card& card : cards)
    body_ += fmt::format("<div class=\"card{}\">{}{}</div>\n", card.parts > kManyLines ? " tall" : "",
                         card.head, card.lines);
  if (!cards.empty()) body_ += "</div>\n";
  if (!lines.empty()) body_ += "<dl class=\"facts\">\n" + lines + "</dl>\n";
}

void HtmlWriter::table(const sections::SectionTable& given, double ticksPerShownUnit, std::size_t most) {
  const sections::SectionTable table = withNames(withRowsOfText(given));
  if (table.rows.empty()) return;
  const std::vector<std::size_t> columns = shownColumns(table);
  const std::size_t shown = std::min(most, table.rows.size());
  std::set<std::size_t> figures;
  std::map<std::size_t, int> decimals;
  for (const std::size_t c : columns) {
    if (std::ranges::any_of(table.rows, [c](const auto& row) { return isFigure(row[c]); })) figures.insert(c);
    decimals[c] = sections::columnDecimals(table, c, ticksPerShownUnit);
  }
  const bool isNarrow = columns.size() <= kFewColumns, isShort = shown <= kFewRows;
  body_ += fmt::format("<div class=\"{}\">\n", isNarrow && isShort                 ? "short few"
                                               : isShort                           ? "short"
                                               : columns.size() <= kColumnsOfLists ? "list"
                                                                                   : "");
  heading(table.title);
  paragraph(table.basis, "quiet");
  body_ += "<div class=\"wide\"><table><thead><tr>";
  for (const std::size_t c : columns) {
    body_ += fmt::format("<th{} title=\"{}\">{}</th>", figures.contains(c) ? " class=\"n\"" : "",
                         htmlText(table.columns[c].doc), htmlText(sections::wholeHeading(table, c)));
  }
  body_ += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < shown; ++r) {
    body_ += "<tr>";
    for (const std::size_t c : columns) {
      const Cell& cell = table.rows[r][c];
      SectionColumn column = table.columns[c];
      if (column.format == Format::ofRow && r < table.rowFormats.size()) column.format = table.rowFormats[r];
      const std::string shownValue =
          sections::formatInColumn(cell, column.format, ticksPerShownUnit, decimals[c]);
      const std::string value = sections::changeText(column.key, column.format, shownValue, cell);
      const bool absent = std::holds_alternative<std::monostate>(cell) && figures.contains(c);
      const std::string style = isFigure(cell) || absent   ? std::string("n") + styleOfChange(column, cell)
                                : value.size() > kLongCell ? "long"
                                                           : "";
      body_ += fmt::format("<td{}>{}</td>", style.empty() ? "" : fmt::format(" class=\"{}\"", style),
                           htmlText(value));
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
  if (shown < table.rows.size())
    paragraph(fmt::format("The first {} of {} rows; `pipescope report --format json` prints all.",
                          base::groupedText(static_cast<std::int64_t>(shown)),
                          base::groupedText(std::ssize(table.rows))),
              "quiet");
  body_ += "</div>\n";
}

std::string HtmlWriter::finish() const {
  return fmt::format(
      "{}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}</style></head>\n<body>\n<h1>{}</h1>\n<p class=\"quiet\">{}</p>\n"
      "<nav>{}</nav>\n{}<script>\n{}</script>\n</body></html>\n",
      base::kReportTitle, htmlText(title_), embeddedPart("report.css"), htmlText(title_), htmlText(subtitle_),
      links_, body_, embeddedPart("report.js"));
}

}  // namespace pipescope::exporting
