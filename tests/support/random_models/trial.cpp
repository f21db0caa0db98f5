#include "tests/support/random_models/trial.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/network.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"

namespace tf {
namespace {

using graph::HostTensor;
using tensor::Element;

std::string described(const HostTensor& x) {
  return absl::StrCat(std::string(tensor::element_name(x.element)), "[", absl::StrJoin(x.shape, ", "), "]");
}

// How far a result may be off, of itself and of the largest result.
double tolerance(Element element, bool is_reduced) {
  if (is_reduced) return 3e-2;
  if (element == Element::kFloat64) return 1e-6;
  return element == Element::kFloat32 ? 1e-4 : 1e-2;
}

// Why these differ; empty if they do not.
std::string difference(const HostTensor& ours, const HostTensor& theirs, bool is_reduced) {
  if (ours.element != theirs.element || ours.shape != theirs.shape)
    return absl::StrCat("is ", described(ours), ", not ", described(theirs));
  if (!tensor::is_float(ours.element)) {
    const auto a = graph::read_integers(ours.element, ours.data->bytes());
    const auto b = graph::read_integers(theirs.element, theirs.data->bytes());
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return absl::StrCat(described(ours), " element ", i, " is ", a[i], ", not ", b[i]);
    return "";
  }
  const auto a = graph::read_floats(ours.element, ours.data->bytes());
  const auto b = graph::read_floats(theirs.element, theirs.data->bytes());
  double largest = 0;
  for (double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  const double share = tolerance(ours.element, is_reduced);
  const double least = share / 100;  // what is left of numbers of about one that cancel
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::fabs(a[i] - b[i]);
    const double bound =
        is_reduced ? share * largest : std::max(least, share * (std::fabs(b[i]) + 0.1 * largest));
    if (!(off <= bound))
      return absl::StrCat(described(ours), " element ", i, " is ", a[i], ", not ", b[i], "; largest ",
                          largest);
  }
  return "";
}

absl::Status write_case(const onnx::RandomCase& test, const std::string& bytes, const std::string& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/test_data_set_0");
  TF_RETURN_IF_ERROR(write_file(folder + "/model.onnx", bytes));
  int i = 0;
  for (const onnx::RandomTensor& input : test.model.inputs()) {
    ::onnx::TensorProto proto;
    proto.set_name(input.name);
    proto.set_data_type(input.type);
    for (int64_t extent : input.shape) proto.add_dims(extent);
    proto.set_raw_data(input.bytes);
    TF_RETURN_IF_ERROR(
        write_file(absl::StrCat(folder, "/test_data_set_0/input_", i++, ".pb"), proto.SerializeAsString()));
  }
  return absl::OkStatus();
}

// What import needs to know when it builds is fixed: whole numbers in rows, or else everything.
absl::StatusOr<graph::Network> import_case(const std::string& path, std::vector<HostTensor>& inputs) {
  frontends::ImportOptions options;
  for (const HostTensor& input : inputs) options.shapes[input.name] = input.shape;
  absl::StatusOr<graph::Network> network = frontends::network_of_file(path, options);
  for (const bool all : {false, true}) {
    if (!absl::IsUnimplemented(network.status())) return network;
    options.fixed.clear();
    std::vector<HostTensor> others;
    for (const HostTensor& input : inputs) {
      if (all || (!tensor::is_float(input.element) && input.shape.size() <= 1))
        options.fixed[input.name] = input;
      else
        others.push_back(input);
    }
    absl::StatusOr<graph::Network> again = frontends::network_of_file(path, options);
    if (!again.ok()) continue;
    inputs = std::move(others);
    return again;
  }
  return network;
}

struct Build {
  int threads = 1;
  std::string allow;
};

class Trial {
 public:
  Trial(driver::BuildPool& pool, const TrialOptions& options) : pool_(pool), options_(options) {}

  TrialResult compare(const graph::Program& program, const std::vector<HostTensor>& inputs,
                      const std::vector<HostTensor>& expected) {
    std::vector<Build> builds;
    for (int threads : options_.threads) builds.push_back({threads, ""});
    for (const std::string& allow : options_.allow) builds.push_back({1, allow});
    for (const Build& build : builds) {
      const auto got = outputs(program, inputs, build);
      const std::string how =
          absl::StrCat(build.threads, " threads", build.allow.empty() ? "" : ", " + build.allow, ": ");
      if (!got.ok()) return {Verdict::kDifferent, how + std::string(got.status().message())};
      if (got->size() != expected.size())
        return {Verdict::kDifferent, absl::StrCat(how, got->size(), " outputs, not ", expected.size())};
      for (size_t i = 0; i < got->size(); ++i)
        if (const std::string text = difference((*got)[i], expected[i], !build.allow.empty()); !text.empty())
          return {Verdict::kDifferent, absl::StrCat(how, "output ", i, " ", text)};
    }
    return {};
  }

 private:
  absl::StatusOr<std::vector<HostTensor>> outputs(const graph::Program& program,
                                                  const std::vector<HostTensor>& inputs, const Build& build) {
    driver::BuildModelOptions options{
        .target = target_, .threads = build.threads, .folder = options_.folder + "/built"};
    std::filesystem::remove_all(options.folder);
    std::filesystem::create_directories(options.folder);
    if (!build.allow.empty()) options.allowed_numerics = {build.allow};
    const std::vector<std::optional<driver::ScheduleChoice>> untuned(program.tasks.size());
    TF_RETURN_IF_ERROR(driver::build_model(program, untuned, pool_, options).status());
    TF_ASSIGN_OR_RETURN(const auto model, driver::LoadedModel::open(options.folder, build.threads));
    return model->run(inputs);
  }

  driver::BuildPool& pool_;
  const TrialOptions& options_;
  const target::Target target_ = target::host_target();
};

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual:
      return "equal";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kRefusedByOnnxRuntime:
      return "no reference";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kExcluded:
      return "excluded";
  }
  return "";
}

TrialResult try_against(OnnxRuntime& reference, const onnx::RandomCase& test, driver::BuildPool& pool,
                        const TrialOptions& options) {
  onnx::RandomCase drawn = test;
  if (absl::Status status = write_case(test, drawn.model.bytes(), options.folder); !status.ok())
    return {Verdict::kDifferent, std::string(status.message())};
  const auto expected = reference.run(options.folder);
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < test.model.inputs().size(); ++i) {
    auto input = onnx::read_tensor(absl::StrCat(options.folder, "/test_data_set_0/input_", i, ".pb"));
    if (!input.ok())
      return {expected.ok() ? Verdict::kRefused : Verdict::kRefusedByOnnxRuntime,
              "input: " + std::string(input.status().message())};
    inputs.push_back(*std::move(input));
  }
  const auto network = import_case(options.folder + "/model.onnx", inputs);
  std::string refusal(network.status().message());
  if (refusal.starts_with(options.folder)) refusal.erase(0, options.folder.size() + 13);
  if (!expected.ok())
    return {Verdict::kRefusedByOnnxRuntime, absl::StrCat(std::string(expected.status().message()),
                                                         " | ours: ", network.ok() ? "taken" : refusal)};
  if (!network.ok()) return {Verdict::kRefused, refusal};
  const target::Target target = target::host_target();
  const auto program = graph::plan_network(*network, {.lanes = target.fp32_lanes()});
  if (!program.ok()) return {Verdict::kRefused, std::string(program.status().message())};
  return Trial(pool, options).compare(*program, inputs, *expected);
}

}  // namespace tf
