#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

struct AttributePlace {
  std::string node, attribute;
};

std::vector<AttributePlace> places_in(const Model& model) {
  std::vector<AttributePlace> places;
  for_each_graph(*model.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const auto& [name, attribute] : node->attributes) places.push_back({node->name, name});
    }
  });
  return places;
}

// False where it is not there any more.
bool drop(Model& model, const AttributePlace& place) {
  bool is_found = false;
  for_each_graph(*model.graph, [&](Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (node->name == place.node) is_found |= node->attributes.erase(place.attribute) > 0;
    }
  });
  return is_found;
}

}  // namespace

void drop_attributes(Shrinking& shrinking) {
  constexpr size_t kMostPlaces = 60;
  const auto places = places_in(shrinking.best().model);
  if (places.empty() || places.size() > kMostPlaces || shrinking.is_over()) return;
  shrinking.begin("attributes");
  ReproCase all = copy(shrinking.best());
  for (const AttributePlace& place : places) drop(all.model, place);
  if (shrinking.offer(std::move(all)) || places.size() == 1) return;
  for (const AttributePlace& place : places) {
    ReproCase candidate = copy(shrinking.best());
    if (drop(candidate.model, place)) shrinking.offer(std::move(candidate));
  }
}

}  // namespace vernier
