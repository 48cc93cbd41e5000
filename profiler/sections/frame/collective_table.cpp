#include "profiler/sections/frame/collective_table.h"

#include <map>
#include <tuple>

#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

std::string patternOf(const std::string& name) {
  std::string pattern;
  bool number = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !number) pattern += '*';
    if (!digit) pattern += c;
    number = digit;
  }
  return pattern;
}

SectionTable executedCollectives(const Context& context, const std::vector<analysis::CollectiveUse>& uses) {
  const Words words = wordsOf(context.catalog);
  SectionTable table{"collectives", "Collectives", words.per("iteration, on one chip"), {}, {}};
  table.columns = {
      {"operator", "Operator", Format::plain, "Name; * stands for a number."},
      {"stage", "Stage", Format::index, ""},
      {"pass", "Pass", Format::plain, ""},
      {"kind", "Kind", Format::plain, ""},
      {"axis", "Axis", Format::plain, "Axis of the mesh along which the chips lie."},
      {"ranks", "Chips", Format::count, "Chips that take part."},
      {"count", "Count", Format::amount, "Executions."},
      {"bytes", "Tensor", Format::bytes, "Of the tensor in one execution."},
      {"sent_bytes", "Sent", Format::bytes, "That the chip sends in all of them, if they go round a ring."},
      {"cycles", words.cycles(), Format::ticks, "Length of all executions."},
      {"exposed_cycles", "Exposed", Format::ticks, "Part during which no other engine of the chip works."}};
  table.mostInText = 40;
  using Key = std::tuple<std::int32_t, std::string, std::string, std::string, model::MeshAxis, std::int64_t,
                         std::int64_t>;
  struct Sum {
    double count = 0, sent = 0, ticks = 0, exposed = 0;
  };
  std::map<Key, Sum> sums;
  std::vector<Key> order;
  for (const analysis::CollectiveUse& use : uses) {
    const model::Operator op = context.catalog.operators[use.op];
    Key key{use.stage,
            patternOf(context.catalog.namePath(op.debugContext)),
            model::toString(use.pass),
            use.row.kind,
            use.row.axis,
            use.row.ranks,
            use.row.bytes.count};
    const auto [found, added] = sums.try_emplace(key);
    if (added) order.push_back(std::move(key));
    found->second.count += use.count;
    found->second.sent += use.sent;
    found->second.ticks += use.ticks;
    found->second.exposed += use.exposed;
  }
  for (const Key& key : order) {
    const auto& [stage, name, pass, kind, axis, ranks, bytes] = key;
    const Sum& sum = sums[key];
    table.rows.push_back({name, static_cast<std::int64_t>(stage), pass, kind, model::toString(axis), ranks,
                          sum.count, bytes, sum.sent, sum.ticks, sum.exposed});
  }
  return table;
}

}  // namespace pipescope::sections
