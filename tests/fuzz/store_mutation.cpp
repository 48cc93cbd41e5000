// store_mutation [COUNT [SEED]]: opens and reads COUNT mutated profiles. Mutations know the structure: bytes
// of SQLite's pages and their headers, swapped and repeated pages, cuts; and below the checksums, which are
// made right again, fields of the directory and the decompressed bytes of blocks and of what they share. Each
// file must end in a sentence or in rows, within 2 s and 512 MB; sanitizers say the rest. COUNT: 300, or
// 100,000 with PIPESCOPE_FULL_TESTS set.
#include <sqlite3.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/analysis/pva/report.h"
#include "profiler/analysis/timeline/range.h"
#include "profiler/analysis/timeline/unit_steps.h"
#include "profiler/export/chrome.h"
#include "profiler/sections/frame/section.h"
#include "profiler/store/batch.h"
#include "profiler/store/blocks/checksum.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/profile_writer.h"
#include "tests/bench/big_profile.h"

namespace {

using namespace pipescope;
namespace fs = std::filesystem;
using Random = std::mt19937_64;

[[noreturn]] void fault(const std::string& what) {
  std::fprintf(stderr, "store_mutation: %s\n", what.c_str());
  std::exit(1);
}

std::string readFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void writeFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Connection {
 public:
  explicit Connection(const fs::path& path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fault("cannot open " + path.string());
    run("PRAGMA journal_mode = OFF");
    run("PRAGMA synchronous = OFF");
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void run(const std::string& sql) {
    char* message = nullptr;
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK)
      fault(sql + ": " + message);
  }
  sqlite3* get() { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

std::string hex(const std::string& bytes) {
  std::string out = "x'";
  constexpr const char* kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out + "'";
}

struct Block {
  store::BlockRecord record;
  std::string payload;
  std::string priors() const { return payload.substr(0, static_cast<std::size_t>(record.priorBytes)); }
  std::string bytes() const {
    return payload.substr(static_cast<std::size_t>(record.offset), static_cast<std::size_t>(record.bytes));
  }
};

Block readBlock(Connection& file, Random& random) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(
      file.get(),
      "SELECT b.id, table_number, first_row, rows, has_time, start, end, ranges, raw_bytes, b.payload, "
      "prior_bytes, "
      "\"offset\", bytes, p.payload FROM store_block b JOIN store_payload p ON p.id = b.payload",
      -1, &statement, nullptr);
  std::vector<Block> all, withPriors;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto integer = [&](int c) { return sqlite3_column_int64(statement, c); };
    const auto blob = [&](int c) {
      return std::string(static_cast<const char*>(sqlite3_column_blob(statement, c)),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement, c)));
    };
    Block block;
    block.record.id = integer(0), block.record.table = integer(1), block.record.firstRow = integer(2);
    block.record.info.rows = integer(3), block.record.info.hasTime = integer(4) != 0;
    block.record.info.start = model::Ticks(integer(5)), block.record.info.end = model::Ticks(integer(6));
    block.record.ranges = blob(7), block.record.rawBytes = integer(8), block.record.payload = integer(9);
    block.record.priorBytes = integer(10), block.record.offset = integer(11),
    block.record.bytes = integer(12);
    block.payload = blob(13);
    if (block.record.priorBytes > 0) withPriors.push_back(block);
    all.push_back(std::move(block));
  }
  sqlite3_finalize(statement);
  const std::vector<Block>& from = withPriors.empty() || random() % 2 == 0 ? all : withPriors;
  return from[random() % from.size()];
}

