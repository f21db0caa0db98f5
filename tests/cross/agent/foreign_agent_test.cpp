// The agent of a board, emulated: it registers at this build's tracker, is leased, runs kernels that our
// compiler made for its processor, and is believed only where they are right. Skipped where the agent has not
// been built for the board, or where there is no emulator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "compiler/driver/build_pool.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/workload.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/farm/harness.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf {
namespace {

namespace farm = tunefarm::farm::v1;
namespace fs = std::filesystem;
namespace kernel = tunefarm::kernel::v1;
using farm_test::Process;
using farm_test::program;

struct Board {
  std::string preset;    // whose build folder has the agent
  std::string emulator;  // of qemu-user
  std::string processor;
  std::string target;
  std::string machine;  // as the agent names its architecture
};
void PrintTo(const Board& each, std::ostream* out) {
  *out << each.preset;
}

class ForeignAgent : public ::testing::TestWithParam<Board> {
 protected:
  void SetUp() override {
    for (const char* folder : {"/usr/bin/", "/usr/local/bin/"}) {
      if (access((folder + GetParam().emulator).c_str(), X_OK) == 0) emulator_ = folder + GetParam().emulator;
    }
    if (emulator_.empty()) {
      GTEST_SKIP() << "there is no " << GetParam().emulator << " here: deploy/install_packages.sh --boards";
    }
    if (access(built("device_agent").c_str(), X_OK) != 0 ||
        access(built("trial_worker").c_str(), X_OK) != 0) {
      GTEST_SKIP() << "the agent has not been built for this board: deploy/package_agent.sh "
                   << GetParam().preset;
    }
    auto pool = driver::BuildPool::create({.worker_path = program("build_worker")});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    start_farm();
  }

  std::string built(const std::string& name) const {
    return std::string(TF_SOURCE_DIR) + "/build/" + GetParam().preset + "/bin/" + name;
  }

  // The emulator as the first words of a command.
  std::vector<std::string> emulated() const {
    return {emulator_, "-cpu", GetParam().processor, "-L",
            std::string(TF_SOURCE_DIR) + "/build/sysroot/" + GetParam().preset};
  }

  // Where the board's kernel would start trial_worker, this one starts a script that starts the emulator.
  void write_worker_script() {
    std::string script = "#!/bin/sh\nexec";
    for (const std::string& word : emulated()) script += " " + word;
    script += " " + built("trial_worker") + "\n";
    ASSERT_TRUE(write_file(dir_.path() + "/trial_worker", script).ok());
    fs::permissions(dir_.path() + "/trial_worker", fs::perms::owner_all);
    fs::copy_file(built("device_agent"), dir_.path() + "/device_agent");
  }

