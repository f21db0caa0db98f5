#pragma once
// Owns: what fuzz targets share: their input as text, and bytes as a file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf::fuzz {

inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A folder in memory, of this process.
inline const TemporaryFolder& folder() {
  static const TemporaryFolder kFolder = *TemporaryFolder::make_in({"/dev/shm", "/tmp"});
  return kFolder;
}

// The bytes as a file of that name.
inline std::string as_file(const char* name, std::string_view bytes) {
  std::string path = folder().file(name);
  TF_CHECK(write_file(path, bytes).ok());
  return path;
}

}  // namespace tf::fuzz
