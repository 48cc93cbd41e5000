// The section about the division of a model among the ranks of a place: how each weight and activation is
// divided, and which collectives that costs. Tensors and operators whose names differ by numbers only, such
// as those of equal layers, are one row.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "profiler/analysis/pipeline/links/expert_work.h"
#include "profiler/sections/frame/collective_table.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

struct DividedTensors {
  std::int64_t count = 0;
  std::int64_t bytes = 0, ofRank = 0;
};

SectionTable tensorTable(const std::vector<model::Division>& rows, bool weights) {
  SectionTable table{weights ? "weights" : "activations",
                     weights ? "Weights" : "Activations",
                     "tensors whose names differ by numbers only are one row; bytes are of one tensor",
                     {},
                     {}};
  table.columns = {{"tensor", "Tensor", Format::plain, "Name; * stands for a number."},
                   {"tensors", "Count", Format::count, "Tensors of this name."},
                   {"shape", "Shape", Format::plain, "Before the division."},
                   {"axis", "Axis", Format::plain, "Axis of the mesh along which the ranks lie."},
                   {"ranks", "Parts", Format::count, "Number of parts; 1: each rank has all of it."},
                   {"dimension", "Divided", Format::index, "Axis of the tensor that is divided."},
                   {"bytes", "Bytes", Format::bytes, "Of one tensor before the division."},
                   {"rank_bytes", "Of a rank", Format::bytes, "Of the part that a rank has."}};
  table.mostInText = 40;
  using Key = std::tuple<std::string, std::string, model::MeshAxis, std::int64_t, std::int32_t>;
  std::map<Key, DividedTensors> groups;
  std::vector<Key> order;
  for (const model::Division& row : rows) {
    if (row.weight != weights) continue;
    Key key{patternOf(row.tensor), row.shape, row.axis, row.ranks, row.dimension};
    const auto [found, added] = groups.try_emplace(key);
    if (added) order.push_back(std::move(key));
    ++found->second.count;
    found->second.bytes = row.bytes.count;
    found->second.ofRank = row.bytes.count / std::max<std::int64_t>(row.ranks, 1);
  }
  for (const Key& key : order) {
    const auto& [name, shape, axis, ranks, dimension] = key;
    const DividedTensors& group = groups[key];
    table.rows.push_back({name, group.count, shape, ranks > 1 ? Cell(model::toString(axis)) : Cell("whole"),
                          ranks, dimension < 0 ? Cell() : Cell(static_cast<std::int64_t>(dimension)),
                          group.bytes, group.ofRank});
  }
  return table;
}

base::Result<Section> makeSharding(const Context& context) {
  PIPESCOPE_ASSIGN(const auto all, context.source.rows<model::Division>());
  std::vector<model::Division> rows;
  for (const model::Division& row : *all)
    if (row.executable == context.executable) rows.push_back(row);
  PIPESCOPE_ASSIGN(const std::vector<analysis::CollectiveUse> uses,
                   analysis::collectiveUses(context.source, context.catalog, context.executable));
  const Words words = wordsOf(context.catalog);
  Section section{"sharding", "Sharding", {}, {}, {}};
  const std::string division = context.catalog.divisionOf(context.executable);
  section.facts.push_back({"division", "Divided", division.empty() ? Cell() : Cell(division), Format::plain,
                           "Replicas, places of the pipeline, and ranks of a place by axis."});
  PIPESCOPE_ASSIGN(const std::optional<analysis::ExpertWork> experts,
                   analysis::expertWork(context.source, context.catalog, context.executable));
  const auto known = [&](auto value) { return experts ? Cell(value) : Cell(); };
  const analysis::ExpertWork work = experts.value_or(analysis::ExpertWork());
  section.facts.push_back({"expert_imbalance", "Expert imbalance", known(work.imbalance), Format::ratio,
                           "Tokens of the most loaded rank ÷ mean over the ranks that divide experts."});
  section.facts.push_back({"hottest_expert_rank", "Most loaded rank", known(work.hottest), Format::index,
                           "Number along the axis expert; the first of equal ones."});
  section.facts.push_back({"expert_cycles", "Work of experts", known(work.ticks), Format::ticks,
                           "Products and exchanges of experts on that rank, all stages, per iteration."});
  section.facts.push_back({"expert_excess_cycles", "  beyond an even load", known(work.excess), Format::ticks,
                           "Part of these that an even load would save: cycles · (1 − 1 ÷ imbalance)."});
  section.tables = {executedCollectives(context, uses), tensorTable(rows, true), tensorTable(rows, false)};
  showTimesIn(words.time, section);
  if (experts && work.imbalance > 1.005)
    section.remarks.push_back(
        fmt::format("Rank {} along the axis expert gets {:.3g} times the mean number of tokens. All ranks "
                    "wait for it in every "
                    "layer: an even load would save {} an iteration of the work of experts.",
                    work.hottest, work.imbalance, timeText(work.excess, section.time())));
  if (rows.empty() && uses.empty())
    section.remarks.push_back(
        "Each stage is on one chip and there is one replica, so nothing is divided. "
        "execution.tensor_parallel, "
        "context_parallel and expert_parallel divide a model among the chips of a place.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(sharding) {
  registry.add({"sharding", "Sharding",
                "How ranks divide weights and activations, and which collectives that costs", 35,
                makeSharding});
}

}  // namespace pipescope::sections
