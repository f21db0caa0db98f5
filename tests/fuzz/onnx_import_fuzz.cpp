// A model file, with little memory for constants that it only describes.
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/onnx/external_data.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "tests/fuzz/input.h"

namespace {

using namespace tf::graph;

void round_trip(const Graph& graph) {
  const BlobSource constants = [&](const tf::Digest& digest) -> BlobRef {
    for (const Node& node : graph.nodes) {
      if (const auto* known = as<Constant>(node); known && known->data->digest() == digest)
        return known->data;
    }
    return nullptr;
  };
  const std::string text = to_string(graph);
  const auto again = parse_graph(text, constants);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << text;
  TF_CHECK(to_string(*again) == text) << text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tf::frontends::ImportOptions options;
  options.most_made_bytes = 1 << 20;
  const auto graph = tf::frontends::import_model(tf::fuzz::text(data, size), options);
  // Of a model without external data the same bytes; without a folder there is none.
  const auto whole = tf::onnx::with_data_inside(tf::fuzz::text(data, size), {}, 1 << 20);
  if (graph.ok()) TF_CHECK(whole.ok() && *whole == tf::fuzz::text(data, size));
  if (!graph.ok()) return 0;
  TF_CHECK(verify(*graph).ok()) << verify(*graph).message();
  round_trip(*graph);
  return 0;
}
