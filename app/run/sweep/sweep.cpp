#include "app/run/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/run/sweep/processes.h"
#include "app/run/sweep/shared_work.h"
#include "profiler/base/machine.h"
#include "profiler/base/version.h"
#include "profiler/store/writer_lock.h"

namespace pipescope::app {
namespace {

using Clock = std::chrono::steady_clock;

/// FNV-1a with 64 bits (Fowler, Noll, Vo), twice with different starts.
class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      for (std::uint64_t& state : states_) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    for (std::uint64_t& state : states_) state = (state ^ 0x1FFU) * 0x100000001b3ULL;  // ends a text
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", states_[0], states_[1]); }

 private:
  std::uint64_t states_[2] = {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
};

void addFile(const std::string& path, TextHash& hash) {
  std::ifstream stream(path, std::ios::binary);
  std::string block(1 << 20, '\0');
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add(std::string_view(block).substr(0, static_cast<std::size_t>(stream.gcount())));
  }
}

namespace fs = std::filesystem;

/// The file of a combination's profile: its values, and a part of its hash, which tells it from those of
/// other configurations.
fs::path profileOf(const SweepRequest& request, const SweepRow& row) {
  constexpr std::size_t kMostCharacters = 80, kHashCharacters = 8;
  std::string name;
  for (std::size_t i = 0; i < request.keys.size(); ++i)
    name += fmt::format("{}{}={}", i == 0 ? "" : ",", config::lastPart(request.keys[i].key), row.values[i]);
  for (char& c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("=,._-+", c) != nullptr;
    if (!plain) c = '_';
  }
  name.resize(std::min(name.size(), kMostCharacters));
  return fs::path(request.profiles) / fmt::format("{}-{}.pop", name, row.hash.substr(0, kHashCharacters));
}

/// The same as the table names it: from the folder of the table, so that both may be moved together.
std::string namedInTable(const SweepRequest& request, const fs::path& profile) {
  const fs::path file = fs::absolute(profile);
  if (request.output.empty()) return file.lexically_normal().string();
  return file.lexically_normal()
      .lexically_proximate(fs::absolute(request.output).lexically_normal().parent_path())
      .string();
}

base::Status makeFolder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed && fs::is_directory(folder)) return {};
  return base::badInput(fmt::format("Cannot make the folder {} for profiles: {}. Choose another one.", folder,
                                    failed ? failed.message() : "a file has this name"));
}

/// Returns the answer of a child: the figures of a combination, or why it has none.
std::string answerOf(const config::Configuration& configuration, const SweepRequest& request,
                     const SweepRow& asked, plan::SharedStages& known) {
  SweepRow row;
  VariantOptions variant = request.variant;
  if (!request.profiles.empty()) {
    variant.profile = profileOf(request, asked).string();
    if (!request.output.empty()) variant.table = fs::absolute(request.output).lexically_normal().string();
  }
  base::SerialExecutor executor;
  const base::Result<config::Configuration> changed =
      applyCombination(configuration, request.keys, asked.values);
  const base::Result<VariantFigures> figures = base::guarded([&]() -> base::Result<VariantFigures> {
    if (!changed.ok()) return changed.error();
    return emulateVariant(*changed, variant, known, executor);
  });
  if (figures.ok()) row.figures = *figures;
  if (figures.ok() && !variant.profile.empty()) row.profile = namedInTable(request, variant.profile);
  if (!figures.ok())
    (base::isAnswer(figures.error().kind) ? row.error : row.trouble) = figures.error().message;
  return rowToJson(row);
}

/// Fills in the answers, writes the table now and then, and reports.
class SweepWork {
 public:
  SweepWork(const SweepRequest& request, SweepTable& table, std::int64_t done, base::Progress& progress)
      : request_(request), table_(table), done_(done), progress_(progress) {}

  base::Status take(std::int64_t index, const base::Result<std::string>& answer) {
    SweepRow& row = table_.rows[static_cast<std::size_t>(index)];
    if (!answer.ok() || !rowFromJson(*answer, row))
      row.trouble = answer.ok() ? "The process of this combination gave no figures." : answer.error().message;
    ++done_;
    const auto count = static_cast<double>(table_.rows.size());
    progress_.report(static_cast<double>(done_) / count,
                     fmt::format("combination {} of {}", done_, table_.rows.size()));
    if (Clock::now() - written_ < std::chrono::seconds(1)) return {};
    return write();
  }