/// Writes the block with a payload of its own. A forged record may point outside of it.
void writeBlock(Connection& file, Block& block, const std::string& priors, const std::string& bytes) {
  block.record.bytesCrc32 = store::Checksum().bytes(priors).bytes(bytes).value();
  block.record.payload = 1'000'000'000;
  const store::BlockRecord& r = block.record;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  file.run("UPDATE store_block SET table_number=" + text(r.table) + ", first_row=" + text(r.firstRow) +
           ", rows=" + text(r.info.rows) + ", start=" + text(r.info.start.count) +
           ", end=" + text(r.info.end.count) + ", ranges=" + hex(r.ranges) +
           ", raw_bytes=" + text(r.rawBytes) + ", payload=" + text(r.payload) +
           ", prior_bytes=" + text(r.priorBytes) + ", \"offset\"=" + text(r.offset) +
           ", bytes=" + text(r.bytes) + ", bytes_crc32=" + text(r.bytesCrc32) +
           ", crc32=" + text(store::checksumOf(r)) + " WHERE id=" + text(r.id));
  file.run("INSERT INTO store_payload VALUES(" + text(r.payload) + ", " + hex(priors + bytes) + ")");
}

void changeBytes(std::string& bytes, Random& random) {
  for (std::size_t n = random() % 4 + 1; n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.erase(at, random() % 8 + 1);
        break;
      case 3:
        bytes.insert(at,
                     std::string(random() % 8 + 1, static_cast<char>(random() % 2 == 0 ? 0xff : random())));
        break;
      default:
        bytes[at] = static_cast<char>(random() % 7);  // codings and flags
    }
  }
}

/// Changes the decompressed size that a zstd frame states.
std::size_t changeFrame(std::string& frame, Random& random) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  std::string raw(static_cast<std::size_t>(size), ' ');
  raw.resize(ZSTD_decompress(raw.data(), raw.size(), frame.data(), frame.size()));
  changeBytes(raw, random);
  frame.resize(ZSTD_compressBound(raw.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), 1));
  return raw.size();
}

/// Makes changes whose checksums are all right, as a forger can.
void changeBelowChecksums(const fs::path& path, Random& random) {
  Connection file(path);
  Block block = readBlock(file, random);
  store::BlockRecord& record = block.record;
  std::string priors = block.priors(), bytes = block.bytes();
  if (random() % 3 != 0) {
    if (!priors.empty() && random() % 2 == 0) {
      changeFrame(priors, random);
    } else {
      record.rawBytes = static_cast<std::int64_t>(changeFrame(bytes, random));
    }
  } else {
    if (random() % 4 == 0) changeBytes(record.ranges, random);
    if (random() % 4 == 0) changeBytes(bytes, random);
    if (random() % 4 == 0) changeBytes(priors, random);
  }
  record.priorBytes = static_cast<std::int64_t>(priors.size());
  record.offset = record.priorBytes;
  record.bytes = static_cast<std::int64_t>(bytes.size());
  if (random() % 3 == 0) {
    std::int64_t* const fields[] = {
        &record.table,          &record.firstRow, &record.info.rows,  &record.info.start.count,
        &record.info.end.count, &record.rawBytes, &record.priorBytes, &record.offset,
        &record.bytes};
    std::int64_t& field = *fields[random() % std::size(fields)];
    const std::int64_t values[] = {0,
                                   -1,
                                   1,
                                   16'384,
                                   16'385,
                                   std::int64_t{1} << 31,
                                   std::int64_t{1} << 62,
                                   field + 1,
                                   field * 2,
                                   static_cast<std::int64_t>(random())};
    field = values[random() % std::size(values)];
  }
  writeBlock(file, block, priors, bytes);
}

void changePages(std::string& bytes, Random& random) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = bytes.size() / kPage;
  const std::size_t page = random() % pages * kPage, other = random() % pages * kPage;
  switch (random() % 6) {
    case 0:
      bytes.resize(random() % bytes.size());
      break;
    case 1:
      bytes.replace(page, kPage, bytes.substr(other, kPage));
      break;
    case 2:  // the header of the page: kind, free blocks, cells
      for (int i = 0; i < 2; ++i)
        bytes[page + (page == 0 ? 100 : 0) + random() % 12] = static_cast<char>(random());
      break;
    case 3:  // pointers to cells
      bytes[page + 8 + random() % 64] = static_cast<char>(random());
      break;
    case 4:  // the header of the file
      bytes[random() % 100] = static_cast<char>(random());
      break;
    default:
      for (std::size_t n = random() % 8 + 1; n > 0; --n)
        bytes[page + random() % kPage] = static_cast<char>(random());
  }
}

