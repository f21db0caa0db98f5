#pragma once
// Owns: one Builder for all sessions of a process. Each has a share, which it can cancel without the others,
// and what two of them ask for is built once: sessions for the same target begin with the same candidates.
// Does not know: sessions, what is built.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/digest.h"
#include "compiler/driver/builder.h"

namespace tf::measure {

// Thread-safe; outlives its shares.
class SharedBuilder {
 public:
  explicit SharedBuilder(driver::Builder& builder) : builder_(builder) {}

  // cancel() of a share ends what waits in it at once; what the workers have begun for it comes to its end,
  // for another may want it. pause() and resume() are everybody's.
  std::unique_ptr<driver::Builder> share();

 private:
  class Share;
  using Reply = std::shared_ptr<const tunefarm::kernel::v1::BuildReply>;
  struct Build {
    bool ended = false;
    Reply reply;  // null once it has ended: nothing was built
  };

  absl::StatusOr<tunefarm::kernel::v1::BuildReply> build(const tunefarm::kernel::v1::BuildRequest& request,
                                                         const bool& is_cancelled);
  void end(const Digest& digest, Build& build, Reply reply);

  driver::Builder& builder_;
  std::mutex mutex_;  // of the shares' is_cancelled, too
  std::condition_variable changed_;
  std::map<Digest, std::shared_ptr<Build>> builds_;  // by their requests: under way, and the last ones
  std::deque<Digest> kept_;                          // of those that have ended, oldest first
};

}  // namespace tf::measure
