#include "tests/bench/peers/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tf::peers {
namespace {

bool is_ours(const Entry& entry) {
  return entry.name == "tunefarm";
}

// Of each round.
std::vector<double> arithmetic_ns(double flops, const Turns& turns) {
  std::vector<double> ns;
  for (const double gflops : turns.peak_gflops) ns.push_back(flops / gflops);
  return ns;
}

Entry make_entry(const Contender& contender, double flops, const std::vector<double>& ns,
                 const Turns& turns) {
  const std::vector<double> arithmetic = arithmetic_ns(flops, turns);
  std::vector<double> gflops, shares_of_peak, shares_of_floor;
  for (size_t round = 0; round < ns.size(); ++round) {
    gflops.push_back(flops / ns[round]);
    shares_of_peak.push_back(arithmetic[round] / ns[round]);
    shares_of_floor.push_back(std::max(arithmetic[round], turns.memory_ns[round]) / ns[round]);
  }
  return {.name = contender.name,
          .note = contender.note,
          .ns = median_of(ns).value,
          .gflops = median_of(std::move(gflops)),
          .share_of_peak = median_of(std::move(shares_of_peak)),
          .share_of_floor = median_of(std::move(shares_of_floor)),
          .ours_times_as_fast = times_as_fast(turns.ns.front(), ns)};
}

nlohmann::json to_json(const Median& median) {
  return {{"median", median.value}, {"low", median.low}, {"high", median.high}};
}

void print_mean(const char* what, const std::vector<Median>& ratios) {
  if (ratios.empty()) return;
  std::vector<double> medians;
  double least_bound = ratios[0].low;
  for (const Median& ratio : ratios) {
    medians.push_back(ratio.value);
    least_bound = std::min(least_bound, ratio.low);
  }
  std::printf("%-60s %5.2f in geometric mean of %zu, least %.2f, least lower bound %.2f\n", what,
              geometric_mean(medians), medians.size(), *std::min_element(medians.begin(), medians.end()),
              least_bound);
}

const char* limit_name(Limit limit) {
  return limit == Limit::kMemory ? "mem" : "fma";
}

struct Named {
  std::string name;
  double value;
};

void print_spread(const char* what, const std::vector<Named>& shares) {
  if (shares.empty()) return;
  std::vector<double> values;
  const Named* least = &shares[0];
  for (const Named& share : shares) {
    values.push_back(share.value);
    if (share.value < least->value) least = &share;
  }
  std::printf("  %-15s %5.2f of %3zu, least %.2f %s\n", what, geometric_mean(values), shares.size(),
              least->value, least->name.c_str());
}

void print_family_summary(bench::Family family, std::span<const Row> rows) {
  std::vector<Named> ratios, floors;
  for (const Row& row : rows) {
    if (row.family != family || !std::holds_alternative<bench::NetworkKernel>(row.kernel.shape)) continue;
    floors.push_back({row.kernel.name, row.entries.front().share_of_floor.value});
    if (const Entry* peer = row.best_peer())
      ratios.push_back({row.kernel.name, peer->ours_times_as_fast.value});
  }
  if (floors.empty()) return;
  std::printf("%s\n", bench::name_of(family).c_str());
  print_spread("times as fast", ratios);
  print_spread("share of floor", floors);
}

// Neither small nor skinny nor of one row.
bool is_large(const bench::Gemm& gemm) {
  return std::min({gemm.m, gemm.n, gemm.k}) >= 256;
}

}  // namespace

const Entry* Row::best_peer() const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    if (!is_ours(entry) && (best == nullptr || entry.ns < best->ns)) best = &entry;
  }
  return best;
}

