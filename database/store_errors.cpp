#include "database/store_errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/remedy.h"
#include "base/text/printable.h"

namespace tf::database {

absl::Status check_key_prefix(const std::string& key_or_prefix) {
  const bool hexadecimal = key_or_prefix.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hexadecimal && key_or_prefix.size() >= 6 && key_or_prefix.size() <= 64) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", key_or_prefix, "\" is not a workload key; give 6 to 64 of its first hexadecimal digits"));
}

absl::Status unknown_workload(const std::string& key_or_prefix) {
  return absl::NotFoundError(absl::StrCat("the database has no workload ", key_or_prefix,
                                          "; tune the network first (`compiler tasks` lists its keys)"));
}

absl::Status ambiguous_workload(const std::string& key_or_prefix) {
  return absl::InvalidArgumentError(
      absl::StrCat("several workload keys begin with ", key_or_prefix, "; give more digits"));
}

absl::Status workload_missing(const Digest& key) {
  return absl::FailedPreconditionError(
      absl::StrCat("the database has no workload ", key.hex(), "; add the workload before its measurements"));
}

// By what every sqlite3 has: Debian's knows no `.recover`. A dump says neither what the file is nor its
// schema's version, by which it is known again, and undoes itself where it met damage.
absl::Status damaged_file(const std::string& path, const std::string& reason, const std::string& use) {
  const std::string what = printable(absl::StrReplaceAll(reason, {{"\n", " "}}));
  return with_remedy(
      absl::StatusCode::kDataLoss,
      absl::StrCat("cannot use ", path, " as ", use, ": it is damaged (", what, ")"),
      absl::StrCat("restore a copy, or rescue what is left into a file NEW with: (sqlite3 ", path,
                   " .dump | sed 's/^ROLLBACK.*/COMMIT;/'; for p in application_id user_version; do echo "
                   "\"PRAGMA $p=$(sqlite3 ",
                   path, " \"PRAGMA $p\");\"; done) | sqlite3 NEW"),
      Between::kSemicolon);
}

absl::Status refused(const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat("a measurement was refused: ", std::string(why.message()),
                                                 "; store only that it is implausible"));
}

absl::Status unknown_record(const Digest& digest) {
  return absl::NotFoundError(absl::StrCat("the database has no record ", digest.hex(), "; import it"));
}

absl::Status unknown_row(int64_t row) {
  return absl::NotFoundError(absl::StrCat("the database has no measurement in row ", row));
}

absl::Status fenced(const LeaseStamp& lease, uint64_t highest_epoch) {
  return absl::AbortedError(absl::StrCat("lease ", lease.lease_id, " of slot ", lease.slot, " has epoch ",
                                         lease.epoch, ", but the slot is at epoch ", highest_epoch,
                                         "; the result was dropped, measure it again under a current lease"));
}

absl::Status unknown_job(int64_t id) {
  return absl::NotFoundError(absl::StrCat("there is no job ", id, "; `tuner jobs` lists them"));
}

absl::Status final_job(const Job& job) {
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", job.id, " is ", std::string(job_state_name(job.state)), " and cannot change; submit it again"));
}

}  // namespace tf::database
