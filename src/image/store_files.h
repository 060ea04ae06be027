// The files of a store, one level below store.h. Private to the image library.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace casemate::image {

inline constexpr std::size_t kNameFileMax = 128;

// "sha256:HEX" → "sha256/HEX"
std::string directory_of(std::string_view digest);

// Makes the store's directory and those in it, each 0755, where they are missing.
// Errors: unavailable, naming the directory.
Result<void> make_store(const std::string& path);

// That `name` below `directory` ("" for the directory itself) belongs to us or to root and is
// writable by its owner alone. `shown` stands in messages. Errors: unavailable.
Result<void> check_safe(int directory, const std::string& name, const std::string& shown);
Result<void> check_safe(const struct stat& status, const std::string& shown);
Result<void> check_safe_directory(const struct stat& status, const std::string& shown);

// The names in a directory, sorted, at most `most`; the directory must be there.
Result<void> names_below(const sys::Fd& parent, const std::string& name, std::size_t most,
                         std::vector<std::string>& names);

// Makes a new file with this content and mode 0444, and puts it on disk.
Result<void> write_new_file(const sys::Fd& parent, const std::string& name, std::string_view content);

Result<void> sync_directory(const sys::Fd& parent, const std::string& name);

}  // namespace casemate::image