const Entry* Row::find(std::string_view name) const {
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Row make_row(const bench::Kernel& kernel, std::span<const Contender> contenders, const Turns& turns) {
  const double flops = bench::flops_of(kernel);
  const double arithmetic = median_of(arithmetic_ns(flops, turns)).value,
               memory = median_of(turns.memory_ns).value;
  Row row{.kernel = kernel,
          .family = bench::family_of(kernel),
          .limit = memory > arithmetic ? Limit::kMemory : Limit::kArithmetic,
          .floor_ns = std::max(arithmetic, memory),
          .entries = {}};
  for (size_t i = 0; i < contenders.size(); ++i)
    row.entries.push_back(make_entry(contenders[i], flops, turns.ns[i], turns));
  return row;
}

void print_header() {
  std::printf("%-44s %10s %8s %10s  %-15s %10s  %s\n", "kernel", "ours us", "GFLOP/s", "of limit",
              "best peer", "us", "times as fast [95%]   schedule");
}

void print_family(bench::Family family) {
  std::printf("- %s\n", bench::name_of(family).c_str());
}

void print_row(const Row& row) {
  const Entry& ours = row.entries.front();
  std::printf("%-44s %10.1f %8.1f %6.1f%% %s  ", row.kernel.name.c_str(), ours.ns / 1e3, ours.gflops.value,
              100 * ours.share_of_floor.value, limit_name(row.limit));
  if (const Entry* peer = row.best_peer()) {
    const Median& ratio = peer->ours_times_as_fast;
    std::printf("%-15s %10.1f  %5.2f [%4.2f, %4.2f]     %s\n", peer->name.c_str(), peer->ns / 1e3,
                ratio.value, ratio.low, ratio.high, ours.note.c_str());
  } else {
    std::printf("%-15s %10s  %-19s     %s\n", "-", "-", "-", ours.note.c_str());
  }
  std::fflush(stdout);
}

void print_entries(const Row& row) {
  for (const Entry& entry : row.entries) {
    std::printf(
        "  %-16s %10.1f us %8.1f GFLOP/s [%.1f, %.1f] %5.1f%% of peak; ours %.2f [%.2f, %.2f] times as fast  "
        "%s\n",
        entry.name.c_str(), entry.ns / 1e3, entry.gflops.value, entry.gflops.low, entry.gflops.high,
        100 * entry.share_of_peak.value, entry.ours_times_as_fast.value, entry.ours_times_as_fast.low,
        entry.ours_times_as_fast.high, entry.note.c_str());
  }
}

void print_summary(std::span<const Row> rows) {
  std::vector<Median> large, small, convolutions;
  for (const Row& row : rows) {
    if (std::holds_alternative<bench::NetworkKernel>(row.kernel.shape)) continue;
    const bench::Gemm* gemm = std::get_if<bench::Gemm>(&row.kernel.shape);
    const Entry* openblas = row.find("openblas");
    if (gemm != nullptr && !is_large(*gemm) && openblas != nullptr)
      small.push_back(openblas->ours_times_as_fast);
    const Entry* peer = row.best_peer();
    if (peer == nullptr || (gemm != nullptr && !is_large(*gemm))) continue;
    (gemm != nullptr ? large : convolutions).push_back(peer->ours_times_as_fast);
  }
  print_mean("GEMMs, all extents 256 and above, times as fast as the best peer", large);
  print_mean("other GEMMs, times as fast as OpenBLAS", small);
  print_mean("convolutions, times as fast as oneDNN's best", convolutions);
  for (int family = 0; family <= static_cast<int>(bench::Family::kMovement); ++family)
    print_family_summary(static_cast<bench::Family>(family), rows);
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json contenders = nlohmann::json::array();
  for (const Entry& entry : row.entries) {
    contenders.push_back({{"name", entry.name},
                          {"note", entry.note},
                          {"median_ns", entry.ns},
                          {"gflops", to_json(entry.gflops)},
                          {"share_of_peak", to_json(entry.share_of_peak)},
                          {"share_of_floor", to_json(entry.share_of_floor)},
                          {"ours_times_as_fast", to_json(entry.ours_times_as_fast)}});
  }
  const bench::Traffic traffic = bench::traffic_of(row.kernel);
  nlohmann::json result = {
      {"kernel", row.kernel.name},
      {"family", bench::name_of(row.family)},
      {"flops", bench::flops_of(row.kernel)},
      {"bytes", traffic.read_bytes + traffic.written_bytes},
      {"floor", {{"limit", row.limit == Limit::kMemory ? "memory" : "arithmetic"}, {"ns", row.floor_ns}}},
      {"contenders", contenders}};
  if (const auto* part = std::get_if<bench::NetworkKernel>(&row.kernel.shape)) {
    result["network"] = {{"name", part->network->name},
                         {"task", part->task.label},
                         {"runs", part->task.count},
                         {"nodes", part->task.nodes}};
  }
  if (const Entry* peer = row.best_peer()) result["best_peer"] = peer->name;
  return result;
}

}  // namespace tf::peers
