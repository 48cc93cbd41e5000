#include "profiler/import/recognise/recogniser.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "profiler/import/recognise/backward_kernels.h"
#include "profiler/import/recognise/infer_events.h"
#include "profiler/import/recognise/launched_work.h"
#include "profiler/import/recognise/progress_part.h"
#include "profiler/import/recognise/slice_lanes.h"

namespace pipescope::importing {
namespace {

/// The ranks of the process groups that a trace of PyTorch's profiler states, by the names of the groups.
std::map<std::string, std::vector<std::int64_t>> groupsOf(const TraceData& trace) {
  std::map<std::string, std::vector<std::int64_t>> groups;
  const auto stated = trace.tables.members.find("distributedInfo");
  if (stated == trace.tables.members.end()) return groups;
  const auto json = nlohmann::json::parse(stated->second, nullptr, false);
  if (!json.is_object() || !json.contains("pg_config") || !json["pg_config"].is_array()) return groups;
  for (const auto& group : json["pg_config"]) {
    if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
    if (!group.contains("ranks") || !group["ranks"].is_array()) continue;
    std::vector<std::int64_t> ranks;
    for (const auto& rank : group["ranks"])
      ranks.push_back(rank.is_number_integer() ? rank.get<std::int64_t>() : -1);
    if (!ranks.empty()) groups[group["pg_name"].get<std::string>()] = std::move(ranks);
  }
  return groups;
}

/// Bytes of a number of one of PyTorch's types; 0: the type is not known.
std::int64_t bytesOfElement(std::string_view type) {
  constexpr std::pair<std::string_view, std::int64_t> kTypes[] = {
      {"Byte", 1},          {"Char", 1},        {"Bool", 1},         {"Half", 2},          {"BFloat16", 2},
      {"Short", 2},         {"Float", 4},       {"Int", 4},          {"Double", 8},        {"Long", 8},
      {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"ComplexFloat", 8}, {"ComplexDouble", 16}};
  const auto found = std::ranges::find(kTypes, type, &std::pair<std::string_view, std::int64_t>::first);
  return found == std::end(kTypes) ? 0 : found->second;
}

/// True if the event is a pass of a stage, or a weight update.
bool isPass(const Meaning& meaning) {
  if (!meaning.pass || meaning.sends) return false;
  const bool ofMicroBatch = meaning.microBatch || meaning.countsMicroBatch;
  return meaning.stage || *meaning.pass == model::Pass::update ||
         (ofMicroBatch && model::isComputePass(*meaning.pass));
}

}  // namespace

RecordedPass PassFilter::row(const Meaning& meaning, const TraceEvent& event, model::DeviceId device,
                             model::LaneId lane, base::Ticks from, base::Ticks to) const {
  RecordedPass pass;
  setMeaning(meaning, pass);
  pass.device = device;
  pass.lane = lane;
  pass.start = from;
  pass.end = to;
  pass.rank = trace_.mergedRankOf(event.process).value_or(rank_);
  if (trace_.isAccelerator(event.process)) pass.queue = event.thread.value;
  // The name of a message tells calls on a host from transfers.
  if (!meaning.sends || pass.queue < 0) pass.name = trace_.tables.names.text(event.name);
  pass.bytes = bytesOf(event);
  if (meaning.sends) pass.peer = peerOf(event, *meaning.sends ? Argument::destination : Argument::source);
  return pass;
}

/// The size that a message states, or that follows from its elements.
base::Bytes PassFilter::bytesOf(const TraceEvent& event) const {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
  if (const std::int64_t stated = event.numberOf(Argument::bytes); stated >= 0) return base::Bytes(stated);
  const std::int64_t elements = event.numberOf(Argument::elements);
  const ArgumentValue* type = event.find(Argument::elementType);
  if (elements < 0 || elements > kMostElements || type == nullptr || !type->text) return {};
  return base::Bytes(elements * bytesOfElement(trace_.tables.names.text(NameId(type->value))));
}

std::optional<model::StepKind> PassFilter::kindOf(const Meaning& meaning, const TraceEvent& event) const {
  if (meaning.kind || !trace_.isAccelerator(event.process)) return meaning.kind;
  return event.find(Argument::collective) == nullptr ? std::nullopt
                                                     : std::optional(model::StepKind::globalExchange);
}

std::vector<PassFilter::Row> PassFilter::rowsOf(const Meaning& meaning, RecordedPass first) const {
  std::vector<Row> rows;
  rows.push_back({std::move(first), meaning.sends.value_or(false)});
  for (const Meaning& further : meaning.also) {
    if (meaning.sends ? !further.sends : !isPass(further)) continue;
    RecordedPass row = rows.front().row;
    setMeaning(further, row);
    row.peer = -1;
    if (!meaning.sends) row.part = static_cast<std::int32_t>(rows.size());
    rows.push_back({std::move(row), further.sends.value_or(false)});
  }
  if (!meaning.sends)
    for (Row& row : rows) row.row.parts = static_cast<std::int32_t>(rows.size());
  return rows;
}

/// Traces state the other side of a message by its number within the process group.
std::int64_t PassFilter::peerOf(const TraceEvent& event, Argument side) const {
  const ArgumentValue *peer = event.find(side), *group = event.find(Argument::processGroup);
  if (peer == nullptr || peer->text) return -1;
  const auto ranks = group == nullptr
                         ? groups_.end()
                         : groups_.find(group->text ? trace_.tables.names.text(NameId(group->value))
                                                    : std::to_string(group->value));
  if (ranks == groups_.end()) return peer->value;
  const bool within = peer->value >= 0 && peer->value < static_cast<std::int64_t>(ranks->second.size());
  return within ? ranks->second[static_cast<std::size_t>(peer->value)] : -1;
}

/// The name of a group may be another one's on other ranks, so that the first of its ranks belongs to it
/// where the trace states that.
std::string PassFilter::processGroupOf(const TraceEvent& event) const {
  const ArgumentValue* group = event.find(Argument::processGroup);
  if (group == nullptr) return {};
  std::string name =
      group->text ? trace_.tables.names.text(NameId(group->value)) : std::to_string(group->value);
  const auto ranks = groups_.find(name);
  if (ranks != groups_.end()) name += fmt::format(" of rank {}", std::ranges::min(ranks->second));
  return name;
}

std::string PassFilter::kernelGroupOf(const Meaning& meaning, const TraceEvent& event) const {
  if (meaning.sends || !trace_.isAccelerator(event.process) ||
      event.find(Argument::processGroup) == nullptr ||
      kindOf(meaning, event) != model::StepKind::globalExchange)
    return {};
  const ArgumentValue* operation = event.find(Argument::collective);
  const NameId name = operation != nullptr && operation->text ? NameId(operation->value) : event.name;
  return processGroupOf(event) + ", " + trace_.tables.names.text(name);
}

void PassFilter::setMeaning(const Meaning& meaning, RecordedPass& pass) {
  pass.pass = meaning.pass.value_or(model::Pass::forward);
  pass.statesPass = meaning.pass.has_value();
  pass.stage = meaning.stage.value_or(-1);
  pass.microBatch = meaning.microBatch.value_or(-1);
  pass.chunk = meaning.chunk.value_or(-1);
  pass.countsMicroBatch = meaning.countsMicroBatch && !meaning.sends;
  pass.step = meaning.step;
  pass.replica = meaning.replica;
  pass.rankOfPlace = meaning.rankOfPlace;
  pass.group = meaning.group;
  pass.statesPosting = !meaning.marksTransfer;
}

std::int64_t EngineWork::leaveOutHosts(std::vector<RecordedPass>& passes) const {
  if (devices_.empty()) return 0;
  const auto launches = [&](const RecordedPass& pass) {
    return model::isComputePass(pass.pass) && !devices_.contains(pass.device);
  };
  return static_cast<std::int64_t>(std::erase_if(passes, launches));
}

PassFilter::PassFilter(const TraceData& trace)
    : trace_(trace),
      rank_(trace.rank().value_or(-1)),
      groups_(groupsOf(trace)),
      accelerated_(trace.holdsAccelerators()) {}

bool PassFilter::launches(const TraceEvent& event) {
  if (!accelerated_ || trace_.isOnAccelerator(event)) return false;
  // The accelerator's own slice of the same name tells when the work ran. Without one, the kernels that were
  // launched within the event tell it (LaunchedWork), if the trace relates them.
  if (trace_.runsOnAccelerator(event.name)) return true;
  if (trace_.statesCorrelations()) return false;
  ++launchesOnly_;
  return true;
}

bool PassFilter::takes(const Meaning& meaning, const TraceEvent& event, std::int64_t end) {
  if (!isPass(meaning) || launches(event)) return false;
  if (*meaning.pass != model::Pass::collective && trace_.onlyCommunicates(event.thread)) return false;
  // Events within a pass may match as well, such as the optimizer's own name within an update.
  const auto [last, isNew] = passEnd_.try_emplace(event.thread, end);
  if (!isNew && end <= last->second) return false;
  last->second = end;
  return true;
}

bool PassFilter::takesMessage(const Meaning& meaning, const TraceEvent& event) const {
  return meaning.sends && (!accelerated_ || trace_.isAccelerator(event.process));
}

Recogniser::Recogniser(const TraceData& trace, const Rules& rules)
    : trace_(trace),
      matcher_(rules, trace.tables),
      devices_(trace),
      filter_(trace),
      backward_(trace),
      launched_(trace) {}

Recogniser::Taken Recogniser::take(const TraceEvent& event, const Slice& slice, const Meaning& meaning,
                                   const Where& where) {
  ++slice_;
  if (!finished_) {
    const Taken taken = recognise(event, slice, meaning, where);
    if (taken.isPass) taken_.push_back({slice_, taken.isShownAs});
    return taken;
  }
  if (next_ == taken_.size() || taken_[next_].slice != slice_) return {};
  return {true, taken_[next_++].isShownAs};
}

Recogniser::Taken Recogniser::recognise(const TraceEvent& event, const Slice& slice, const Meaning& meaning,
                                        const Where& where) {
  const base::Ticks start(slice.start), end(slice.end);
  engines_.add(meaning, where.device);
  if (meaning.marksStep && meaning.step) steps_.push_back({where.device, start, end, *meaning.step});
  if (filter_.accelerated()) {
    // Kernels of backward passes are of use only as long as no pass is recognised.
    if (!events_.recognised()) backward_.add(event, meaning, {where.device, start, end});
    launched_.add(event, kindOf(meaning, event) == model::StepKind::globalExchange,
                  {where.device, where.lane, start, end});
  } else if (meaning.marksBackward) {
    events_.addBackwardOperator({where.device, start, end});
  }
  const bool pass = filter_.takes(meaning, event, slice.end), message = filter_.takesMessage(meaning, event);
  // Only a collective that several ranks take part in relates their clocks. Work of a host beside an
  // accelerator launches the accelerator's.
  const bool collective =
      keepsCollectives_ && !pass && !message && kindOf(meaning, event) == model::StepKind::globalExchange &&
      !meaning.sends &&
      (trace_.isAccelerator(event.process) || !meaning.group.empty() || !filter_.accelerated());
  if (!pass && !message && !collective) return {};
  RecordedPass first = filter_.row(meaning, event, where.device, where.lane, start, end);
  if (pass) {
    first.slice = slice_;
    takeAsPass(event, meaning, std::move(first));
    return {true, !launched_.holds(event)};
  }
  for (auto& [row, sends] : filter_.rowsOf(meaning, std::move(first))) {
    if (message) {
      events_.addMessage(std::move(row), sends);
    } else {
      row.pass = model::Pass::collective;
      row.processGroup = filter_.processGroupOf(event);
      addCollective(std::move(row));
    }
  }
  return {};
}

void Recogniser::takeAsPass(const TraceEvent& event, const Meaning& meaning, RecordedPass first) {
  const bool collective = *meaning.pass == model::Pass::collective;
  first.kind = meaning.kind.value_or(collective ? model::StepKind::globalExchange : model::StepKind::compute);
  const bool held = launched_.holds(event);
  for (auto& [row, sends] : filter_.rowsOf(meaning, std::move(first)))
    held ? launched_.hold(std::move(row), event) : addPass(std::move(row));
}

void Recogniser::addPass(RecordedPass pass) {
  if (keepsCollectives_ && pass.pass == model::Pass::collective) addCollective(pass);
  events_.addPass(std::move(pass));
}

/// A thread's collectives come in the order of time, whatever encloses them.
void Recogniser::addCollective(RecordedPass collective) {
  collective.lane = model::LaneId(devices_.lane(collective.lane).thread.value);
  someCollectives_.add(std::move(collective));
}

void Recogniser::finish() {
  slice_ = -1;
  next_ = 0;
  if (finished_) return;
  finished_ = true;
  shareSteps(devices_.acceleratorDevices(), steps_);
  launchesOnly_ = engines_.leaveOutHosts(events_.passes);
  for (RecordedPass& pass : launched_.take(steps_)) addPass(std::move(pass));
  launchesOnly_ += filter_.launchesOnly() + launched_.unrelated();
  events_.steps = std::move(steps_);
  for (const RecordedStretch& stretch : backward_.take()) events_.addBackwardOperator(stretch);
  collectives_ = someCollectives_.take();
}

base::Status recognise(TraceData& trace, const Rules& rules, Recogniser& recogniser,
                       base::Progress& progress) {
  recogniser.keepCollectives();
  Findings unused;  // The visit that writes the rows finds the same.
  std::int64_t done = 0;
  const auto take = [&](const Slice& slice, const TraceEvent& event) -> base::Status {
    PIPESCOPE_TRY(goesOn(progress, done++, trace.events.size(), "recognising passes of", trace.name));
    const Meaning& meaning = recogniser.meaningOf(event, slice);
    if (!meaning.marksSummary)
      recogniser.take(event, slice, meaning, recogniser.whereIs(event, slice, meaning));
    return {};
  };
  PIPESCOPE_TRY(visitSlices(
      trace, unused, take, [](const TraceEvent&) {}, {}, rules.usesAnnotations()));
  recogniser.finish();
  return {};
}

}  // namespace pipescope::importing
