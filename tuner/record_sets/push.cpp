#include "tuner/record_sets/push.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"
#include "database/sqlite/file_lock.h"
#include "rpc/identity/public_key.h"
#include "tuner/record_sets/place.h"
#include "tuner/record_sets/read_set.h"

namespace tf::record_sets {
namespace {

absl::Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", folder));
}

// The newest version in the folder; nothing: there is none.
absl::StatusOr<std::optional<Described>> newest(const Place& place, const rpc::KeyPair& key) {
  absl::StatusOr<Described> described = describe_set(place, {rpc::PublicKey::of(key)});
  if (absl::IsNotFound(described.status())) return std::nullopt;
  if (described.ok()) return *std::move(described);
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("cannot continue the set in ", place.text(), " (",
                                  std::string(described.status().message()), ")"),
                     "sign with the key of its last version, or give another folder", Between::kSemicolon);
}

absl::Status write_version(const Place& place, const std::string& content, const Manifest& manifest,
                           const rpc::KeyPair& key) {
  const auto path = [&](const std::string& file) { return absl::StrCat(place.text(), "/", file); };
  const std::string text = to_text(manifest);
  TF_RETURN_IF_ERROR(write_file(path(content_file(manifest.version)), content));
  TF_RETURN_IF_ERROR(write_file(path(manifest_file(manifest.version)), text));
  TF_RETURN_IF_ERROR(write_file(path(signature_file(manifest.version)),
                                absl::Base64Escape(key.sign(statement_of(text))) + "\n"));
  return write_file(path(kLatestFile), absl::StrCat(manifest.version, "\n"));
}

}  // namespace

absl::StatusOr<Pushed> push(const BestRecords& best, const rpc::KeyPair& key, const PushOptions& options) {
  TF_RETURN_IF_ERROR(check_name(options.name));
  const std::string content = jsonl_text(best.records);
  if (std::ssize(content) > kMostContentBytes)
    return absl::FailedPreconditionError(absl::StrCat("the records have ", content.size() >> 20,
                                                      " MiB, but a set has at most ", kMostContentBytes >> 20,
                                                      " MiB: select fewer with --target"));
  TF_ASSIGN_OR_RETURN(const Place place, Place::parse(options.folder));
  if (place.is_url())
    return absl::InvalidArgumentError(
        absl::StrCat(printable(place.text()),
                     ": a set is published in a folder: give one, and copy it to the web server"));
  TF_RETURN_IF_ERROR(make_folder(place.text()));
  TF_ASSIGN_OR_RETURN(const auto lock,
                      database::FileLock::acquire(absl::StrCat(place.text(), "/", kLatestFile),
                                                  "wait until the other `tuner push` ends"));
  TF_ASSIGN_OR_RETURN(const std::optional<Described> last, newest(place, key));
  Manifest manifest{.name = options.name,
                    .device_class = options.device_class,
                    .targets = best.targets,
                    .semantics_version = schedule::kSemanticsVersion,
                    .workloads = std::ssize(best.records.workloads),
                    .measurements = std::ssize(best.records.measurements),
                    .verdicts = std::ssize(best.records.verdicts),
                    .bytes = std::ssize(content),
                    .content = sha256(content),
                    .created_unix_ns = options.created_unix_ns,
                    .by = options.by};
  if (last) {
    const Manifest& before = last->manifest;
    if (before.name != options.name)
      return with_remedy(absl::StatusCode::kFailedPrecondition,
                         absl::StrCat(place.text(), " has the set ", before.name, ", not ", options.name),
                         absl::StrCat("give --set ", before.name, " or another folder"), Between::kSemicolon);
    if (before.content == manifest.content) return Pushed{before, false};
    manifest.version = before.version + 1;
    manifest.previous = last->digest;
  }
  TF_RETURN_IF_ERROR(write_version(place, content, manifest, key));
  return Pushed{std::move(manifest)};
}

}  // namespace tf::record_sets
