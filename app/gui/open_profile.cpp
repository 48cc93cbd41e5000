#include "app/gui/open_profile.h"

#include "profiler/store/notes.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::gui {

base::Result<shell::OpenedSource> openProfile(const std::string& path) {
  // A small cache is enough, because the window keeps the rows it shows. It needs decoded blocks again only
  // when the view moves.
  constexpr std::size_t kCache = std::size_t{64} << 20;
  static const auto cache = std::make_shared<store::BlockCache>(kCache);
  store::OpenOptions open;
  open.cache = cache;
  PIPESCOPE_ASSIGN(const std::shared_ptr<store::ProfileReader> reader,
                   store::ProfileReader::open(path, open));
  return shell::OpenedSource{
      reader, [reader] { return reader->refresh(); },
      [path](const std::vector<model::Note>& notes) { return store::writeNotes(path, notes); }};
}

}  // namespace pipescope::gui
