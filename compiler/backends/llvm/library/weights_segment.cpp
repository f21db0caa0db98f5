#include "compiler/backends/llvm/library/weights_segment.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/BinaryFormat/ELF.h"

namespace tf::backends {
namespace {

namespace ELF = llvm::ELF;

struct Elf32 {
  using Header = ELF::Elf32_Ehdr;
  using Segment = ELF::Elf32_Phdr;
  using Section = ELF::Elf32_Shdr;
};
struct Elf64 {
  using Header = ELF::Elf64_Ehdr;
  using Segment = ELF::Elf64_Phdr;
  using Section = ELF::Elf64_Shdr;
};

absl::Status not_of_this_form(const char* why) {
  return absl::InternalError(absl::StrCat("the linked library ", why));
}

// `count` entries of a table in the file; none if they are not all there. A std::string's bytes are aligned
// for them, and so are the tables that linkers write.
template <typename T>
std::span<T> table(std::string& file, uint64_t offset, uint64_t count) {
  if (offset % alignof(T) != 0 || offset > file.size() || count > (file.size() - offset) / sizeof(T))
    return {};
  return {reinterpret_cast<T*>(file.data() + offset), static_cast<size_t>(count)};
}

template <typename Elf>
typename Elf::Section* weights_section(std::string& file, const typename Elf::Header& header) {
  const auto sections = table<typename Elf::Section>(file, header.e_shoff, header.e_shnum);
  if (header.e_shstrndx >= sections.size()) return nullptr;
  const auto& names = sections[header.e_shstrndx];
  const auto is_found = [&](const typename Elf::Section& section) {
    const uint64_t begin = uint64_t{names.sh_offset} + section.sh_name;
    return begin < file.size() && std::string_view(file.c_str() + begin).ends_with(kWeightsSection);
  };
  const auto found = std::ranges::find_if(sections, is_found);
  return found == sections.end() ? nullptr : &*found;
}

template <typename Elf>
absl::StatusOr<std::string> moved(std::string file, uint64_t weights_bytes) {
  const auto headers = table<typename Elf::Header>(file, 0, 1);
  if (headers.empty()) return not_of_this_form("is too short");
  const typename Elf::Header header = headers[0];
  typename Elf::Section* const section = weights_section<Elf>(file, header);
  if (section == nullptr || section->sh_type != ELF::SHT_NOBITS || section->sh_size != weights_bytes)
    return not_of_this_form("has no place for its weights");
  uint64_t alignment = section->sh_addralign, place_in_page = 0;
  typename Elf::Segment* segment = nullptr;
  if (header.e_type == ELF::ET_DYN) {
    const auto segments = table<typename Elf::Segment>(file, header.e_phoff, header.e_phnum);
    const auto is_theirs = [&](const typename Elf::Segment& each) {
      return each.p_type == ELF::PT_LOAD && each.p_vaddr == section->sh_addr && each.p_filesz == 0 &&
             each.p_memsz == weights_bytes;
    };
    const auto found = std::ranges::find_if(segments, is_theirs);
    if (found == segments.end()) return not_of_this_form("has no segment of its own for its weights");
    segment = &*found;
    alignment = std::max<uint64_t>(segment->p_align, 1);
    place_in_page = segment->p_vaddr % alignment;
  }
  alignment = std::max<uint64_t>(alignment, 1);
  const uint64_t offset = (file.size() + alignment - 1) / alignment * alignment + place_in_page;
  section->sh_type = ELF::SHT_PROGBITS;
  section->sh_offset = static_cast<decltype(section->sh_offset)>(offset);
  if (segment != nullptr) {
    segment->p_offset = static_cast<decltype(segment->p_offset)>(offset);
    segment->p_filesz = segment->p_memsz;
  }
  file.resize(offset);
  return file;
}

}  // namespace

absl::StatusOr<std::string> before_weights(std::string library, uint64_t weights_bytes) {
  if (!std::string_view(library).starts_with(ELF::ElfMagic) || library.size() <= ELF::EI_CLASS)
    return not_of_this_form("is not an ELF file");
  return library[ELF::EI_CLASS] == ELF::ELFCLASS32 ? moved<Elf32>(std::move(library), weights_bytes)
                                                   : moved<Elf64>(std::move(library), weights_bytes);
}

}  // namespace tf::backends
