#include "tuner/service/uploads.h"

#include "absl/strings/str_cat.h"

namespace tf::service {

Uploads::Turn::~Turn() {
  if (uploads_ == nullptr) return;
  const std::lock_guard lock(uploads_->mutex_);
  uploads_->of_.erase(one_);
}

absl::StatusOr<Uploads::Turn> Uploads::begin(const std::string& submitter) {
  const std::lock_guard lock(mutex_);
  if (of_.count(submitter) < kMostEach) return Turn(*this, of_.insert(submitter));
  return absl::UnavailableError(absl::StrCat(kMostEach, " models of ",
                                             submitter.empty() ? "submitters without a name" : submitter,
                                             " are on their way here already: try again when they are"));
}

}  // namespace tf::service
