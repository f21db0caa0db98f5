#include "base/remedy.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace tf {
namespace {

constexpr const char* kPayload = "tunefarm/remedy";
constexpr std::string_view kColon = ": ";
constexpr std::string_view kSemicolon = "; ";
static_assert(kColon.size() == kSemicolon.size());  // trouble_of need not know which it was

}  // namespace

absl::Status with_remedy(absl::StatusCode code, std::string_view truth, std::string_view remedy,
                         Between between) {
  const std::string what_to_do(remedy);
  const std::string_view mark = between == Between::kColon ? kColon : kSemicolon;
  absl::Status status(code, absl::StrCat(std::string(truth), std::string(mark), what_to_do));
  status.SetPayload(kPayload, absl::Cord(what_to_do));
  return status;
}

Trouble trouble_of(const absl::Status& error) {
  std::string message(error.message());
  const auto payload = error.GetPayload(kPayload);
  if (!payload) return {.truth = std::move(message), .remedy = ""};
  std::string remedy(*payload);
  message.resize(message.size() - remedy.size() - kColon.size());
  return {.truth = std::move(message), .remedy = std::move(remedy)};
}

std::string code_and_message(const absl::Status& status) {
  if (status.message().empty()) return absl::StatusCodeToString(status.code());
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

}  // namespace tf
