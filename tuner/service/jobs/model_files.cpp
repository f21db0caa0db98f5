#include "tuner/service/jobs/model_files.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"

namespace tf::service {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".onnx";

// Of HEX.onnx, and of HEX.onnx.PID.tmp, which write_file leaves when it is killed. Nothing: it is no file of
// ours.
std::optional<Digest> digest_of(const std::string& file_name) {
  const size_t dot = file_name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string rest = file_name.substr(dot);
  if (rest != kSuffix && !(rest.starts_with(".onnx.") && rest.ends_with(".tmp"))) return std::nullopt;
  const absl::StatusOr<Digest> digest = Digest::from_hex(file_name.substr(0, dot));
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error)
    spdlog::warn(absl::StrCat("cannot remove the model ", path.string(),
                              ", which is no longer needed: ", error.message()));
}

// The model of an embedded run is its user's own file.
bool is_ours(const database::Job& job) {
  return !job.device.empty();
}

}  // namespace

ModelFiles::ModelFiles(const std::string& database_path) : folder_(companion_of(database_path, ".models")) {}

std::string ModelFiles::path_of(const Digest& digest) const {
  return absl::StrCat(folder_, "/", digest.hex(), kSuffix);
}

void ModelFiles::take_over(const std::vector<database::Job>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const database::Job& job : jobs) {
    if (!is_ours(job) || database::is_final(job.state)) continue;
    if (const auto digest = Digest::from_hex(job.model_digest); digest.ok()) ++uses_[*digest];
  }
  std::error_code error;  // no folder yet, or a bad disk: then they stay
  for (fs::directory_iterator at(folder_, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::optional<Digest> digest = digest_of(at->path().filename().string());
    if (!digest) continue;
    const bool is_whole = at->path().extension() == kSuffix;
    if (!is_whole || !uses_.contains(*digest)) remove_file(at->path());
  }
}

absl::StatusOr<std::string> ModelFiles::begin_use(const Digest& digest, std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++uses_[digest];  // from here on nobody removes it
  }
  const std::lock_guard writing(writing_);
  const std::string path = path_of(digest);
  std::error_code error;
  fs::create_directories(folder_, error);
  absl::Status kept;
  if (error) {
    kept = absl::InternalError(
        absl::StrCat("cannot make the folder ", folder_, " for models: ", error.message()));
  } else if (const uintmax_t size = fs::file_size(path, error); error || size != bytes.size()) {
    // write_file replaces in one step, so that a file of the right size is the right file.
    kept = write_file(path, bytes);
  }
  if (kept.ok()) return path;
  end_use(digest);
  return kept;
}

void ModelFiles::end_use(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  const auto found = uses_.find(digest);
  if (found == uses_.end() || --found->second > 0) return;
  uses_.erase(found);
  remove_file(path_of(digest));
}

void ModelFiles::end_use(const database::Job& job) {
  if (!is_ours(job)) return;
  if (const auto digest = Digest::from_hex(job.model_digest); digest.ok()) end_use(*digest);
}

}  // namespace tf::service
