#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "profiler/base/result.h"

namespace pipescope::importing {

/// What our own exports call the metadata that holds rows of the profile (exporting::CarriedRows).
inline constexpr std::string_view kCarriedRows = "pipescope_rows";

/// The texts of such metadata, in the order of the trace. A few megabytes are held, the others stand in a
/// temporary file.
class CarriedPieces {
 public:
  explicit CarriedPieces(std::filesystem::path folder) : folder_(std::move(folder)) {}

  base::Status add(std::string_view piece);
  std::int64_t size() const { return count_; }
  /// Calls `take` for every piece until it returns false. May be repeated.
  base::Status visit(const std::function<base::Result<bool>(std::string_view)>& take);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  base::Status spill();

  const std::filesystem::path folder_;
  std::string held_;  // each piece behind its size
  std::unique_ptr<std::FILE, Close> file_;
  std::int64_t count_ = 0;
};

}  // namespace pipescope::importing
