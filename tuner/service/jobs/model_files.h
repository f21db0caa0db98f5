#pragma once
// Owns: the models of jobs that are not over, in a folder beside the database, each named by its digest: a
// job survives a restart of the tuner, and a model that is submitted twice is kept once. Does not know: what
// is in a model, what jobs do.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "database/record.h"

namespace tf::service {

// Thread-safe. Nobody else writes the folder: who has it holds the database.
class ModelFiles {
 public:
  // The folder is DATABASE.models, made when the first model comes.
  explicit ModelFiles(const std::string& database_path);

  // Counts a use for each job of the served tuner that is not over, and removes the models that then have
  // none and what a crash has left half-written. Called once, before the others.
  void take_over(const std::vector<database::Job>& jobs);

  // Keeps the bytes, durably, until each use has ended; the path of the file. If it fails, there is no use.
  absl::StatusOr<std::string> begin_use(const Digest& digest, std::string_view bytes);
  // The last one removes the file; what cannot be removed is tried again by the next process.
  void end_use(const Digest& digest);
  // Of the model of a job that is over.
  void end_use(const database::Job& job);

 private:
  std::string path_of(const Digest& digest) const;

  const std::string folder_;
  std::mutex writing_;  // of one file at a time; whoever ends a use does not wait for it
  std::mutex mutex_;
  std::map<Digest, int> uses_;
};

}  // namespace tf::service
