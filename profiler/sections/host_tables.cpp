#include "profiler/sections/host_tables.h"

namespace pipescope::sections {

double hostSeconds(base::Ticks time) {
  return static_cast<double>(time.count) * 1e-9;
}

SectionTable hostNameTable(const analysis::HostTimeline& timeline,
                           const std::vector<analysis::HostNameUse>& uses, const std::string& basis) {
  SectionTable table{"names", "Names", basis, {}, {}};
  table.columns = {
      {"channel", "Channel", Format::plain, ""},
      {"name", "Name", Format::plain, ""},
      {"count", "Spans", Format::count, ""},
      {"threads", "Threads", Format::count, ""},
      {"total_seconds", "Total", Format::seconds, "sum of the lengths"},
      {"self_seconds", "Own", Format::seconds, "sum of the lengths without the spans directly in them"},
      {"mean_seconds", "Mean", Format::seconds, "length of a span"},
      {"shortest_seconds", "Shortest", Format::seconds, "", false},
      {"median_seconds", "Median", Format::seconds, "half of the spans are no longer"},
      {"p90_seconds", "p90", Format::seconds, "90 % of the spans are no longer", false},
      {"p99_seconds", "p99", Format::seconds, "99 % of the spans are no longer"},
      {"longest_seconds", "Longest", Format::seconds, ""}};
  for (const analysis::HostNameUse& use : uses) {
    const analysis::HostLabel& label = timeline.names[static_cast<std::size_t>(use.name)];
    table.rows.push_back({label.channel, label.name, use.count, use.threads, hostSeconds(use.total),
                          hostSeconds(use.self), use.mean() * 1e-9, hostSeconds(use.shortest),
                          hostSeconds(use.median), hostSeconds(use.p90), hostSeconds(use.p99),
                          hostSeconds(use.longest)});
  }
  table.mostInText = 30;
  return table;
}

SectionTable hostTreeTable(const analysis::HostTimeline& timeline,
                           const std::vector<analysis::HostTreeNode>& tree, const std::string& basis) {
  SectionTable table{"call_tree", "Call tree", basis, {}, {}};
  table.columns = {{"thread", "Thread", Format::plain, "", false},
                   {"depth", "Depth", Format::index, "0: the thread itself", false},
                   {"path", "Name", Format::plain, "indented below what is around it"},
                   {"count", "Spans", Format::count, ""},
                   {"total_seconds", "Total", Format::seconds, ""},
                   {"self_seconds", "Own", Format::seconds, "without the spans directly in them"}};
  for (const analysis::HostTreeNode& node : tree) {
    const std::string thread = timeline.lanes[static_cast<std::size_t>(node.lane)].title();
    const std::string name =
        node.name < 0 ? thread : timeline.names[static_cast<std::size_t>(node.name)].name;
    table.rows.push_back({thread, static_cast<std::int64_t>(node.depth),
                          std::string(2 * static_cast<std::size_t>(node.depth), ' ') + name, node.count,
                          hostSeconds(node.total), node.name < 0 ? Cell() : Cell(hostSeconds(node.self))});
  }
  table.mostInText = 40;
  return table;
}

SectionTable hostSeriesTable(const analysis::HostTimeline& timeline) {
  SectionTable table{"series", "Series", "whole recording", {}, {}};
  table.columns = {
      {"chart", "Chart", Format::plain, ""},        {"name", "Series", Format::plain, ""},
      {"unit", "Unit", Format::plain, ""},          {"samples", "Samples", Format::count, ""},
      {"smallest", "Smallest", Format::number, ""}, {"mean", "Mean", Format::number, "of the samples"},
      {"largest", "Largest", Format::number, ""},   {"last", "Last", Format::number, ""}};
  for (const analysis::HostCurve& curve : timeline.curves) {
    if (curve.pinned) continue;  // the page Training has the values of the model
    table.rows.push_back({curve.chart, curve.name, curve.unit, static_cast<std::int64_t>(curve.points.size()),
                          curve.smallest, curve.mean, curve.largest, curve.points.back().value});
  }
  return table;
}

}  // namespace pipescope::sections
