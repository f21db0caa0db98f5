#include "compiler/driver/library_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"

namespace tf::driver {
namespace {

// Up to the fields that 32 and 64 bit files share: identification, type, processor.
std::optional<Elf64_Ehdr> read_header(std::ifstream& file) {
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return header;
}

std::string processor_name(Elf64_Half machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "armv7";
    case EM_RISCV:
      return "riscv64";
    default:
      return absl::StrCat("a processor with ELF's number ", machine);
  }
}

// The file's size as its headers say it, at least.
uint64_t promised_bytes(std::ifstream& file, const Elf64_Ehdr& header) {
  uint64_t bytes = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return UINT64_MAX;
    bytes = std::max(bytes, segment.p_offset + segment.p_filesz);
  }
  return bytes;
}

}  // namespace

absl::Status check_library_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))  // reading a pipe would wait
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a file: build the model again"));
  std::ifstream file(path, std::ios::binary), self("/proc/self/exe", std::ios::binary);
  const std::optional<Elf64_Ehdr> header = read_header(file), own = read_header(self);
  if (!header)
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a shared library: build the model again"));
  if (own && header->e_machine != own->e_machine)
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is built for ", processor_name(header->e_machine), ", but this machine is ",
                     processor_name(own->e_machine)));
  file.seekg(0, std::ios::end);
  const auto size_bytes = static_cast<uint64_t>(file.tellg());
  if (promised_bytes(file, *header) > size_bytes)
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is truncated after ", size_bytes, " bytes: copy or build the model again"));
  return absl::OkStatus();
}

}  // namespace tf::driver
