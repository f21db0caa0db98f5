#include "tuner/measure/shared_builder.h"

#include <utility>

#include "proto/kernel/v1/kernel.pb.h"

namespace tf::measure {
namespace {

namespace kernel = tunefarm::kernel::v1;

// Artifacts of some ten KB each: what jobs that are submitted together do not ask for at the same moment.
constexpr size_t kMostKept = 512;

}  // namespace

class SharedBuilder::Share final : public driver::Builder {
 public:
  explicit Share(SharedBuilder& all) : all_(all) {}

  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    return all_.build(request, is_cancelled_);
  }
  int slots() const override { return all_.builder_.slots(); }
  void pause() override { all_.builder_.pause(); }
  void resume() override { all_.builder_.resume(); }
  void cancel() override {
    const std::scoped_lock lock(all_.mutex_);
    is_cancelled_ = true;
    all_.changed_.notify_all();
  }

 private:
  SharedBuilder& all_;
  bool is_cancelled_ = false;
};

std::unique_ptr<driver::Builder> SharedBuilder::share() {
  return std::make_unique<Share>(*this);
}

absl::StatusOr<kernel::BuildReply> SharedBuilder::build(const kernel::BuildRequest& request,
                                                        const bool& is_cancelled) {
  const Digest digest = sha256(request.SerializeAsString());
  std::unique_lock lock(mutex_);
  std::shared_ptr<Build> build;
  for (;;) {
    if (is_cancelled) return absl::CancelledError("the session is stopping");
    const auto [known, is_first] = builds_.try_emplace(digest);
    if (is_first) {
      build = known->second = std::make_shared<Build>();
      break;
    }
    build = known->second;
    changed_.wait(lock, [&] { return build->ended || is_cancelled; });
    if (build->reply) return *build->reply;
  }
  lock.unlock();
  absl::StatusOr<kernel::BuildReply> reply = builder_.build(request);
  lock.lock();
  end(digest, *build, reply.ok() ? std::make_shared<const kernel::BuildReply>(*reply) : nullptr);
  return reply;
}

// A refusal is for those who wait: the next one who asks may find the machine less loaded.
void SharedBuilder::end(const Digest& digest, Build& build, Reply reply) {
  build.ended = true;
  build.reply = std::move(reply);
  if (build.reply && build.reply->code() == 0) {
    kept_.push_back(digest);
  } else {
    builds_.erase(digest);
  }
  if (kept_.size() > kMostKept) {
    builds_.erase(kept_.front());
    kept_.pop_front();
  }
  changed_.notify_all();
}

}  // namespace tf::measure
