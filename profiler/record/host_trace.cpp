#include "profiler/record/host_trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pipescope::record {
namespace {

using Clock = std::chrono::steady_clock;
using detail::HostEntries;
using detail::HostEntry;
using detail::HostLogLabel;
using detail::HostValue;

/// Limits of a profile. The first is some hours of the largest samples, and takes some tens of megabytes.
constexpr std::int64_t kMostEntries = 4'000'000;
constexpr std::size_t kMostThreads = 1000;

std::int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// Writes numbers and texts one after the other.
class Packer {
 public:
  template <class Number>
  void number(Number value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void text(const std::string& text) {
    number(static_cast<std::uint32_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  void label(const HostLogLabel& label) {
    text(label.group);
    text(label.name);
    text(label.unit);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads them again. After the end, or after a wrong number, everything is 0.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class Number>
  Number number() {
    Number value{};
    if (!takes(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint32_t>();
    if (!takes(length)) return {};
    std::string text(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
    return text;
  }
  HostLogLabel label() {
    HostLogLabel label;
    label.group = text();
    label.name = text();
    label.unit = text();
    return label;
  }
  /// A count of things of which each takes at least `least` bytes.
  std::size_t count(std::size_t least) {
    const auto count = number<std::uint64_t>();
    if (count > rest_.size() / least) ok_ = false;
    return ok_ ? static_cast<std::size_t>(count) : 0;
  }
  std::size_t index(std::size_t size) {
    const auto index = number<std::uint32_t>();
    if (index >= size) ok_ = false;
    return ok_ ? index : 0;
  }
  bool ok() const { return ok_; }
  bool isAtEnd() const { return rest_.empty(); }

 private:
  bool takes(std::size_t bytes) {
    if (bytes > rest_.size()) ok_ = false;
    return ok_;
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

constexpr std::size_t kPackedEntry = 20, kPackedLabel = 12;

}  // namespace

HostTrace::HostTrace() {
  detail::HostLog& log = detail::hostLog();
  const std::lock_guard lock(log.mutex);
  distribute();  // Earlier measurements go to the other traces only.
  log.traces.push_back(this);
  ++detail::hostListeners;
}

HostTrace::~HostTrace() {
  detail::HostLog& log = detail::hostLog();
  const std::lock_guard lock(log.mutex);
  --detail::hostListeners;
  std::erase(log.traces, this);
}

/// Empties the logs of all threads into the inboxes of all traces. The caller has locked the list.
void HostTrace::distribute() {
  detail::HostLog& log = detail::hostLog();
  std::erase_if(log.threads, [&](const std::shared_ptr<detail::HostThreadLog>& thread) {
    HostEntries entries;
    std::string name;
    bool ended = false;
    {
      const std::lock_guard lock(thread->mutex);
      std::swap(entries, thread->entries);
      name = thread->name;
      ended = thread->ended;
    }
    if (!entries.spans.empty() || !entries.values.empty() || entries.dropped > 0) {
      for (HostTrace* trace : log.traces) trace->receive(thread, name, entries);
    }
    return ended;
  });
}

void HostTrace::receive(const std::shared_ptr<detail::HostThreadLog>& thread, const std::string& name,
                        const HostEntries& entries) {
  dropped_ += entries.dropped;
  const auto known = places_.find(thread);
  const auto added = static_cast<std::int64_t>(entries.spans.size() + entries.values.size());
  if (kept_ + added > kMostEntries || (known == places_.end() && inboxes_.size() == kMostThreads)) {
    dropped_ += added;
    return;
  }
  kept_ += added;
  const std::size_t place =
      known == places_.end() ? places_.emplace(thread, inboxes_.size()).first->second : known->second;
  if (place == inboxes_.size()) inboxes_.emplace_back();
  Inbox& inbox = inboxes_[place];
  inbox.name = name;
  inbox.entries.spans.insert(inbox.entries.spans.end(), entries.spans.begin(), entries.spans.end());
  inbox.entries.values.insert(inbox.entries.values.end(), entries.values.begin(), entries.values.end());
}

/// The inboxes of all threads, which are empty afterwards.
std::vector<HostTrace::Inbox> HostTrace::takeInboxes() {
  const std::lock_guard lock(detail::hostLog().mutex);
  distribute();
  std::vector<Inbox> taken(inboxes_.size());
  for (std::size_t i = 0; i < inboxes_.size(); ++i) {
    taken[i].name = inboxes_[i].name;
    std::swap(taken[i].entries, inboxes_[i].entries);
  }
  return taken;
}

model::HostNameId HostTrace::nameOf(Recorder& recorder, const HostLogLabel& label) {
  const auto [place, isNew] = names_.try_emplace(label);
  if (isNew) place->second = recorder.add(model::HostName{{}, label.group, label.name});
  return place->second;
}

model::HostSeriesId HostTrace::seriesOf(Recorder& recorder, const HostLogLabel& label) {
  const auto [place, isNew] = series_.try_emplace(label);
  if (isNew) place->second = recorder.add(model::HostSeries{{}, label.group, label.name, label.unit});
  return place->second;
}

void HostTrace::record(Recorder& recorder, Clock::time_point zero) {
  last_ = Clock::now();
  const std::int64_t from = nanoseconds(zero);
  const std::vector<Inbox> inboxes = takeInboxes();
  threads_.resize(inboxes.size());
  for (std::size_t i = 0; i < inboxes.size(); ++i) {
    if (!threads_[i].valid()) threads_[i] = recorder.add(model::HostThread{{}, "", inboxes[i].name});
    for (const HostEntry& entry : inboxes[i].entries.spans) {
      const auto name = static_cast<std::size_t>(entry.name);
      if (nameRows_.size() <= name) nameRows_.resize(name + 1);
      if (!nameRows_[name].valid())
        nameRows_[name] = nameOf(recorder, detail::hostLog().names.at(entry.name));
      recorder.add(model::HostSpan{threads_[i], nameRows_[name], base::Ticks(entry.start - from),
                                   base::Ticks(entry.end - from)});
    }
    for (const HostValue& value : inboxes[i].entries.values) {
      const auto series = static_cast<std::size_t>(value.series);
      if (seriesRows_.size() <= series) seriesRows_.resize(series + 1);
      if (!seriesRows_[series].valid())
        seriesRows_[series] = seriesOf(recorder, detail::hostLog().series.at(value.series));
      recorder.add(model::HostSample{seriesRows_[series], base::Ticks(value.time - from), value.value});
    }
  }
}

void HostTrace::recordIfDue(Recorder& recorder, Clock::time_point zero) {
  constexpr auto kInterval = std::chrono::milliseconds(50);
  if (Clock::now() - last_ >= kInterval) record(recorder, zero);
}

void HostTrace::recordLimits(Recorder& recorder) const {
  if (dropped_ == 0) return;
  recorder.add(model::Diagnostic{model::Severity::warning,
                                 "host_timeline_cut",
                                 "The timeline of the host is not complete: a profile keeps " +
                                     std::to_string(kMostEntries) + " spans and values of " +
                                     std::to_string(kMostThreads) + " threads, and " +
                                     std::to_string(dropped_) + " more were measured.",
                                 {},
                                 {}});
}

std::vector<std::byte> HostTrace::pack(Clock::time_point zero) {
  const std::int64_t from = nanoseconds(zero);
  const std::vector<Inbox> inboxes = takeInboxes();
  std::map<std::int32_t, std::uint32_t> names, series;
  for (const Inbox& inbox : inboxes) {
    for (const HostEntry& entry : inbox.entries.spans) names.try_emplace(entry.name);
    for (const HostValue& value : inbox.entries.values) series.try_emplace(value.series);
  }
  Packer packer;
  packer.number(dropped_);
  const auto addLabels = [&](std::map<std::int32_t, std::uint32_t>& used, const detail::HostLabels& labels) {
    packer.number(static_cast<std::uint64_t>(used.size()));
    std::uint32_t next = 0;
    for (auto& [index, place] : used) {
      packer.label(labels.at(index));
      place = next++;
    }
  };
  addLabels(names, detail::hostLog().names);
  addLabels(series, detail::hostLog().series);
  packer.number(static_cast<std::uint64_t>(inboxes.size()));
  for (const Inbox& inbox : inboxes) {
    packer.text(inbox.name);
    packer.number(static_cast<std::uint64_t>(inbox.entries.spans.size()));
    for (const HostEntry& entry : inbox.entries.spans) {
      packer.number(names[entry.name]);
      packer.number(entry.start - from);
      packer.number(entry.end - from);
    }
    packer.number(static_cast<std::uint64_t>(inbox.entries.values.size()));
    for (const HostValue& value : inbox.entries.values) {
      packer.number(series[value.series]);
      packer.number(value.time - from);
      packer.number(value.value);
    }
  }
  return packer.take();
}

base::Status HostTrace::recordPacked(Recorder& recorder, std::span<const std::byte> bytes,
                                     const std::string& process, std::chrono::nanoseconds shift) {
  Unpacker unpacker(bytes);
  dropped_ += unpacker.number<std::int64_t>();
  std::vector<HostLogLabel> names(unpacker.count(kPackedLabel));
  for (HostLogLabel& label : names) label = unpacker.label();
  std::vector<HostLogLabel> series(unpacker.count(kPackedLabel));
  for (HostLogLabel& label : series) label = unpacker.label();
  std::vector<model::HostNameId> nameRows(names.size());
  std::vector<model::HostSeriesId> seriesRows(series.size());
  const auto time = [&] { return base::Ticks(unpacker.number<std::int64_t>() + shift.count()); };
  const std::size_t threads = unpacker.count(kPackedLabel);
  for (std::size_t i = 0; i < threads && unpacker.ok(); ++i) {
    const std::string name = unpacker.text();
    const model::HostThreadId thread = recorder.add(model::HostThread{{}, process, name});
    for (std::size_t left = unpacker.count(kPackedEntry); left > 0; --left) {
      const std::size_t at = unpacker.index(names.size());
      const base::Ticks start = time(), end = time();
      if (!unpacker.ok()) break;
      if (!nameRows[at].valid()) nameRows[at] = nameOf(recorder, names[at]);
      recorder.add(model::HostSpan{thread, nameRows[at], start, end});
    }
    for (std::size_t left = unpacker.count(kPackedEntry); left > 0; --left) {
      const std::size_t at = unpacker.index(series.size());
      const base::Ticks when = time();
      const auto value = unpacker.number<double>();
      if (!unpacker.ok()) break;
      if (!seriesRows[at].valid()) seriesRows[at] = seriesOf(recorder, series[at]);
      recorder.add(model::HostSample{seriesRows[at], when, value});
    }
  }
  if (unpacker.ok() && unpacker.isAtEnd()) return {};
  return base::internalError("The host timeline of " + process + " cannot be read.");
}

}  // namespace pipescope::record