int readByTile(const pva::Compilation& compilation) {
  const auto tiles = compilation.tiles();
  if (!tiles.ok()) return 1;
  const auto tile = static_cast<std::int64_t>(tiles->size() / 2);  // a tile of the second of three devices
  int refusals = !compilation.alwaysLiveVariablesForTile(tile).ok();
  const auto steps = compilation.livenessProgramSteps(1);
  for (std::size_t i = 0; steps.ok() && i < std::min<std::size_t>(3, steps->size()); ++i)
    refusals += !(*steps)[i].notAlwaysLiveMemory().ok() + !(*steps)[i].notAlwaysLiveMemoryForTile(tile).ok();
  return refusals;
}

/// Computes what `pipescope report` prints. A section may have nothing to say about this profile.
void readSections(const sections::Context& context) {
  for (const sections::SectionDefinition& definition : sections::sectionRegistry().all()) {
    const auto section = sections::makeSection(definition, context);
    if (section.ok()) static_cast<void>(toText(*section).size() + toJson(*section).size());
  }
}

/// Asks a reader everything that it can answer.
int readAll(const fs::path& path) {
  store::OpenOptions options;
  options.cache = std::make_shared<store::BlockCache>(std::size_t{32} << 20);
  options.patience = std::chrono::milliseconds(0);
  const auto opened = store::ProfileReader::open(path, options);
  if (!opened.ok()) {
    if (opened.error().kind == base::ErrorKind::internal) fault(opened.error().message);
    return 1;
  }
  const std::shared_ptr<const store::ProfileReader> reader = *opened;
  int refusals = 0;
  model::forEachRowType([&]<class Row>() {
    const auto blocks = reader->blocks<Row>();
    for (std::size_t b = 0; blocks.ok() && b < blocks->size(); ++b) {
      refusals += !reader->block<Row>(b).ok();
      refusals += !reader->columns<Row>(b).ok();
      static_cast<void>(reader->ranges<Row>(b));
    }
    refusals += !blocks.ok();
  });
  const auto catalog = analysis::loadCatalog(*reader);
  if (!catalog.ok()) return refusals + 1;
  base::SilentProgress progress;
  const auto index = analysis::RangeIndex::make(reader, *catalog);
  if (!index.ok()) return refusals + 1;
  const model::ExecutableId executable(0);
  const model::Run* run = (*catalog)->lastRunOf(executable);
  const model::Ticks end = run == nullptr ? model::Ticks(1000) : run->end;
  for (const model::Ticks resolution :
       {model::Ticks(0), model::Ticks(end.count / 16), model::Ticks(end.count / 1000)})
    refusals += !(*index)->steps({executable, model::Ticks(0), end, {}}, resolution, progress).ok();
  auto units = analysis::UnitReader::make(*reader);
  refusals += !units.ok();
  for (std::int64_t step = 0; units.ok() && step < 100; ++step)
    refusals += !units->of(step, model::Ticks(1000), 1472).ok();
  refusals += !analysis::unitLiveness(*reader, **catalog, executable, model::MemorySpaceId(1), 7).ok();
  if (const auto report = pva::Report::make(reader); report.ok()) {
    const auto compilation = report->compilation();
    if (compilation.ok()) refusals += readByTile(*compilation);
    const auto sets = compilation.ok() ? compilation->computeSets()
                                       : base::Result<std::vector<pva::ComputeSet>>(compilation.error());
    for (std::size_t i = 0; sets.ok() && i < std::min<std::size_t>(3, sets->size()); ++i)
      refusals += !(*sets)[i].estimatedCyclesByTile().ok();
    refusals += !sets.ok();
  }
  const analysis::DiffSide side{*reader, **catalog, executable};
  refusals += !analysis::diff(side, side).ok();
  readSections({*reader, **catalog, executable});
  const auto nowhere = [](std::string_view) { return base::Status(); };
  refusals += !exporting::exportChrome({*reader, **catalog, executable, true}, nowhere, progress).ok();
  return refusals;
}

