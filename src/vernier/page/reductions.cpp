#include "vernier/page/reductions.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

// Calls visit(tensor) for every value that was compared.
template <class Visit>
void for_each_tensor(Json& payload, const Visit& visit) {
  for (const char* document : {"report", "layers"}) {
    Json& report = payload[document];
    if (!report.is_object() || !report.contains("comparisons")) continue;
    for (Json& comparison : report["comparisons"]) {
      for (Json& tensor : comparison["tensors"]) visit(tensor);
    }
  }
}

bool is_inner_and_passes(const Json& tensor) {
  return !tensor["output"].get<bool>() && tensor["verdict"] != "fail";
}

bool drop_single_runs(Json& payload) {
  bool dropped = !payload["runs_ms"].empty();
  payload["runs_ms"] = Json::object();
  if (payload["report"].contains("samples")) {
    dropped |= !payload["report"]["samples"].empty();
    payload["report"]["samples"] = Json::array();
  }
  for_each_tensor(payload, [&](Json& tensor) { dropped |= tensor.erase("worst") > 0; });
  return dropped;
}

bool drop_histograms(Json& payload) {
  bool dropped = false;
  for_each_tensor(payload, [&](Json& tensor) {
    if (is_inner_and_passes(tensor)) dropped |= tensor["metrics"].erase("histogram") > 0;
  });
  return dropped;
}

bool drop_attributes(Json& payload) {
  bool dropped = false;
  if (!payload["graph"].is_object()) return dropped;
  for (Json& node : payload["graph"]["nodes"]) dropped |= node.erase("attributes") > 0;
  return dropped;
}

bool keep_one_metric(Json& payload) {
  bool dropped = false;
  for_each_tensor(payload, [&](Json& tensor) {
    if (!is_inner_and_passes(tensor)) return;
    Json kept{{"elements", tensor["metrics"]["elements"]}, {"mismatching", tensor["metrics"]["mismatching"]}};
    if (tensor["metrics"].contains("relative_l2")) kept["relative_l2"] = tensor["metrics"]["relative_l2"];
    tensor["metrics"] = std::move(kept);
    tensor["reasons"] = Json::array();
    dropped = true;
  });
  return dropped;
}

bool drop_graph(Json& payload) {
  const bool dropped = payload["graph"].is_object();
  payload["graph"] = nullptr;
  return dropped;
}

}  // namespace

const std::vector<PageReduction>& page_reductions() {
  static const std::vector<PageReduction> all = {
      {"what was measured of single samples and runs", drop_single_runs},
      {"histograms of inner values that pass", drop_histograms},
      {"attributes of nodes", drop_attributes},
      {"all metrics but relative L2 of inner values that pass", keep_one_metric},
      {"the network", drop_graph},
  };
  return all;
}

}  // namespace vernier
