#include "compiler/backends/cuda/bulk_probes.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::backends {
namespace {

constexpr int kThreads = 64;

// Two tiles by turns, each copied while the one before is read; shared memory as it is, byte by byte.
constexpr char kProbe[] = R"(
extern "C" __global__ void __launch_bounds__($THREADS) $ENTRY(const unsigned char* x, unsigned char* out, const __grid_constant__ tf_tensor_map tf_map_0) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  tf_bulk_copies<4> tf_bulk(shared_memory + 2 * $BYTES);
  const int places[$COUNT][$RANK] = {$PLACES};
  tf_bulk.copy(shared_memory, tf_map_0, $BYTES, $FIRST);
  tf_bulk.wait(1);
  for (int n = 0; n < $COUNT; ++n) {
    if (n + 1 < $COUNT) tf_bulk.copy(shared_memory + (n + 1) % 2 * $BYTES, tf_map_0, $BYTES, $NEXT);
    tf_bulk.wait(1);
    __syncthreads();
    for (int i = threadIdx.x; i < $BYTES; i += $THREADS) out[n * $BYTES + i] = shared_memory[n % 2 * $BYTES + i];
    __syncthreads();
  }
}
)";

struct ProbeTensor {
  const char* name;
  tensor::Element element;
  std::vector<int64_t> extents, box;
  std::vector<std::vector<int64_t>> places;  // where boxes begin, an index an axis
};

BulkProbe bulk_probe(const ProbeTensor& probe) {
  const auto size = static_cast<size_t>(tensor::element_bytes(probe.element));
  const tensor::Swizzle swizzle = tensor_units::line_swizzle(probe.element);
  size_t elements = 1, count = 1;
  for (const int64_t extent : probe.extents) elements *= static_cast<size_t>(extent);
  for (const int64_t extent : probe.box) count *= static_cast<size_t>(extent);
  BulkProbe made{.name = absl::StrCat("bulk_", probe.name),
                 .entry = absl::StrCat("probe_bulk_", probe.name),
                 .source = {},
                 .launch = {},
                 .before = std::string(elements * size, '\0'),
                 .after = std::string(probe.places.size() * count * size, '\0')};
  for (size_t i = 0; i < made.before.size(); ++i) made.before[i] = static_cast<char>(1 + i * 37 % 251);
  std::vector<std::string> places;
  for (size_t p = 0; p < probe.places.size(); ++p) {
    const std::vector<int64_t>& place = probe.places[p];
    places.push_back(absl::StrCat("{", absl::StrJoin(place.rbegin(), place.rend(), ", "), "}"));
    for (size_t n = 0; n < count; ++n) {
      size_t left = n, from = 0, step = 1;
      bool inside = true;
      for (size_t axis = place.size(); axis-- > 0;) {
        const auto box = static_cast<size_t>(probe.box[axis]);
        const int64_t at = place[axis] + static_cast<int64_t>(left % box);
        inside = inside && at >= 0 && at < probe.extents[axis];
        if (inside) from += static_cast<size_t>(at) * step;
        left /= box;
        step *= static_cast<size_t>(probe.extents[axis]);
      }
      const auto to = p * count + static_cast<size_t>(swizzle.of(static_cast<int64_t>(n)));
      if (inside) std::memcpy(&made.after[to * size], &made.before[from * size], size);
    }
  }
  const auto indices = [&](const char* number) {
    std::vector<std::string> all;
    for (size_t axis = 0; axis < probe.extents.size(); ++axis)
      all.push_back(absl::StrCat("places[", number, "][", axis, "]"));
    return absl::StrJoin(all, ", ");
  };
  made.source = absl::StrCat(cuda_dialect().bulk_copies,
                             absl::StrReplaceAll(kProbe, {{"$THREADS", absl::StrCat(kThreads)},
                                                          {"$ENTRY", made.entry},
                                                          {"$BYTES", absl::StrCat(count * size)},
                                                          {"$COUNT", absl::StrCat(probe.places.size())},
                                                          {"$RANK", absl::StrCat(probe.extents.size())},
                                                          {"$PLACES", absl::StrJoin(places, ", ")},
                                                          {"$FIRST", indices("0")},
                                                          {"$NEXT", indices("n + 1")}}));
  constexpr size_t kBarrierBytes = size_t{4} * 8;
  made.launch = {.entry = made.entry,
                 .grid = {"1", "1", "1"},
                 .block = {absl::StrCat(kThreads), "1", "1"},
                 .shared_bytes = absl::StrCat(2 * count * size + kBarrierBytes),
                 .resources = {},
                 .tensor_maps = {{.buffer = 0,
                                  .element_bytes = static_cast<uint32_t>(size),
                                  .extents = probe.extents,
                                  .box = probe.box}}};
  return made;
}

}  // namespace

std::vector<BulkProbe> bulk_probes(const target::Target& target) {
  if (!target.has("tma")) return {};
  using tensor::Element;
  const ProbeTensor probes[] = {
      {"b16", Element::kFloat16, {50, 200}, {16, 64}, {{0, 0}, {8, 64}, {40, 192}, {-3, -8}, {3, 128}}},
      {"b8", Element::kInt8, {20, 176}, {8, 128}, {{0, 0}, {16, 128}, {5, 48}}},
      {"b32", Element::kFloat32, {70, 36}, {32, 32}, {{0, 0}, {64, 32}, {1, 4}, {69, 0}}},
      {"b16_many_lines", Element::kFloat16, {300, 72}, {256, 64}, {{0, 0}, {256, 64}}},
      {"b16_in_3d", Element::kBFloat16, {3, 40, 64}, {1, 32, 64}, {{0, 0, 0}, {2, 16, 0}, {1, 32, 0}}},
  };
  std::vector<BulkProbe> all;
  for (const ProbeTensor& probe : probes) all.push_back(bulk_probe(probe));
  return all;
}

}  // namespace tf::backends
