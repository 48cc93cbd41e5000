#include "app/cli/plan_dimensions_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/plan_model_report.h"
#include "app/cli/plan_trust.h"
#include "app/plan/dimension_axes.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {
namespace {

using app::DimensionPlan;
using app::DimensionProposal;
using sections::Cell;
using sections::Format;
using Json = nlohmann::ordered_json;

/// Proposals that are slower by less are nearly as good: the device model cannot tell them apart.
constexpr double kNearTie = 0.02;

double slowerThanBest(const DimensionPlan& planned, const DimensionProposal& proposal) {
  const double best = planned.proposals.front().split.tried.samplesPerSecond;
  return best > 0 ? 1 - proposal.split.tried.samplesPerSecond / best : 0;
}

bool isNearTie(const DimensionPlan& planned, const DimensionProposal& proposal) {
  const plan::TriedPlan &best = planned.proposals.front().split.tried, &tried = proposal.split.tried;
  return tried.value.missing == best.value.missing && slowerThanBest(planned, proposal) < kNearTie;
}

std::size_t nearTies(const DimensionPlan& planned) {
  return static_cast<std::size_t>(std::ranges::count_if(
      planned.proposals, [&](const DimensionProposal& each) { return isNearTie(planned, each); }));
}

/// Share of draws of the device model's errors in which the plan is faster than the proposal. None: nobody
/// knows the errors, or one of them does not fit.
std::optional<double> aheadOf(const DimensionPlan& planned, const DimensionProposal& proposal) {
  const DimensionProposal& best = planned.proposals.front();
  if (&best == &proposal) return std::nullopt;
  return shareBehind(best.split.tried, best.intervals, proposal.split.tried, proposal.intervals);
}

std::string valueOf(const DimensionProposal& proposal, std::string_view key) {
  for (const auto& [name, value] : proposal.settings)
    if (name == key) return value;
  return "";
}

std::int64_t ranksOf(const DimensionProposal& proposal, std::string_view key) {
  const std::string value = valueOf(proposal, key);
  return value.empty() ? 1 : std::max<std::int64_t>(1, std::atoll(value.c_str()));
}
std::int64_t contextsOf(const DimensionProposal& proposal) {
  return ranksOf(proposal, "execution.context_parallel");
}
std::int64_t expertsOf(const DimensionProposal& proposal) {
  return ranksOf(proposal, "execution.expert_parallel");
}
/// The proposal counts the ranks of a place along all axes.
std::int64_t tensorOf(const DimensionProposal& proposal) {
  return std::max<std::int64_t>(1, proposal.tensor / (contextsOf(proposal) * expertsOf(proposal)));
}

/// "dp 2 × pp 4 × tp 8"
std::string meshText(const DimensionProposal& proposal) {
  std::string text =
      fmt::format("dp {} × pp {} × tp {}", proposal.replicas, proposal.places, tensorOf(proposal));
  if (contextsOf(proposal) > 1) text += fmt::format(" × cp {}", contextsOf(proposal));
  if (expertsOf(proposal) > 1) text += fmt::format(" × ep {}", expertsOf(proposal));
  return text;
}

std::string pairsText(const std::vector<app::PlanSetting>& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value);
  return text;
}

std::string countText(std::size_t count) {
  return base::groupedText(static_cast<std::int64_t>(count));
}

/// Says what became of all combinations.
std::string searchedText(const DimensionPlan& planned) {
  std::string text = fmt::format("{} combinations: {} compiled and emulated", countText(planned.combinations),
                                 countText(planned.proposals.size()));
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", countText(count), what);
  };
  add(planned.excludedByMemory, "excluded by a bound of their memory");
  add(planned.excludedByTime, "excluded by a bound of their time");
  add(planned.refused, "cannot run");
  add(planned.left, "left");
  return text;
}

std::string resultText(const DimensionPlan& planned) {
  if (planned.stopped) return "the best of those that were emulated before the search was stopped";
  if (planned.proven)
    return "proven best of these combinations: the bounds exclude all that was not emulated";
  return "the best of those emulated, which are the most promising ones";
}

