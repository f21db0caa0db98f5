#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/connection/server.h"
#include "rpc/metrics/page.h"

namespace tf::rpc {
namespace {

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
    case MetricKind::kGauge:
      break;
  }
  return prometheus::MetricType::Gauge;
}

prometheus::ClientMetric::Histogram histogram_of(const DurationCounts& durations) {
  prometheus::ClientMetric::Histogram result;
  for (size_t i = 0; i < durations.bounds_s.size(); ++i)
    result.bucket.push_back({.cumulative_count = durations.at_most[i], .upper_bound = durations.bounds_s[i]});
  result.bucket.push_back(
      {.cumulative_count = durations.count, .upper_bound = std::numeric_limits<double>::infinity()});
  result.sample_count = durations.count;
  result.sample_sum = durations.sum_s;
  return result;
}

prometheus::MetricFamily to_prometheus(const MetricFamily& family) {
  prometheus::MetricFamily result;
  result.name = family.name;
  result.help = family.help;
  result.type = type_of(family.kind);
  for (const MetricSample& sample : family.samples) {
    prometheus::ClientMetric& metric = result.metric.emplace_back();
    for (const auto& [name, value] : sample.labels) metric.label.push_back({.name = name, .value = value});
    metric.counter.value = metric.gauge.value = sample.value;
    if (sample.durations) metric.histogram = histogram_of(*sample.durations);
  }
  return result;
}

class Families final : public prometheus::Collectable {
 public:
  explicit Families(ReadMetrics read) : read_(std::move(read)) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> result;
    for (const auto& families : {read_(), process_metrics()}) {
      for (const MetricFamily& family : families) result.push_back(to_prometheus(family));
    }
    return result;
  }

 private:
  const ReadMetrics read_;
};

}  // namespace

// The exposer goes first: it holds the families weakly.
struct MetricsPage::Parts {
  std::shared_ptr<Families> families;
  std::unique_ptr<prometheus::Exposer> exposer;
};

absl::StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::start(const std::string& listen, ReadMetrics read) {
  if (listen.empty()) return nullptr;
  TF_ASSIGN_OR_RETURN(Endpoint endpoint, metrics_endpoint(listen));
  if (endpoint.host == "localhost") endpoint.host = "127.0.0.1";  // the library wants an address
  TF_RETURN_IF_ERROR(check_bindable(endpoint, "--metrics"));
  auto parts = std::make_unique<Parts>();
  parts->families = std::make_shared<Families>(std::move(read));
  try {
    parts->exposer = std::make_unique<prometheus::Exposer>(endpoint.text());
    parts->exposer->RegisterCollectable(parts->families);
    endpoint.port = static_cast<uint16_t>(parts->exposer->GetListeningPorts().at(0));
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("--metrics: cannot serve on ", endpoint.text(), ": ", error.what()));
  }
  spdlog::info(absl::StrCat("metrics are on http://", endpoint.text(), "/metrics"));
  return std::unique_ptr<MetricsPage>(new MetricsPage(std::move(parts), std::move(endpoint)));
}

MetricsPage::MetricsPage(std::unique_ptr<Parts> parts, Endpoint endpoint)
    : parts_(std::move(parts)), endpoint_(std::move(endpoint)) {}

MetricsPage::~MetricsPage() = default;

}  // namespace tf::rpc
