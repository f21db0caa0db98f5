#include "tuner/session/network_bench.h"

#include <optional>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/temporary_folder.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/driver/run_apart.h"
#include "proto/farm/v1/trial.pb.h"
#include "tuner/session/record_proto.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using driver::LoadedModel;

// In the process that runs it.
absl::StatusOr<driver::Run> open_model(const std::string& folder, const NetworkBenchOptions& options) {
  TF_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedModel> model, LoadedModel::open(folder, options.threads));
  TF_RETURN_IF_ERROR(model->set_affinity(options.cpus));
  TF_RETURN_IF_ERROR(model->bind(driver::random_inputs(*model, 1)));
  model->profile();
  return driver::Run([model]() -> absl::StatusOr<std::vector<double>> {
    TF_ASSIGN_OR_RETURN(const double ns, model->run_bound());
    std::vector<double> times_ns = {ns};
    for (const driver::KernelTime& kernel : model->kernel_times())
      times_ns.push_back(kernel.samples_ns.back());
    return times_ns;
  });
}

class LocalBench final : public NetworkBench {
 public:
  LocalBench(driver::BuildPool& pool, measure::Runner& runner, NetworkBenchOptions options)
      : pool_(pool), runner_(runner), options_(std::move(options)) {}

  absl::StatusOr<Open> build(records::Plan& plan) override {
    TF_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::make());
    const auto folder = std::make_shared<const TemporaryFolder>(std::move(made));
    TF_RETURN_IF_ERROR(build_in(folder->path(), plan));
    return Open([folder, options = options_] {
      return driver::run_apart([&] { return open_model(folder->path(), options); }, {.stop = options.stop});
    });
  }

  absl::StatusOr<database::DeviceState> device() override {
    TF_ASSIGN_OR_RETURN(const tunefarm::farm::v1::DeviceState state, runner_.device());
    return device_of(state, options_.device_class);
  }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  bool is_late() const { return Clock::now() >= options_.deadline; }

  absl::Status build_in(const std::string& folder, records::Plan& plan) {
    std::jthread watch([this](const std::stop_token& built) {
      constexpr auto kLook = std::chrono::milliseconds(20);
      while (!built.stop_requested()) {
        if (is_stopped() || is_late()) return pool_.cancel();
        std::this_thread::sleep_for(kLook);
      }
    });
    const absl::StatusOr<driver::ModelReport> report =
        driver::build_model(plan.program, plan.choices, pool_,
                            {.target = options_.target,
                             .threads = options_.threads,
                             .allowed_numerics = options_.allowed_numerics,
                             .folder = folder});
    if (absl::IsCancelled(report.status()) && !is_stopped())
      return absl::DeadlineExceededError("building the network took too long");
    TF_RETURN_IF_ERROR(report.status());
    for (size_t i = 0; i < plan.choices.size(); ++i) plan.choices[i] = report->tasks[i].used;
    return absl::OkStatus();
  }

  driver::BuildPool& pool_;
  measure::Runner& runner_;
  const NetworkBenchOptions options_;
};

}  // namespace

std::unique_ptr<NetworkBench> make_network_bench(driver::BuildPool& pool, measure::Runner& runner,
                                                 NetworkBenchOptions options) {
  return std::make_unique<LocalBench>(pool, runner, std::move(options));
}

}  // namespace tf::session
