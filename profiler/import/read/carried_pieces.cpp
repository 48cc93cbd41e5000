#include "profiler/import/read/carried_pieces.h"

#include <cerrno>
#include <cstring>

#include "profiler/import/read/source/temporary_file.h"

namespace pipescope::importing {
namespace {

constexpr std::size_t kMostHeldPieces = 4 << 20;

}  // namespace

base::Status CarriedPieces::add(std::string_view piece) {
  const std::uint64_t size = piece.size();
  held_.append(reinterpret_cast<const char*>(&size), sizeof size);
  held_.append(piece);
  ++count_;
  return held_.size() > kMostHeldPieces ? spill() : base::Status();
}

base::Status CarriedPieces::spill() {
  if (file_ == nullptr) file_.reset(openTemporaryFile(folder_));
  if (file_ == nullptr || std::fseek(file_.get(), 0, SEEK_END) != 0 ||
      std::fwrite(held_.data(), 1, held_.size(), file_.get()) != held_.size() ||
      std::fflush(file_.get()) != 0)
    return temporaryFileFailure(folder_);
  held_.clear();
  return {};
}

base::Status CarriedPieces::visit(const std::function<base::Result<bool>(std::string_view)>& take) {
  std::uint64_t size = 0;
  if (file_ != nullptr) {
    std::rewind(file_.get());
    std::string piece;
    while (std::fread(&size, sizeof size, 1, file_.get()) == 1) {
      piece.resize(size);
      if (std::fread(piece.data(), 1, size, file_.get()) != size) break;
      PIPESCOPE_ASSIGN(const bool goesOn, take(piece));
      if (!goesOn) return {};
    }
    if (std::ferror(file_.get()) != 0)
      return base::ioError(std::string("A temporary file cannot be read: ") + std::strerror(errno) + ".");
  }
  for (std::string_view rest = held_; rest.size() >= sizeof size;) {
    std::memcpy(&size, rest.data(), sizeof size);
    PIPESCOPE_ASSIGN(const bool goesOn, take(rest.substr(sizeof size, size)));
    if (!goesOn) return {};
    rest.remove_prefix(sizeof size + size);
  }
  return {};
}

}  // namespace pipescope::importing