double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// `refusals` counts questions that the profile cannot answer.
template <class Write>
std::string makeProfile(const fs::path& path, int refusals, Write&& write) {
  auto writer = store::ProfileWriter::create(path);
  if (!writer.ok()) fault(writer.error().message);
  record::Recorder recorder(**writer);
  if (!write(recorder).ok()) fault("cannot write a profile");
  if (const int found = readAll(path); found != refusals)
    fault("an unchanged profile is refused " + std::to_string(found) + " times");
  return readFile(path);
}

/// Makes a small profile, one with more rows in every table, and one whose blocks share priors.
std::array<std::string, 3> makeProfiles(const fs::path& folder) {
  bench::PipelineShape large;
  large.devices = 3, large.microBatches = 12, large.forwardSteps = 20, large.tiles = true;
  bench::PipelineShape small = large;
  small.microBatches = 4, small.forwardSteps = 6, small.tilesPerDevice = 24;
  const auto pipeline = [](const bench::PipelineShape& shape) {
    return [&shape](record::Recorder& recorder) { return bench::recordPipeline(recorder, shape); };
  };
  const auto events = [](record::Recorder& recorder) {
    return bench::recordEvents(recorder, {.events = 9000, .lanes = 4, .programs = 300});
  };
  return {makeProfile(folder / "small.pop", 0, pipeline(small)),
          makeProfile(folder / "large.pop", 0, pipeline(large)),
          makeProfile(folder / "events.pop", 1, events)};
}

/// Chooses the small profile most of the time. It has nearly everything that the others have and is read
/// several times as fast.
std::size_t profileOf(int file) {
  return file % 16 == 15 ? 2 : file % 16 >= 13 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* full = std::getenv("PIPESCOPE_FULL_TESTS");
  const int count = argc > 1 ? std::atoi(argv[1]) : full != nullptr && *full != '\0' ? 100'000 : 300;
  const int seed = argc > 2 ? std::atoi(argv[2]) : 1;
  const fs::path folder = fs::temp_directory_path() / ("store_mutation." + std::to_string(getpid()));
  fs::create_directories(folder);
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit limit{std::size_t{512} << 20, std::size_t{512} << 20};
  if (setrlimit(RLIMIT_AS, &limit) != 0) fault("cannot bound the memory");
#endif
  const std::array<std::string, 3> profiles = makeProfiles(folder);
  const fs::path path = folder / "changed.pop";
  int refused = 0;
  double longest = 0;
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<std::uint64_t>(seed) * 1'000'003 + static_cast<std::uint64_t>(i));
    const std::string& whole = profiles[profileOf(i)];
    if (i % 2 == 0) {
      std::string bytes = whole;
      changePages(bytes, random);
      writeFile(path, bytes);
    } else {
      writeFile(path, whole);
      changeBelowChecksums(path, random);
    }
    const double start = processorSeconds();
    refused += readAll(path) > 0;
    const double seconds = processorSeconds() - start;
    longest = std::max(longest, seconds);
    if ((i + 1) % 1000 == 0)
      std::fprintf(stderr, "%d files read, %d of them refused or with holes\n", i + 1, refused);
    if (seconds > 2) {
      fs::copy_file(path, "store_mutation_slow.pop", fs::copy_options::overwrite_existing);
      fault("file " + std::to_string(i) + " of seed " + std::to_string(seed) + " took " +
            std::to_string(seconds) + " s");
    }
  }
  fs::remove_all(folder);
  std::printf("%d files, %d of them refused or with holes, at most %.3f s each\n", count, refused, longest);
  return refused > count / 4 ? 0 : 1;
}
