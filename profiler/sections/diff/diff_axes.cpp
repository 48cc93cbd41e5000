#include "profiler/sections/diff/diff_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "profiler/sections/frame/column_text.h"

namespace pipescope::sections {
namespace {

std::set<model::MeshAxis> axesOf(const ComparedSide& before, const ComparedSide& after) {
  std::set<model::MeshAxis> axes;
  for (const ComparedSide* side : {&before, &after})
    for (const analysis::AxisCommunication& own : side->axes) axes.insert(own.axis);
  return axes;
}

/// A sum of both sides along the axis; a side that does not use it sends nothing in no time.
Compared alongAxis(const ComparedSide& before, const ComparedSide& after, model::MeshAxis axis,
                   double analysis::AxisCommunication::*what, bool isTime) {
  return compared(before, after, [&](const ComparedSide& side) -> Wanted {
    const auto found = std::ranges::find(side.axes, axis, &analysis::AxisCommunication::axis);
    if (found == side.axes.end()) return 0;
    return *found.*what * (isTime ? side.scale : 1);
  });
}

}  // namespace

std::string diffAxesInShort(const ComparedSide& before, const ComparedSide& after, const Words& words,
                            double stepChange) {
  constexpr double kNotable = 0.2;  // of the step's change
  double sum = 0, most = 0;
  std::string parts;
  for (const model::MeshAxis axis : axesOf(before, after)) {
    const Compared row = alongAxis(before, after, axis, &analysis::AxisCommunication::exposed, true);
    const double change = *row.after - *row.before;
    if (change == 0) continue;
    sum += change;
    most = std::max(most, std::fabs(change));
    parts += fmt::format("{}{} {}{}", parts.empty() ? "" : ", ", model::toString(axis), change > 0 ? "+" : "",
                         timeText(change, words.time, TimeStyle::exact));
  }
  if (parts.empty() || most < kNotable * std::fabs(stepChange)) return {};
  return fmt::format(" Collectives that no computation hides take {} {}, by axis: {}.",
                     timeText(std::fabs(sum), words.time, TimeStyle::exact), sum < 0 ? "less" : "more",
                     parts);
}

SectionTable diffAxisTable(const ComparedSide& before, const ComparedSide& after, const Words& words) {
  SectionTable table{"communication",
                     "Communication by axis",
                     words.per("iteration, on one chip of the limiting stage"),
                     {{"axis", "Axis", Format::plain, "Axis of the mesh along which the chips lie."},
                      {"before_sent_bytes", "Sent before", Format::bytes, "if tensors go round a ring"},
                      {"after_sent_bytes", "Sent after", Format::bytes, "if tensors go round a ring"},
                      {"before_exposed_cycles", "Exposed before", Format::ticks,
                       "Part during which no other engine of the chip works."},
                      {"after_exposed_cycles", "Exposed after", Format::ticks,
                       "Part during which no other engine of the chip works."},
                      {"delta_cycles", "Change", Format::ticks, "of the exposed part: after − before"}},
                     {}};
  for (const model::MeshAxis axis : axesOf(before, after)) {
    const Compared sent = alongAxis(before, after, axis, &analysis::AxisCommunication::sent, false),
                   exposed = alongAxis(before, after, axis, &analysis::AxisCommunication::exposed, true);
    const auto bytes = [](const Wanted& value) {
      return Cell(static_cast<std::int64_t>(std::llround(*value)));
    };
    table.rows.push_back({model::toString(axis), bytes(sent.before), bytes(sent.after),
                          comparedCell(exposed.before), comparedCell(exposed.after), exposed.delta()});
  }
  return table;
}

}  // namespace pipescope::sections