/// Further keys that the plan chose: those that have no column.
std::string furtherText(const DimensionProposal& proposal) {
  std::vector<app::PlanSetting> further;
  for (const auto& [key, value] : proposal.settings) {
    static const std::vector<std::string> columns{"execution.tensor_parallel",  "execution.sequence_parallel",
                                                  "execution.context_parallel", "execution.expert_parallel",
                                                  "execution.stages",           "execution.schedule",
                                                  "execution.chunks",           "training.micro_batch_size",
                                                  "inference.micro_batch_size", "execution.zero",
                                                  "execution.recompute"};
    if (std::ranges::find(columns, key) == columns.end()) further.emplace_back(key, value);
  }
  return pairsText(further);
}

std::string scheduleOf(const DimensionProposal& proposal) {
  if (proposal.places == 1) return "";
  const std::string chunks = valueOf(proposal, "execution.chunks");
  return proposal.split.tried.schedule + (chunks.empty() ? "" : " × " + chunks);
}

sections::SectionTable proposalTable(const DimensionPlan& planned) {
  constexpr std::size_t kFewest = 8;
  const std::size_t count =
      std::min(planned.proposals.size(), std::clamp(nearTies(planned), kFewest, app::kShownProposals));
  sections::SectionTable table{
      "proposals", "Proposals", "each was compiled and emulated; the best first", {}, {}};
  table.columns = {{"replicas", "DP", Format::index, ""},
                   {"places", "PP", Format::index, ""},
                   {"tensor", "TP", Format::index, ""},
                   {"sequence", "SP", Format::plain, ""},
                   {"context", "CP", Format::plain, ""},
                   {"experts", "EP", Format::plain, ""},
                   {"zero", "ZeRO", Format::plain, ""},
                   {"recompute", "Recompute", Format::plain, ""},
                   {"micro_batch_size", "Micro-batch", Format::count, ""},
                   {"micro_batches", planned.training ? "Accumulated" : "In a call", Format::count, ""},
                   {"schedule", "Schedule", Format::plain, ""},
                   {"rate", "Samples/s", Format::rate, ""},
                   {"rate_least", "80 % from", Format::rate, "the true rate lies in this interval with 80 %"},
                   {"rate_most", "To", Format::rate, ""},
                   {"slower", "Slower by", Format::fraction, ""},
                   {"ahead", "Behind in", Format::fraction,
                    "share of draws of the device model's errors in which the plan is faster"},
                   {"missing", "Lacks", Format::bytes, ""},
                   {"filled", "Filled", Format::fraction, ""},
                   {"fits_share", "Fits with", Format::fraction, "probability that every device holds it"},
                   {"settings", "Settings", Format::plain, ""}};
  for (std::size_t i = 0; i < count; ++i) {
    const DimensionProposal& each = planned.proposals[i];
    const plan::TriedPlan& tried = each.split.tried;
    double filled = 0;
    for (const plan::TriedStage& stage : tried.stages) {
      if (stage.room > 0)
        filled = std::max(filled, static_cast<double>(stage.used) / static_cast<double>(stage.room));
    }
    const std::string zero = valueOf(each, "execution.zero");
    const RateInterval rates = ratesWithin(tried, each.intervals);
    const auto ranks = [](std::int64_t number) {
      return number > 1 ? std::to_string(number) : std::string();
    };
    table.rows.push_back({each.replicas,
                          each.places,
                          tensorOf(each),
                          std::string(valueOf(each, "execution.sequence_parallel") == "true" ? "yes" : ""),
                          ranks(contextsOf(each)),
                          ranks(expertsOf(each)),
                          zero == "0" ? std::string() : zero,
                          tried.recompute,
                          tried.microBatchSize,
                          tried.microBatches,
                          scheduleOf(each),
                          tried.samplesPerSecond,
                          rates.least ? Cell(*rates.least) : Cell(),
                          rates.most ? Cell(*rates.most) : Cell(),
                          slowerThanBest(planned, each),
                          aheadOf(planned, each).has_value() ? Cell(*aheadOf(planned, each)) : Cell(),
                          tried.value.missing,
                          filled,
                          each.intervals.fitsShare ? Cell(*each.intervals.fitsShare) : Cell(),
                          furtherText(each)});
  }
  sections::hideUnused(table, {"sequence", "context", "experts", "zero", "schedule", "rate_least",
                               "rate_most", "ahead", "missing", "fits_share", "settings"});
  return table;
}

