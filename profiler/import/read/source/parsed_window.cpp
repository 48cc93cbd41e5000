#include "profiler/import/read/source/parsed_window.h"

#include <algorithm>
#include <cstring>

namespace pipescope::importing {
namespace {

constexpr std::size_t kFirstSlots = 1024;

/// FNV-1a over eight bytes at a time, which is quicker than the standard library's hash for short texts.
std::uint64_t hashOf(std::string_view text) {
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = text.size() * kPrime;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29U;
  };
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    mix(word);
    text.remove_prefix(sizeof word);
  }
  std::uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  mix(rest);
  return hash;
}

template <class Id>
std::int32_t indexOf(Id id) {
  return static_cast<std::int32_t>(id.value);
}

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::int32_t WindowTexts::add(std::string_view text, bool copy) {
  if (texts_.size() * 2 >= slots_.size()) grow();
  const std::uint64_t hash = hashOf(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const std::int32_t id = slots_[slot];
    if (id < 0) {
      slots_[slot] = static_cast<std::int32_t>(texts_.size());
      texts_.push_back(copy ? std::string_view(kept_.emplace_back(text)) : text);
      hashes_.push_back(hash);
      return slots_[slot];
    }
    if (hashes_[at(id)] == hash && texts_[at(id)] == text) return id;
  }
}

void WindowTexts::grow() {
  slots_.assign(std::max(kFirstSlots, slots_.size() * 2), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::int32_t>(i);
  }
}

void WindowTexts::keepCopies() {
  if (copies_) return;
  copies_ = true;
  for (std::string_view& text : texts_) text = kept_.emplace_back(text);
}

void WindowTexts::clear() {
  copies_ = false;
  kept_.clear();
  texts_.clear();
  hashes_.clear();
  std::fill(slots_.begin(), slots_.end(), -1);
}

ProcessId ParsedWindow::process(std::string_view key) {
  const std::int32_t text = keys_.add(key);
  if (processOfKey_.size() <= at(text)) processOfKey_.resize(at(text) + 1, -1);
  std::int32_t& process = processOfKey_[at(text)];
  if (process < 0) {
    process = static_cast<std::int32_t>(processes_.size());
    processes_.push_back(text);
  }
  return ProcessId(process);
}

ThreadId ParsedWindow::thread(ProcessId process, std::string_view key) {
  const std::int32_t text = keys_.add(key);
  if (threadOfKey_.size() <= at(text)) threadOfKey_.resize(at(text) + 1, -1);
  std::int32_t& last = threadOfKey_[at(text)];
  if (last >= 0 && threads_[at(last)].process == indexOf(process)) return ThreadId(last);
  const std::uint64_t pair =
      static_cast<std::uint64_t>(process.value) << 32U | static_cast<std::uint64_t>(text);
  const auto [place, isNew] = threadIds_.try_emplace(pair, static_cast<std::int32_t>(threads_.size()));
  if (isNew) threads_.push_back({indexOf(process), text});
  last = place->second;
  return ThreadId(last);
}

ThreadId ParsedWindow::asynchronousThread(ProcessId process, std::string_view category) {
  const std::string key = "asynchronous " + std::string(category);
  const ThreadId id = thread(process, keys_.text(keys_.addCopy(key)));
  threads_[at(indexOf(id))].asynchronous = true;
  return id;
}

void ParsedWindow::add(const TraceEvent& event) {
  events_.push_back(packed(event));
  const std::span<const ArgumentValue> own = argumentsOf(event);
  arguments_.insert(arguments_.end(), own.begin(), own.end());
}

void ParsedWindow::describe(About about, ProcessId process, ThreadId thread, std::string_view text,
                            std::int64_t number) {
  descriptions_.push_back({about, process, thread, std::string(text), number});
}

void ParsedWindow::keepCopies() {
  texts_.keepCopies();
  keys_.keepCopies();
}

base::Status ParsedWindow::mergeInto(TraceData& trace) {
  TraceTables& tables = trace.tables;
  std::vector<NameId> names;
  std::vector<ProcessId> processes;
  std::vector<ThreadId> threads;
  for (std::size_t i = 0; i < texts_.size(); ++i)
    names.push_back(tables.names.add(texts_.text(static_cast<std::int32_t>(i))));
  for (const std::int32_t key : processes_) processes.push_back(tables.process(keys_.text(key)));
  for (const Thread& own : threads_) {
    threads.push_back(tables.thread(processes[at(own.process)], keys_.text(own.key)));
    TraceThread& thread = tables.threads[threads.back()];
    if (own.asynchronous && thread.name.empty()) thread.name = thread.key;
  }
  for (const Description& own : descriptions_) {
    TraceProcess& process = tables.processes[processes[at(indexOf(own.process))]];
    TraceThread& thread = tables.threads[threads[at(indexOf(own.thread))]];
    if (own.about == About::processName) process.name = own.text;
    if (own.about == About::processLabels) process.labels = own.text;
    if (own.about == About::processOrder) process.sortIndex = own.number;
    if (own.about == About::threadName) thread.name = own.text;
    if (own.about == About::threadOrder) thread.sortIndex = own.number;
  }
  for (const NameId own : byteCounters_) tables.counterUnits.emplace(names[at(indexOf(own))], "B");
  for (const auto& [what, count] : findings.counts()) tables.findings.add(what, count);
  if (!tables.origin) tables.origin = origin;
  std::span<ArgumentValue> arguments(arguments_);
  for (PackedEvent& event : events_) {
    event.process = indexOf(processes[at(event.process)]);
    event.thread = indexOf(threads[at(event.thread)]);
    event.name = indexOf(names[at(event.name)]);
    event.category = indexOf(names[at(event.category)]);
    if (event.id < -1) event.id = identityOfText(names[static_cast<std::size_t>(-2 - event.id)]);
    const std::span<ArgumentValue> own = arguments.first(event.argumentCount);
    arguments = arguments.subspan(event.argumentCount);
    for (ArgumentValue& argument : own)
      if (argument.text) argument.value = names[static_cast<std::size_t>(argument.value)].value;
    PIPESCOPE_TRY(trace.add(event, own));
  }
  clear();
  return {};
}

void ParsedWindow::clear() {
  byteCounters_.clear();
  texts_.clear();
  keys_.clear();
  processes_.clear();
  threads_.clear();
  processOfKey_.clear();
  threadOfKey_.clear();
  threadIds_.clear();
  events_.clear();
  arguments_.clear();
  descriptions_.clear();
  origin.reset();
  findings = {};
}

}  // namespace pipescope::importing