  base::Status write() {
    if (request_.output.empty()) return {};
    PIPESCOPE_TRY(writeTable(table_, request_.output, request_.rules));
    written_ = Clock::now();
    return {};
  }

 private:
  const SweepRequest& request_;
  SweepTable& table_;
  std::int64_t done_;
  base::Progress& progress_;
  Clock::time_point written_ = Clock::now();
};

/// The combinations that are not done. Instances take the first one's answer, which may have an older table.
std::vector<std::int64_t> tasksOf(const SweepTable& table, const numerics::Instances* instances) {
  std::vector<std::byte> done;
  for (const SweepRow& row : table.rows) done.push_back(static_cast<std::byte>(row.done ? 1 : 0));
  if (instances != nullptr) instances->broadcast(done);
  std::vector<std::int64_t> left;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i] == std::byte{0}) left.push_back(static_cast<std::int64_t>(i));
  }
  return left;
}

}  // namespace

std::string variantHash(const config::Configuration& configuration, const VariantOptions& options) {
  TextHash hash;
  hash.add(base::version());
  hash.add(options.compileOnly ? "compile" : "emulate");
  for (const config::OptionRow& row : configuration.dump()) {
    hash.add(row.path);
    hash.add(row.value);
  }
  if (const std::string& onnx = configuration.text("model.onnx"); !onnx.empty()) addFile(onnx, hash);
  return hash.text();
}

base::Result<SweepResult> sweep(const config::Configuration& configuration, const SweepRequest& request,
                                base::Progress& progress) {
  PIPESCOPE_ASSIGN(const std::int64_t count, countCombinations(request.keys));
  if (!request.output.empty()) {
    PIPESCOPE_ASSIGN(const TableFormat format, formatOfTable(request.output));
    PIPESCOPE_TRY(base::checkOutput(request.output, kindOf(format), request.rules));
  }
  if (!request.profiles.empty()) PIPESCOPE_TRY(makeFolder(request.profiles));
  // The lock keeps others from writing the table, so its rows cannot be lost between reading and writing.
  store::WriterLock lock;
  if (!request.output.empty()) {
    PIPESCOPE_ASSIGN(const fs::path target, base::followLinks(request.output));
    PIPESCOPE_ASSIGN(lock, store::WriterLock::acquire(target));
  }
  SweepResult result;
  result.table.name = request.name;
  result.table.keys = request.keys;
  for (std::int64_t i = 0; i < count; ++i) {
    SweepRow row;
    row.values = combination(request.keys, i);
    PIPESCOPE_ASSIGN(const config::Configuration changed,
                     applyCombination(configuration, request.keys, row.values));
    row.hash = variantHash(changed, request.variant);
    result.table.rows.push_back(std::move(row));
  }
  if (!request.output.empty() && !request.rules.overwrite) {
    PIPESCOPE_ASSIGN(result.resumed, resumeFrom(request.output, result.table));
    for (SweepRow& row : result.table.rows) {
      if (request.profiles.empty() || !row.done || !row.error.empty() || fs::exists(profileOf(request, row)))
        continue;
      row.done = false;
      --result.resumed;
    }
  }
  const std::vector<std::int64_t> left = tasksOf(result.table, request.instances.get());
  SweepWork work(request, result.table, result.resumed, progress);
  plan::SharedStages known;  // each child has a copy, which grows with the combinations that it answers
  const auto answer = [&](std::int64_t index) {
    return answerOf(configuration, request, result.table.rows[static_cast<std::size_t>(index)], known);
  };
  const auto take = [&](std::int64_t index, const base::Result<std::string>& text) {
    return work.take(index, text);
  };
  const base::Status status =
      request.instances ? runShared(left, request.processes, answer, take, progress, *request.instances)
                        : runInProcesses(left, request.processes, answer, take, progress);
  result.cancelled = !status.ok() && status.error().kind == base::ErrorKind::cancelled;
  PIPESCOPE_TRY(work.write());
  if (!status.ok() && !result.cancelled) return status.error();
  return result;
}

}  // namespace pipescope::app
