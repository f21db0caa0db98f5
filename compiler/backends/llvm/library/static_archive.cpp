#include "compiler/backends/llvm/library/static_archive.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "compiler/backends/llvm/library/weights_segment.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace tf::backends {
namespace {

constexpr char kStackNote[] =
    ".note.GNU-stack";  // says that the stack need not be executable; lld leaves it out

absl::Status status_of(llvm::Error error) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the model's object: ", llvm::toString(std::move(error))));
}

absl::StatusOr<std::string> with_exports(std::string_view object, std::span<const Exported> exported) {
  auto binary = llvm::object::createBinary(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "model.o"));
  if (!binary) return status_of(binary.takeError());
  llvm::objcopy::ConfigManager config;
  const auto ignore = [](llvm::Error error) { return error; };
  for (const auto& [from, to] : exported) {
    TF_RETURN_IF_ERROR(status_of(config.Common.SymbolsToKeepGlobal.addMatcher(
        llvm::objcopy::NameOrPattern::create(from, llvm::objcopy::MatchStyle::Literal, ignore))));
    config.Common.SymbolsToRename[from] = to;
  }
  config.Common.AddSection.emplace_back(kStackNote, llvm::MemoryBuffer::getMemBuffer(""));
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  TF_RETURN_IF_ERROR(status_of(llvm::objcopy::executeObjcopyOnBinary(config, **binary, stream)));
  return std::string(out.begin(), out.end());
}

// What stands before a member: its name, no date and no owner, so that the same model gives the same bytes.
std::string member_header(std::string_view name, uint64_t bytes) {
  return absl::StrFormat("%-16s%-12d%-6d%-6d%-8s%-10d`\n", absl::string_view(name.data(), name.size()), 0, 0,
                         0, "100644", bytes);
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string even(std::string text) {
  if (text.size() % 2 != 0) text += '\n';
  return text;
}

}  // namespace

absl::StatusOr<LinkedModel> static_archive(std::string_view object, std::span<const Exported> exported,
                                           uint64_t weights_bytes) {
  TF_ASSIGN_OR_RETURN(std::string before, with_exports(object, exported));
  if (weights_bytes > 0) {
    TF_ASSIGN_OR_RETURN(before, before_weights(std::move(before), weights_bytes));
  }
  const uint64_t object_bytes = before.size() + weights_bytes;
  // The index: how many symbols, the place of each one's member, their names.
  std::string names;
  for (const auto& [from, to] : exported) absl::StrAppend(&names, to, std::string(1, '\0'));
  constexpr std::string_view kMagic = "!<arch>\n";
  const size_t index_bytes = 4 + 4 * exported.size() + names.size();
  const size_t place = kMagic.size() + member_header("/", 0).size() + (index_bytes + 1) / 2 * 2;
  std::string index = big_endian(static_cast<uint32_t>(exported.size()));
  for (size_t i = 0; i < exported.size(); ++i) index += big_endian(static_cast<uint32_t>(place));
  return LinkedModel{absl::StrCat(std::string(kMagic), member_header("/", index_bytes), even(index + names),
                                  member_header("model.o/", object_bytes), before),
                     object_bytes % 2 == 0 ? "" : "\n"};
}

}  // namespace tf::backends
