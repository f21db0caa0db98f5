#include "compiler/backends/llvm/object.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

namespace tf::backends {
namespace {

absl::Status from_llvm(llvm::Error error) {
  return absl::InvalidArgumentError(absl::StrCat("not an object file: ", llvm::toString(std::move(error))));
}

absl::StatusOr<std::unique_ptr<llvm::object::ObjectFile>> open(std::string_view object) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "object");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) return from_llvm(file.takeError());
  return std::move(*file);
}

// Where a relocation points: the symbol's section and place in it, or the name of one from outside.
std::string place_of(const llvm::object::SymbolRef& symbol, const llvm::object::ObjectFile& file) {
  auto section = symbol.getSection();
  if (!section) {
    llvm::consumeError(section.takeError());
    return "?";
  }
  if (*section == file.section_end()) {
    auto name = symbol.getName();
    if (name) return name->str();
    llvm::consumeError(name.takeError());
    return "?";
  }
  uint64_t value = 0;
  if (auto v = symbol.getValue()) {
    value = *v;
  } else {
    llvm::consumeError(v.takeError());
  }
  return absl::StrCat((*section)->getIndex(), "+", value);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> undefined_symbols(std::string_view object) {
  TF_ASSIGN_OR_RETURN(auto file, open(object));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return from_llvm(flags.takeError());
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined)) continue;
    auto name = symbol.getName();
    if (!name) return from_llvm(name.takeError());
    if (!name->empty()) names.push_back(name->str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::string> code_digest(std::string_view object) {
  TF_ASSIGN_OR_RETURN(auto file, open(object));
  std::string all;
  for (const llvm::object::SectionRef& section : file->sections()) {
    auto name = section.getName();
    if (!name) return from_llvm(name.takeError());
    bool code = section.isText();
    bool constants = name->starts_with(".rodata") || name->starts_with(".data.rel.ro");
    if (code || constants) {
      auto contents = section.getContents();
      if (!contents) return from_llvm(contents.takeError());
      absl::StrAppend(&all, section.getIndex(), ":", contents->size(), ":");
      all.append(contents->data(), contents->size());
    }
    auto relocated = section.getRelocatedSection();
    if (!relocated) return from_llvm(relocated.takeError());
    if (name->starts_with(".rela.eh_frame")) continue;
    for (const llvm::object::RelocationRef& relocation : section.relocations()) {
      int64_t addend = 0;
      if (auto a = llvm::object::ELFRelocationRef(relocation).getAddend()) {
        addend = *a;
      } else {
        llvm::consumeError(a.takeError());
      }
      absl::StrAppend(&all, "r", relocation.getOffset(), ",", relocation.getType(), ",", addend, ",");
      if (relocation.getSymbol() != file->symbol_end()) {
        absl::StrAppend(&all, place_of(*relocation.getSymbol(), *file));
      }
    }
  }
  return sha256(all).hex();
}

}  // namespace tf::backends
