#include "app/gui/open_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "app/gui/import_trace.h"
#include "profiler/base/version.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/sweep_file.h"
#include "profiler/store/notes.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::gui {

namespace fs = std::filesystem;
namespace {

std::vector<fs::path> profilesIn(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> profiles;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".pop") profiles.push_back(entry->path());
  }
  std::sort(profiles.begin(), profiles.end());
  return profiles;
}

}  // namespace

std::string folderOfTraces(const std::string& asked) {
  std::error_code failed;
  if (!fs::is_directory(asked, failed)) return fs::path(asked).parent_path().string();
  for (fs::directory_iterator entry(asked, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code broken;
    if (entry->is_symlink(broken)) return fs::canonical(entry->path(), broken).parent_path().string();
  }
  return asked;
}

base::Result<std::string> profileAt(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return path;
  const fs::path usual = fs::path(path) / "profile.pop";
  if (fs::is_regular_file(usual, failed)) return usual.string();
  const std::vector<fs::path> profiles = profilesIn(path);
  if (profiles.size() == 1) return profiles.front().string();
  if (profiles.empty())
    return base::badInput(path +
                          " is a folder without a profile: give a file that pipescope run has written.");
  return base::badInput(fmt::format("{} is a folder with {} profiles: give one of them, such as {}.", path,
                                    profiles.size(), profiles.front().filename().string()));
}

base::Result<shell::OpenedSource> openProfile(const std::string& asked) {
  // A small cache is enough, because the window keeps the rows it shows. It needs decoded blocks again only
  // when the view moves.
  constexpr std::size_t kCache = std::size_t{64} << 20;
  static const auto cache = std::make_shared<store::BlockCache>(kCache);
  store::OpenOptions open;
  open.cache = cache;
  PIPESCOPE_ASSIGN(const std::string path, profileAt(asked));
  PIPESCOPE_ASSIGN(const std::shared_ptr<store::ProfileReader> reader,
                   store::ProfileReader::open(path, open));
  return shell::OpenedSource{
      reader, [reader] { return reader->refresh(); },
      [path](const std::vector<model::Note>& notes) { return store::writeNotes(path, notes); }, path};
}

base::Result<shell::OpenedSource> openSweepTable(const std::string& path) {
  const auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  recorder.add(model::Property{"tool_version", base::version()});
  recorder.add(model::Property{sections::kSweepTableProperty,
                               std::filesystem::absolute(path).lexically_normal().string()});
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  return shell::OpenedSource{profile, {}, {}, path};
}

base::Result<shell::OpenedSource> openOrImport(const std::string& path,
                                               const std::function<void(const QString&)>& tell,
                                               const std::function<bool()>& stopped) {
  if (sections::isSweepFile(path)) return openSweepTable(path);
  const auto profile = profileAt(path);
  // A folder with several profiles is no folder of traces.
  if (!profile.ok() && !profilesIn(path).empty()) return profile.error();
  if (!mayBeTrace(profile.ok() ? *profile : path)) return openProfile(path);
  PIPESCOPE_ASSIGN(const std::string imported, importTrace(path, importPlaces(), tell, stopped));
  PIPESCOPE_ASSIGN(shell::OpenedSource opened, openProfile(imported));
  // The import lies in the cache under a name that nobody chose.
  const fs::path asked = fs::path(path);
  opened.title = (asked.has_filename() ? asked : asked.parent_path()).filename().string();
  opened.folder = folderOfTraces(path);
  return opened;
}

}  // namespace pipescope::gui
