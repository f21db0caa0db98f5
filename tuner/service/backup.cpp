#include "tuner/service/backup.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/record.h"
#include "database/sqlite/backup.h"
#include "database/sqlite/sqlite_store.h"

namespace tf::service {
namespace {

namespace fs = std::filesystem;

// Jobs end between the copy of the database and that of their models, but hardly so often in turn.
constexpr int kTries = 5;

std::string models_of(const std::string& database) {
  return companion_of(database, ".models");
}

// Digests of the models that jobs still need; an embedded run's model is its user's own file.
std::set<std::string> needed_models(const std::vector<database::Job>& jobs) {
  std::set<std::string> digests;
  for (const database::Job& job : jobs)
    // A file may be anybody's, and a path is made of it.
    if (!job.device.empty() && !database::is_final(job.state) && Digest::from_hex(job.model_digest).ok())
      digests.insert(job.model_digest);
  return digests;
}

// NOT_FOUND: the model has gone, because the last job that needed it has ended, or somebody removed it.
absl::Status copy_model(const std::string& from, const std::string& to, const std::string& digest) {
  const std::string name = absl::StrCat("/", digest, ".onnx");
  TF_ASSIGN_OR_RETURN(const std::string bytes, read_file(models_of(from) + name));
  return write_file(models_of(to) + name, bytes);
}

absl::Status copy_models(const std::string& from, const std::string& to,
                         const std::set<std::string>& digests) {
  if (digests.empty()) return absl::OkStatus();
  std::error_code error;
  fs::create_directories(models_of(to), error);
  if (error)
    return absl::InternalError(absl::StrCat("cannot make the folder ", models_of(to), ": ", error.message()));
  for (const std::string& digest : digests) TF_RETURN_IF_ERROR(copy_model(from, to, digest));
  return absl::OkStatus();
}

void remove_all(const std::string& database) {
  std::error_code ignored;
  fs::remove(database, ignored);
  fs::remove_all(models_of(database), ignored);
}

absl::Status model_missing(const std::string& from, const absl::Status& why) {
  return with_remedy(
      absl::StatusCode::kDataLoss,
      absl::StrCat("an unfinished job of ", from, " has no model file any more: ", why.message()),
      "cancel that job (`tuner jobs`, `tuner cancel`), or restore the file", Between::kSemicolon);
}

}  // namespace

absl::StatusOr<BackupContents> back_up(const std::string& from, const std::string& to) {
  if (!database::is_missing(models_of(to)))
    return with_remedy(absl::StatusCode::kAlreadyExists,
                       absl::StrCat("the folder ", models_of(to), " already exists"), "give a new path",
                       Between::kSemicolon);
  absl::Status copied;
  for (int i = 0; i < kTries; ++i) {
    TF_ASSIGN_OR_RETURN(const std::vector<database::Job> jobs, database::copy_sqlite_file(from, to));
    const std::set<std::string> digests = needed_models(jobs);
    copied = copy_models(from, to, digests);
    if (copied.ok()) return BackupContents{.jobs = std::ssize(jobs), .models = std::ssize(digests)};
    remove_all(to);
    if (!absl::IsNotFound(copied)) return copied;
  }
  return model_missing(from, copied);
}

}  // namespace tf::service
