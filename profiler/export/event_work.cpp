#include "profiler/export/event_work.h"

#include <cmath>
#include <tuple>

namespace pipescope::exporting {

void EventWork::Sum::add(const Sum& other, int sign) {
  flops += sign * other.flops;
  bytes += sign * other.bytes;
}

base::Status EventWork::read(const WantedRows& rows) {
  std::map<std::pair<std::int32_t, model::Pass>, Sum> sums;
  PIPESCOPE_TRY(rows.each<model::Operator>([&](const model::Operator& row) {
    if (row.executable != request_.executable) return base::Status();
    const Sum work{row.flops, static_cast<double>(row.bytes.count)};
    facts_.emplace(row.id, Fact{textOf(row.kind), textOf(row.block), row.stage, row.pass, work});
    sums[{row.stage, row.pass}].add(work);
    return base::Status();
  }));
  PIPESCOPE_TRY(rows.each<model::Collective>([&](const model::Collective& row) {
    if (facts_.contains(row.op)) collectives_.emplace(row.op, row);
    return base::Status();
  }));
  for (const model::Segment& segment : request_.catalog.segments) {
    const auto sum = sums.find({segment.stage, segment.pass});
    if (segment.executable != request_.executable || sum == sums.end()) continue;
    Longest& longest = passes_[{segment.device, segment.stage, segment.pass}];
    longest.rest = sum->second;
    if (longest.segment == nullptr || longest.segment->ticks < segment.ticks) longest.segment = &segment;
  }
  return {};
}

void EventWork::addSteps(const model::Segment& segment, const std::vector<model::Step>& steps) {
  const auto pass = passes_.find({segment.device, segment.stage, segment.pass});
  if (pass == passes_.end()) return;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Use& use = useOf(steps[i].program);
    const Fact* fact = find(use.op);
    if (fact == nullptr || fact->stage != segment.stage || fact->pass != segment.pass) continue;
    const int fitness = steps[i].kind != model::StepKind::compute ? 0 : use.copies ? 1 : 2;
    const Place own{fitness, steps[i].ticks, segment.id, i};
    const auto [place, isFirst] = longest_.try_emplace({segment.device, use.op}, own);
    Place& most = place->second;
    if (!isFirst && std::tie(most.fitness, most.ticks) >= std::tie(own.fitness, own.ticks)) continue;
    (isFirst ? pass->second.rest : segments_[most.segment]).add(fact->work, -1);
    segments_[segment.id].add(fact->work);
    most = own;
  }
}

EventWork::Work EventWork::ofPass(const model::Segment& segment) const {
  Sum sum;
  if (const auto own = segments_.find(segment.id); own != segments_.end()) sum = own->second;
  const auto pass = passes_.find({segment.device, segment.stage, segment.pass});
  if (pass != passes_.end() && pass->second.segment->id == segment.id) sum.add(pass->second.rest);
  return workOf(sum);
}

EventWork::StepWork EventWork::ofStep(const model::Segment& segment, std::size_t index,
                                      model::OperatorId op) const {
  const Fact* fact = find(op);
  if (fact == nullptr) return {};
  StepWork step{texts_[fact->kind], texts_[fact->block], {}};
  if (const auto found = collectives_.find(op); found != collectives_.end()) step.collective = &found->second;
  const auto place = longest_.find({segment.device, op});
  if (place != longest_.end() && place->second.segment == segment.id && place->second.index == index)
    step.work = workOf(fact->work);
  return step;
}

const EventWork::Use& EventWork::useOf(model::ProgramId program) {
  const auto [place, isNew] = uses_.try_emplace(program);
  if (isNew && request_.catalog.programs.contains(program)) {
    const model::Program row = request_.catalog.programs[program];
    place->second = {row.op, row.kind.find("Copy") != std::string::npos};
  }
  return place->second;
}

const EventWork::Fact* EventWork::find(model::OperatorId op) const {
  const auto found = facts_.find(op);
  return found == facts_.end() ? nullptr : &found->second;
}

std::size_t EventWork::textOf(const std::string& text) {
  const auto [place, isNew] = known_.try_emplace(text, texts_.size());
  if (isNew) texts_.push_back(text);
  return place->second;
}

EventWork::Work EventWork::workOf(const Sum& sum) {
  const auto whole = [](double value) {
    constexpr double kMost = 9e18;
    return value >= 0 && value < kMost ? static_cast<std::int64_t>(std::llround(value)) : 0;
  };
  return {whole(sum.flops), whole(sum.bytes)};
}

}  // namespace pipescope::exporting
