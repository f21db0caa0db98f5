#include "tuner/service/installation.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/random_id.h"

namespace tf::service {

absl::StatusOr<Installation> begin_run(const std::string& database_path) {
  const std::string path = companion_of(database_path, ".installation");
  Installation installation;
  const absl::StatusOr<std::string> kept = read_file(path);
  if (kept.ok()) {
    const std::vector<std::string> words = absl::StrSplit(*kept, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() != 2 || words[0].size() != 16 || !absl::SimpleAtoi(words[1], &installation.run_number)) {
      return absl::DataLossError(absl::StrCat(path, " is damaged: remove it; ",
                                              "leases of an earlier run end when their term expires"));
    }
    installation.id = words[0];
  } else if (absl::IsNotFound(kept.status())) {
    installation.id = rpc::random_id();
  } else {
    return kept.status();
  }
  ++installation.run_number;
  TF_RETURN_IF_ERROR(write_file(path, absl::StrCat(installation.id, " ", installation.run_number, "\n")));
  return installation;
}

}  // namespace tf::service
