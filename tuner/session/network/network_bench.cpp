#include "tuner/session/network/network_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/driver/run_apart.h"
#include "compiler/graph/element_values.h"

namespace tf::session {
namespace {

using Clock = std::chrono::steady_clock;
using driver::LoadedModel;

// The first answers are the right ones, and are kept in that file; others must be near them.
absl::Status check_answers(const std::string& path, const std::vector<graph::HostTensor>& answers,
                           double tolerance) {
  std::string all;
  std::vector<std::vector<double>> outputs;
  for (const graph::HostTensor& answer : answers) {
    if (!tensor::is_float(answer.element)) continue;  // an index may differ where two values tie
    const std::vector<double>& values =
        outputs.emplace_back(graph::read_floats(answer.element, answer.data->bytes()));
    all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  const absl::StatusOr<std::string> right = read_file(path);
  if (absl::IsNotFound(right.status())) return write_file(path, all);
  TF_RETURN_IF_ERROR(right.status());
  if (right->size() != all.size()) return absl::InternalError("its answers are of another size");
  const char* next = right->data();
  for (const std::vector<double>& got : outputs) {
    std::vector<double> want(got.size());
    std::memcpy(want.data(), next, want.size() * sizeof(double));
    next += want.size() * sizeof(double);
    double largest = 0;
    for (const double value : want)
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < want.size(); ++i) {
      if (!std::isfinite(want[i]) || std::fabs(got[i] - want[i]) <= tolerance * largest) continue;
      return absl::InternalError(absl::StrCat("its answers are wrong: ", got[i], " instead of ", want[i]));
    }
  }
  return absl::OkStatus();
}

// In the process that runs it.
absl::StatusOr<driver::Run> open_model(const std::string& folder, bool has_gpu, const std::string& answers,
                                       const NetworkBenchOptions& options) {
  const std::string driver(target::arch_name(options.target.arch));
  const tf_device device = {driver.c_str(), options.gpu, nullptr, nullptr};
  TF_ASSIGN_OR_RETURN(const std::shared_ptr<LoadedModel> model,
                      LoadedModel::open(folder, options.threads, has_gpu ? &device : nullptr));
  TF_RETURN_IF_ERROR(model->set_affinity(options.cpus));
  const std::vector<graph::HostTensor> inputs = driver::random_inputs(*model, 1);
  TF_ASSIGN_OR_RETURN(const std::vector<graph::HostTensor> outputs, model->run(inputs));
  TF_RETURN_IF_ERROR(check_answers(answers, outputs, options.allowed_numerics.empty() ? 0.01 : 0.1));
  TF_RETURN_IF_ERROR(model->bind(inputs));
  return driver::Run([model] { return model->run_bound(); });
}

class LocalBench final : public NetworkBench {
 public:
  LocalBench(driver::BuildPool& pool, NetworkBenchOptions options)
      : pool_(pool), options_(std::move(options)) {}

  absl::StatusOr<Open> build(records::Plan& plan, Clock::time_point deadline) override {
    TF_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::make());
    const auto folder = std::make_shared<const TemporaryFolder>(std::move(made));
    TF_ASSIGN_OR_RETURN(const bool has_gpu, build_in(folder->path(), plan, deadline));
    if (!first_) first_ = folder;
    return Open([folder, has_gpu, answers = first_, options = options_] {
      return driver::run_apart(
          [&] { return open_model(folder->path(), has_gpu, answers->file("answers"), options); },
          {.stop = options.stop});
    });
  }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }

  // Whether a kernel runs on a GPU.
  absl::StatusOr<bool> build_in(const std::string& folder, records::Plan& plan, Clock::time_point deadline) {
    std::jthread watch([this, deadline](const std::stop_token& built) {
      constexpr auto kLook = std::chrono::milliseconds(20);
      while (!built.stop_requested()) {
        if (is_stopped() || Clock::now() >= deadline) return pool_.cancel();
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
    return std::ranges::any_of(report->tasks, &driver::TaskReport::on_device);
  }

  driver::BuildPool& pool_;
  const NetworkBenchOptions options_;
  std::shared_ptr<const TemporaryFolder> first_;  // of the first build, which has the right answers
};

}  // namespace

std::unique_ptr<NetworkBench> make_network_bench(driver::BuildPool& pool, NetworkBenchOptions options) {
  return std::make_unique<LocalBench>(pool, std::move(options));
}

}  // namespace tf::session