/// Says how sure it is that the plan fits, where that is open, and which proposal is surer.
void addFitRemark(const DimensionPlan& planned, std::vector<std::string>& remarks) {
  constexpr double kSure = 0.9;
  const std::optional<double> share = planned.proposals.front().intervals.fitsShare;
  if (!share || *share >= kSure || planned.proposals.front().split.tried.value.missing > 0) return;
  std::string text = fmt::format(
      "The plan fits with a probability of {:.0f} %, because its memory is modelled.", 100 * *share);
  const auto surer = std::ranges::find_if(planned.proposals, [&](const DimensionProposal& each) {
    return each.split.tried.value.missing == 0 && each.intervals.fitsShare.value_or(0) >= kSure;
  });
  if (surer != planned.proposals.end())
    text += fmt::format(" Proposal {} ({}) fits with {:.0f} % and is {:.0f} % slower.",
                        surer - planned.proposals.begin() + 1, meshText(*surer),
                        100 * *surer->intervals.fitsShare, 100 * slowerThanBest(planned, *surer));
  remarks.push_back(std::move(text));
}

std::vector<std::string> dimensionRemarks(const DimensionPlan& planned) {
  std::vector<std::string> remarks;
  const plan::TriedPlan& best = planned.proposals.front().split.tried;
  if (best.value.missing > 0) {
    remarks.push_back(fmt::format("Nothing that was tried fits: the fullest device of the plan lacks {}. {}",
                                  sections::formatCell(best.value.missing, Format::bytes),
                                  best.overflow.empty() ? "" : best.overflow.front()));
  }
  addFitRemark(planned, remarks);
  if (const std::size_t ties = nearTies(planned); ties > 1) {
    remarks.push_back(
        fmt::format("{} proposals lie within 2 % of each other. The device model cannot tell them apart, so "
                    "take the simplest of them.",
                    ties));
  }
  if (planned.proposals.size() > 1) {
    constexpr double kSure = 0.9;
    const std::optional<double> ahead = aheadOf(planned, planned.proposals[1]);
    if (ahead && *ahead < kSure)
      remarks.push_back(fmt::format(
          "The plan is ahead of the second proposal in {:.0f} % of draws of the device model's "
          "errors, so that "
          "their order is open. Measure a step of either and give it to `pipescope calibrate`, which "
          "narrows the errors of both.",
          100 * *ahead));
  }
  if (!planned.samplesGiven) {
    remarks.push_back(fmt::format(
        "Nobody says how many samples a {} has, so that it is {}: two for each chip{}. --global-batch-size "
        "plans for another number.",
        planned.training ? "weight update" : "call", base::groupedText(planned.samples),
        planned.training ? "" : " and sample of a micro-batch"));
  }
  if (!planned.defaults.empty()) {
    remarks.push_back(
        fmt::format("These settings are not given, and the plan takes what is usual in large training: {}.",
                    pairsText(planned.defaults)));
  }
  if (planned.largerMicroBatches) {
    remarks.push_back(fmt::format(
        "Micro-batches of more than {0} samples are not among the combinations: "
        "--vary {2}micro_batch_size={0},{1} tries {1}, too.",
        app::kLargestMicroBatch, 2 * app::kLargestMicroBatch, planned.training ? "" : "inference."));
  }
  if (planned.left > 0 && !planned.stopped) {
    remarks.push_back(
        fmt::format("{} combinations are expected to be slower or not to fit, but no bound proves it. Fix a "
                    "dimension to look at more of the others.",
                    countText(planned.left)));
  }
  if (planned.proposals.front().intervals.step) remarks.emplace_back(kSharedErrors);
  return remarks;
}

}  // namespace