  void start_farm() {
    ASSERT_NO_FATAL_FAILURE(write_worker_script());
    tracker_ = std::make_unique<Process>(
        std::vector<std::string>{program("tracker"), "serve", "--listen", endpoint_.text(), "--state",
                                 dir_.path() + "/tracker.db"},
        dir_.path() + "/output");
    agent_ = std::make_unique<Process>(agent_command("board"), dir_.path() + "/output");
    for (int i = 0; i < 1500 && !runner_; ++i) {
      auto runner = measure::FarmRunner::connect({.tracker = endpoint_,
                                                  .device_key = "board",
                                                  .arch = GetParam().machine,
                                                  .first_wait = absl::Seconds(20)});
      if (runner.ok()) runner_ = *std::move(runner);
      if (!runner_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(runner_) << output();
  }

  // Of an agent with a state folder of its own. The emulator refuses seccomp and namespaces; what it has is
  // used.
  std::vector<std::string> agent_command(const std::string& key, std::vector<std::string> more = {}) const {
    std::vector<std::string> command = emulated();
    command.insert(command.end(), {dir_.path() + "/device_agent", "--tracker", endpoint_.text(), "--key", key,
                                   "--without-sandbox", "missing", "--state-dir", dir_.path() + "/" + key});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  std::string output(const std::string& file = "output") const {
    return read_file(dir_.path() + "/" + file).value_or("");
  }

  // y = relu(x w) or, where `right` is false, x w.
  static tensor::Workload workload(bool right) {
    ops::Builder b;
    const auto x = b.input("x", tensor::Element::kFloat32, {tensor::imm(9), tensor::imm(24)}, {-1, 1});
    const auto w = b.constant("w", tensor::Element::kFloat32, {tensor::imm(24), tensor::imm(31)}, {-1, 1});
    const tensor::Buffer product = ops::matmul(b, x, w);
    return *b.finish({right ? ops::relu(b, product) : product});
  }

  kernel::Artifact build(const tensor::Workload& what, bool reference) {
    return build(what, reference, GetParam().target);
  }

  kernel::Artifact build(const tensor::Workload& what, bool reference, const std::string& for_target) {
    const target::Target target = *target::parse_target(for_target);
    kernel::BuildRequest request;
    kernel::BuildKernelRequest& build = *request.mutable_kernel();
    build.set_workload(tensor::canonical_text(what));
    build.set_target(target.text());
    build.set_use(kernel::KERNEL_USE_DEVICE);
    build.set_entry(reference ? "reference" : "kernel");
    build.set_reference(reference);
    if (!reference)
      build.set_schedule(
          schedule::to_string(recipes::default_schedule({.workload = what, .target = target})));
    const absl::StatusOr<kernel::BuildReply> reply = pool_->build(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->code(), 0) << reply->message();
    return reply->artifact();
  }

  absl::StatusOr<farm::TrialResult> run_trial(const kernel::Artifact& candidate) {
    return run_trial(candidate, build(workload(true), true));
  }

  absl::StatusOr<farm::TrialResult> run_trial(const kernel::Artifact& candidate,
                                              const kernel::Artifact& right) {
    const std::string bytes = candidate.SerializeAsString(), reference = right.SerializeAsString();
    farm::Trial trial;
    trial.set_artifact_digest(sha256(bytes).hex());
    trial.set_reference_digest(sha256(reference).hex());
    trial.set_input_seed(7);
    trial.set_threads(1);
    trial.mutable_options()->set_samples(3);
    trial.mutable_options()->set_min_sample_ns(1'000'000);
    trial.mutable_options()->set_warmup_ns(1'000'000);
    trial.mutable_options()->set_cache_mode(farm::CACHE_MODE_ROTATE);
    trial.mutable_limits()->set_run_timeout_ns(30'000'000'000);
    trial.mutable_limits()->set_memory_bytes(1 << 30);
    trial.mutable_limits()->set_output_bytes(2000);
    absl::StatusOr<farm::TrialResult> result = runner_->run(farm_test::request(trial, bytes, reference));
    if (result.ok()) runner_->acknowledge(*result);
    return result;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const rpc::Endpoint endpoint_ = farm_test::free_endpoint();
  std::string emulator_;
  std::unique_ptr<driver::BuildPool> pool_;
  std::unique_ptr<Process> tracker_, agent_;
  std::unique_ptr<measure::FarmRunner> runner_;
};

// An emulator is as fast as it happens to be: a kernel may beat the peak that the agent measured. What is
// implausible had the right answer.
auto is_right() {
  return ::testing::AnyOf(farm::OUTCOME_OK, farm::OUTCOME_IMPLAUSIBLE);
}

TEST_P(ForeignAgent, RunsAKernelOfOurCompilerAndItsAnswerIsRight) {
  const absl::StatusOr<farm::TrialResult> result = run_trial(build(workload(true), false));
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << output();
  EXPECT_THAT(result->outcome(), is_right()) << result->detail();
  EXPECT_LT(result->max_error(), 1e-4);
  const measure::LeasedDevice device = runner_->leased_device();
  EXPECT_EQ(result->lease_id(), device.lease_id);
  EXPECT_GT(device.peak_gflops, 0);
  EXPECT_EQ(device.fingerprint, result->device().fingerprint());
}

TEST_P(ForeignAgent, GetsTheRightAnswerOfEveryOperator) {
  for (const test::SmallWorkload& small : test::small_workloads()) {
    SCOPED_TRACE(small.name);
    const tensor::Workload what = test::build_small(small);
    const absl::StatusOr<farm::TrialResult> result = run_trial(build(what, false), build(what, true));
    ASSERT_TRUE(result.ok()) << result.status() << "\n" << output();
    EXPECT_THAT(result->outcome(), is_right()) << result->detail();
  }
}

TEST_P(ForeignAgent, FindsOutAKernelThatGivesAnotherAnswer) {
  kernel::Artifact forged = build(workload(false), false);
  forged.mutable_manifest()->set_computation(tensor::workload_key(workload(true)).hex());
  const absl::StatusOr<farm::TrialResult> result = run_trial(forged);
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << output();
  EXPECT_EQ(result->outcome(), farm::OUTCOME_WRONG_OUTPUT) << result->detail();
}

TEST_P(ForeignAgent, SaysThatItServesNoMetrics) {
  Process agent(agent_command("other", {"--metrics", "127.0.0.1:0"}), dir_.path() + "/refused");
  EXPECT_EQ(agent.wait(), 1);
  EXPECT_THAT(output("refused"), ::testing::HasSubstr("without the metrics library"));
}

TEST_P(ForeignAgent, ExaminesItsBoardAndItsPlaceInTheFarm) {
  std::vector<std::string> command = agent_command("other");
  const auto program_name = std::ranges::find(command, dir_.path() + "/device_agent");
  command.insert(program_name + 1, "doctor");
  Process doctor(command, dir_.path() + "/examined");
  EXPECT_EQ(doctor.wait(), 0) << output("examined");
  EXPECT_THAT(output("examined"), ::testing::AllOf(::testing::HasSubstr("responds at " + endpoint_.text()),
                                                   ::testing::HasSubstr("the golden kernel takes")));
}

TEST_P(ForeignAgent, SaysOfAnotherProcessorsKernelThatItCannotBeLoaded) {
  const absl::StatusOr<farm::TrialResult> result = run_trial(build(workload(true), false, "host"));
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << output();
  EXPECT_EQ(result->outcome(), farm::OUTCOME_COMPILE_ERROR) << result->detail();
  EXPECT_THAT(result->detail(), ::testing::HasSubstr("load"));
}

TEST_P(ForeignAgent, HandsItsLeaseBackWhenItIsStopped) {
  agent_->signal(SIGTERM);
  EXPECT_TRUE(agent_->exited_within(30'000)) << output();
  EXPECT_EQ(agent_->wait(), 0) << output();
}

INSTANTIATE_TEST_SUITE_P(
    Boards, ForeignAgent,
    ::testing::Values(Board{"aarch64", "qemu-aarch64", "cortex-a72", "aarch64:cpu=cortex-a72", "aarch64"},
                      Board{"armv7", "qemu-arm", "cortex-a15", "armv7:cpu=cortex-a15", "armv7l"}),
    [](const auto& each) { return each.param.preset; });

}  // namespace
}  // namespace tf
