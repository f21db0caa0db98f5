#pragma once
// Owns: the names of the bytes that CMake puts into the program (embed.cmake). Does not know: what they mean.

#include <span>
#include <string_view>

namespace tf::web {

struct EmbeddedFile {
  const char* path;  // below its folder, from "/" on
  const char* begin;
  const char* end;
};

// build/page, as it was when the program was built.
std::span<const EmbeddedFile> page_files();
// The protos with their comments, as a google.protobuf.FileDescriptorSet.
std::string_view described_protos();

}  // namespace tf::web