std::string toText(const DimensionPlan& planned, const std::string& file) {
  const DimensionProposal& best = planned.proposals.front();
  sections::Section section{"plan", fmt::format("Plan of {} over all dimensions", file), {}, {}, {}};
  const auto add = [&](const char* label, const std::string& value) {
    section.facts.push_back({"", label, value, Format::plain, ""});
  };
  add("Plan", meshText(best) + ", " + rateText(best.split.tried));
  addInterval(best.split.tried, best.intervals, section);
  add("Samples", fmt::format("{} of a {}", base::groupedText(planned.samples),
                             planned.training ? "weight update" : "call"));
  add("Searched", searchedText(planned));
  add("Result", resultText(planned));
  if (!planned.fixed.empty()) add("Fixed", pairsText(planned.fixed));
  section.tables.push_back(proposalTable(planned));
  section.tables.push_back(stageTable("plan", "Stages of the plan", best.split.tried));
  section.remarks = dimensionRemarks(planned);
  return sections::toText(section);
}

std::string toJson(const DimensionPlan& planned) {
  const DimensionProposal& best = planned.proposals.front();
  app::ConfigurationPlan plain = app::asConfigurationPlan(best);
  plain.compiled = static_cast<std::int64_t>(planned.proposals.size());
  plain.errorBand = planned.errorBand;
  for (const DimensionProposal& each : planned.proposals) {
    const plan::TriedPlan& tried = each.split.tried;
    plain.variants.push_back(
        {each.settings, static_cast<int>(tried.stages.size()), tried.value, tried.samplesPerSecond, {}});
  }
  Json json = Json::parse(toJson(plain));
  json["exact"] = planned.proven;
  json["remarks"] = dimensionRemarks(planned);
  Json& dimensions = json["dimensions"] = Json::object();
  dimensions["combinations"] = planned.combinations;
  dimensions["emulated"] = planned.proposals.size();
  dimensions["excluded_by_memory"] = planned.excludedByMemory;
  dimensions["excluded_by_time"] = planned.excludedByTime;
  dimensions["refused"] = planned.refused;
  dimensions["left"] = planned.left;
  dimensions["proven_best"] = planned.proven;
  dimensions["samples"] = planned.samples;
  dimensions["fixed"] = Json::object();
  for (const auto& [key, value] : planned.fixed) dimensions["fixed"][key] = value;
  dimensions["near_ties"] = nearTies(planned);
  dimensions["proposals"] = Json::array();
  for (const DimensionProposal& each : planned.proposals) {
    const plan::TriedPlan& tried = each.split.tried;
    Json proposal;
    proposal["replicas"] = each.replicas;
    proposal["places"] = each.places;
    proposal["tensor"] = tensorOf(each);
    proposal["context"] = contextsOf(each);
    proposal["experts"] = expertsOf(each);
    proposal["samples_per_second"] = tried.samplesPerSecond;
    const RateInterval rates = ratesWithin(tried, each.intervals);
    proposal["samples_per_second_least"] = rates.least ? Json(*rates.least) : Json();
    proposal["samples_per_second_most"] = rates.most ? Json(*rates.most) : Json();
    const std::optional<double> ahead = aheadOf(planned, each);
    proposal["behind_share_of_draws"] = ahead ? Json(*ahead) : Json();
    const std::optional<double>& fits = each.intervals.fitsShare;
    proposal["fits_share"] = fits ? Json(*fits) : Json();
    proposal["missing_bytes"] = tried.value.missing;
    proposal["micro_batch_size"] = tried.microBatchSize;
    proposal["micro_batches"] = tried.microBatches;
    proposal["settings"] = Json::object();
    for (const auto& [key, value] : each.settings) proposal["settings"][key] = value;
    dimensions["proposals"].push_back(std::move(proposal));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipescope::cli
