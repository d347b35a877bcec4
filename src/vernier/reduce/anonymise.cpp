#include "vernier/reduce/anonymise.h"

#include <algorithm>

namespace vernier {

namespace {

constexpr int64_t kMostSizes = 16;  // elements of integers that say sizes, axes or positions

Tensor* tensor_of(ReproCase& whole, const std::string& name) {
  if (const auto given = whole.inputs.find(name); given != whole.inputs.end())
    return given->second.is_tensor() ? &given->second.tensor : nullptr;
  Tensor* found = nullptr;
  for_each_graph(*whole.model.graph, [&](Graph& graph) {
    if (Value* value = find_value(graph, name); value != nullptr && value->is_constant())
      found = &*value->constant;
  });
  return found;
}

std::vector<std::string> tensors_in(const ReproCase& whole) {
  std::vector<std::string> names;
  for (const auto& [name, datum] : whole.inputs) names.push_back(name);
  for_each_graph(*whole.model.graph, [&](const Graph& graph) {
    for (const auto& value : graph.values()) {
      if (value->is_constant() && !whole.inputs.contains(value->name)) names.push_back(value->name);
    }
  });
  return names;
}

// Why the content of a tensor stays as it is; "" if it can be replaced.
std::string reason_to_keep(const Tensor* tensor) {
  if (tensor == nullptr) return "is no tensor";
  if (tensor->size() == 0) return "";
  if (is_float(tensor->type())) return "";
  if (!is_integer(tensor->type()))
    return tensor->type() == ElementType::kBool ? "holds truth values" : "holds what has no statistics";
  const bool is_wide = tensor->type() == ElementType::kInt64 || tensor->type() == ElementType::kInt32;
  return is_wide && tensor->size() <= kMostSizes
             ? "holds a few integers, which may be sizes, axes or positions"
             : "";
}

void name_plainly(Graph& graph, std::map<std::string, size_t>& counts,
                  std::map<std::string, std::string>& inputs) {
  const auto next = [&](const std::string& kind) { return fmt::format("{}_{}", kind, ++counts[kind]); };
  const std::set<const Value*> given(graph.inputs.begin(), graph.inputs.end()),
      made(graph.outputs.begin(), graph.outputs.end());
  graph.name = next("graph");
  for (const auto& value : graph.values()) {
    const std::string kind = given.contains(value.get())  ? "input"
                             : value->is_constant()       ? "constant"
                             : made.contains(value.get()) ? "output"
                                                          : "value";
    const std::string name = next(kind);
    if (graph.parent() == nullptr && kind == "input") inputs[value->name] = name;
    value->name = name;
  }
  for (const auto& node : graph.nodes()) {
    node->name = next("node");
    node->provenance = {node->name};
    for (const auto& [name, region] : node->regions) name_plainly(*region, counts, inputs);
  }
}

class Anonymising {
 public:
  Anonymising(Shrinking& shrinking, uint64_t seed) : shrinking_(shrinking), seed_(seed) {}

  Anonymisation run() && {
    replace_content();
    replace_names();
    note_words();
    return std::move(result_);
  }

 private:
  ReproCase redrawn(const std::vector<std::string>& names) const {
    ReproCase candidate = copy(shrinking_.best());
    uint64_t seed = seed_;
    for (const std::string& name : names) {
      Tensor* tensor = tensor_of(candidate, name);
      *tensor = of_same_statistics(*tensor, ++seed);
    }
    return candidate;
  }

  void replace_content() {
    ReproCase look = copy(shrinking_.best());
    std::vector<std::string> names;
    for (const std::string& name : tensors_in(look)) {
      const std::string reason = reason_to_keep(tensor_of(look, name));
      if (reason.empty())
        names.push_back(name);
      else
        result_.kept.push_back(fmt::format("the content of {}: it {}", described(name), reason));
    }
    if (names.empty()) return;
    if (shrinking_.offer(redrawn(names))) {
      result_.tensors = names.size();
      return;
    }
    for (const std::string& name : names) {
      if (shrinking_.offer(redrawn({name})))
        ++result_.tensors;
      else
        result_.kept.push_back(
            fmt::format("the content of {}: with random numbers in its place the verdict is another one",
                        described(name)));
    }
  }

  // By its place: its name may tell what must not be told.
  std::string described(const std::string& name) const {
    const ReproCase& best = shrinking_.best();
    const auto& inputs = best.model.graph->inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->name == name) return fmt::format("input {}", i + 1);
    }
    size_t number = 0;
    for (const auto& value : best.model.graph->values()) {
      if (!value->is_constant()) continue;
      ++number;
      if (value->name == name) return fmt::format("constant {} ({})", number, value->type.text());
    }
    return "a constant of a region";
  }

  void replace_names() {
    result_.names = shrinking_.offer(with_plain_names(shrinking_.best()));
    if (!result_.names)
      result_.kept.emplace_back("the names of nodes and values: with others the verdict is another one");
  }

  void note_words() {
    std::set<std::string> domains, texts;
    for_each_graph(*shrinking_.best().model.graph, [&](const Graph& graph) {
      for (const auto& node : graph.nodes()) {
        if (!node->domain.empty()) domains.insert(node->qualified_op());
        for (const auto& [name, attribute] : node->attributes) {
          const bool is_foreign = !node->domain.empty();
          if (is_foreign && std::holds_alternative<std::string>(attribute.value()))
            texts.insert(fmt::format("attribute '{}' of {}", name, node->qualified_op()));
        }
      }
    });
    for (const std::string& each : domains)
      result_.kept.push_back(fmt::format("the name of the operator {}: it is what the node does", each));
    for (const std::string& each : texts) result_.kept.push_back(each + ": a text that may matter");
  }

  Shrinking& shrinking_;
  const uint64_t seed_;
  Anonymisation result_;
};

}  // namespace

ReproCase with_plain_names(const ReproCase& original) {
  ReproCase result = copy(original);
  std::map<std::string, size_t> counts;
  std::map<std::string, std::string> inputs;
  name_plainly(*result.model.graph, counts, inputs);
  NamedData renamed;
  for (auto& [name, datum] : result.inputs) {
    const auto found = inputs.find(name);
    renamed[found == inputs.end() ? name : found->second] = std::move(datum);
  }
  result.inputs = std::move(renamed);
  std::set<std::string> domains = {""};
  for_each_graph(*result.model.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) domains.insert(node->domain);
  });
  std::erase_if(result.model.opsets, [&](const auto& each) { return !domains.contains(each.first); });
  result.model.doc.clear();
  result.model.domain.clear();
  result.model.metadata.clear();
  result.model.producer = "vernier";
  result.model.producer_version.clear();
  return result;
}

Anonymisation anonymise(Shrinking& shrinking, uint64_t seed) {
  shrinking.begin("anonymisation");
  return Anonymising(shrinking, seed).run();
}

}  // namespace vernier
