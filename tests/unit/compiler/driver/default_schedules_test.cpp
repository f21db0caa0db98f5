// Which schedules a build tries for a kernel without a record, by a builder that refuses some of them.
#include <gmock/gmock.h>

#include <set>

#include "base/status.h"
#include "compiler/driver/builder.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/recipes/recipes.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/unit/compiler/driver/built_model.h"
#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;

// Another builder, that can build the first `refused` schedules of no kernel, in the order in which they are asked for.
class PickyBuilder : public Builder {
 public:
  PickyBuilder(Builder& other, size_t refused) : other_(other), refused_(refused) {}

  absl::StatusOr<proto::BuildReply> build(const proto::BuildRequest& request) override {
    if (request.has_kernel()) {
      asked.push_back(request.kernel().schedule());
      if (asked.size() <= refused_) {
        proto::BuildReply reply;
        reply.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
        reply.set_message("not this one");
        return reply;
      }
    }
    absl::StatusOr<proto::BuildReply> reply = other_.build(request);
    if (reply.ok() && request.has_kernel() && asked.size() <= workspace_bytes.size())
      reply->mutable_artifact()->mutable_manifest()->set_workspace_bytes(workspace_bytes[asked.size() - 1]);
    return reply;
  }
  int slots() const override { return 1; }
  void cancel() override {}

  std::vector<std::string> asked;
  std::vector<uint64_t> workspace_bytes;  // that the first kernels take instead of theirs

 private:
  Builder& other_;
  const size_t refused_;
};

class DefaultSchedules : public BuiltModel {
 protected:
  void SetUp() override {
    graph::Network network;
    network.dims = {{{tensor::var("n"), 1, 40}}};
    network.at = [](const tensor::Binding& sizes) -> absl::StatusOr<graph::Graph> {
      const std::string n = std::to_string(sizes.at("n"));
      return graph::parsed("x = input() \"x\" : f32[" + n + ", 2, 24]\n" + "y = input() \"y\" : f32[" + n +
                           ", 24, 16]\n" +
                           "z = matmul(x, y; transpose_a=false, transpose_b=false) \"z\" : f32[" + n +
                           ", 2, 16]\n" + "output \"z\" = z\n");
    };
    const auto program = graph::plan_network(network, graph::layout_options(target::host_target()));
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *program;
    program_.variants.clear();
    std::erase_if(program_.tasks, [](const graph::Task& task) { return task.at_sizes.empty(); });
    ASSERT_EQ(program_.tasks.size(), 1u);
    const auto pool = BuildPool::create({.workers = 1, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    ASSERT_TRUE(pool.ok());
  }

  // What was asked for until the build ended.
  std::vector<std::string> asked(size_t refused, const std::string& target = "",
                                 const std::vector<uint64_t>& workspace_bytes = {}) {
    const auto pool = BuildPool::create({.workers = 1, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    EXPECT_TRUE(pool.ok());
    PickyBuilder builder(**pool, refused);
    builder.workspace_bytes = workspace_bytes;
    const std::vector<std::optional<ScheduleChoice>> untuned(1);
    const auto report =
        build_model(program_, untuned, builder,
                    {.target = target.empty() ? target::host_target() : *target::parse_target(target),
                     .folder = folder_});
    status_ = report.status();
    if (report.ok()) task_ = report->tasks[0];
    if (report.ok()) workspace_bytes_ = report->workspace_bytes;
    return builder.asked;
  }

  // Those of the sketches at each size, of which the first is the default schedule.
  std::vector<std::string> all(const std::string& target = "") const {
    std::vector<std::string> texts;
    for (const tensor::KernelSpec& kernel : program_.tasks[0].at_sizes) {
      tensor::KernelSpec spec = kernel;
      spec.workload = *tensor::bind(kernel.workload, kernel.binding);
      spec.binding.clear();
      spec.target = target.empty() ? target::host_target() : *target::parse_target(target);
      for (const recipes::Sketch& sketch : recipes::sketches_of(spec))
        texts.push_back(schedule::to_string(recipes::instantiate(sketch, sketch.default_point())));
      EXPECT_THAT(texts, testing::Contains(schedule::to_string(recipes::default_schedule(spec))));
    }
    return texts;
  }

  graph::Program program_;
  absl::Status status_;
  TaskReport task_;
  uint64_t workspace_bytes_ = 0;
};

TEST_F(DefaultSchedules, AreThoseOfTheSketchesAtEachSizeUntilOneIsLegal) {
  const std::vector<std::string> order = all();
  ASSERT_GE(order.size(), 3u);
  for (const size_t refused : {size_t{0}, size_t{2}, order.size() - 1}) {
    EXPECT_THAT(asked(refused), testing::ElementsAreArray(
                                    order.begin(), order.begin() + static_cast<ptrdiff_t>(refused) + 1));
    EXPECT_TRUE(status_.ok()) << status_;
  }
}

TEST_F(DefaultSchedules, AreNoneIfNoSketchIsLegal) {
  std::vector<std::string> order = all();
  order.push_back(schedule::to_string(schedule::Schedule{}));
  EXPECT_THAT(asked(order.size() - 1), testing::ElementsAreArray(order));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(asked(order.size()), order);
  EXPECT_THAT(status_.message(), testing::HasSubstr("its default schedule does not compile: not this one"));
}

// One thread of a device would take all day.
TEST_F(DefaultSchedules, OfADeviceAreNotNone) {
  std::vector<std::string> order = all("opencl");
  const size_t refused = order.size();
  order.push_back(all().front());
  EXPECT_EQ(asked(refused, "opencl"), order);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_TRUE(task_.on_host && !task_.on_device);
  EXPECT_THAT(task_.why_on_host, testing::HasSubstr("not this one"));
}

// Of the first size for which one is legal.
TEST_F(DefaultSchedules, OfADeviceTakeLittleWorkspaceIfOneDoes) {
  constexpr uint64_t kMuch = uint64_t{1} << 30;
  const std::vector<std::string> order = all("opencl");
  ASSERT_EQ(order.size() % program_.tasks[0].at_sizes.size(), 0u);
  const size_t count = order.size() / program_.tasks[0].at_sizes.size();
  ASSERT_GE(count, 3u);
  EXPECT_EQ(asked(0, "opencl", {1000}).size(), 1u);
  EXPECT_EQ(workspace_bytes_, 1000u);
  EXPECT_EQ(asked(0, "opencl", {kMuch, 2000, 1000}).size(), 2u);
  EXPECT_EQ(workspace_bytes_, 2000u);
  std::vector<uint64_t> all_take_much(count, kMuch + 2);
  all_take_much[1] = kMuch;
  EXPECT_EQ(asked(0, "opencl", all_take_much).size(), count);
  EXPECT_EQ(workspace_bytes_, kMuch);
  EXPECT_TRUE(status_.ok() && task_.on_device && !task_.on_host) << status_;
}

}  // namespace
}  // namespace tf::driver
