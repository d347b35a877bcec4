#include "vernier/diagnose/under_test/unshown_regions.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

bool can_be_grouped(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  if (!node.regions.empty() || def == nullptr || (def->traits & ops::kNondeterministic) != 0) return false;
  if (node.inputs.empty()) return false;  // what reads of a constant is no region with what else does
  const auto is_tensor = [](const Value* value) { return value == nullptr || value->type.is_tensor(); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), is_tensor) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), is_tensor);
}

// Nodes by number, in execution order, and which regions they are in.
class Regions {
 public:
  Regions(const Graph& graph, const std::set<std::string>& shown) : graph_(graph), shown_(shown) {
    for (const auto& node : graph.nodes()) {
      for (const Value* output : node->outputs) producers_[output] = groupable_.size();
      groupable_.push_back(can_be_grouped(*node));
    }
    producers_.erase(nullptr);
    // Regions that wait for each other become one. Where a node between them stays by itself, their nodes do,
    // too.
    do {
      join_over_unshown();
    } while (!join_cycles());
  }

  // The regions, each with its nodes in execution order, in an order in which they can run.
  std::vector<std::vector<size_t>> in_order() const {
    std::map<size_t, std::vector<size_t>> members;
    for (size_t i = 0; i < region_.size(); ++i) members[region_[i]].push_back(i);
    std::vector<std::vector<size_t>> order;
    std::set<size_t> done;
    while (order.size() < members.size()) {
      const size_t before = order.size();
      for (const auto& [region, nodes] : members) {
        if (done.contains(region) || !all_done(nodes, region, done)) continue;
        done.insert(region);
        order.push_back(nodes);
      }
      if (order.size() == before) throw internal_error("regions of unshown values wait for each other");
    }
    return order;
  }

 private:
  // Lists what the node reads of others, values that its regions read included.
  std::vector<size_t> sources_of(size_t number) const {
    const Node& node = *graph_.nodes()[number];
    std::vector<size_t> sources;
    const auto add = [&](const Value* value) {
      if (const auto found = producers_.find(value); found != producers_.end())
        sources.push_back(found->second);
    };
    for (const Value* input : node.inputs) add(input);
    for (const Value* captured : captured_values(node)) add(captured);
    return sources;
  }

  bool all_done(const std::vector<size_t>& nodes, size_t region, const std::set<size_t>& done) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](size_t node) {
      const auto sources = sources_of(node);
      return std::all_of(sources.begin(), sources.end(), [&](size_t source) {
        return region_[source] == region || done.contains(region_[source]);
      });
    });
  }

  void join_over_unshown() {
    region_.resize(groupable_.size());
    for (size_t i = 0; i < region_.size(); ++i) region_[i] = i;
    const std::set<const Value*> outputs(graph_.outputs.begin(), graph_.outputs.end());
    for (size_t i = 0; i < region_.size(); ++i) {
      for (const Value* input : graph_.nodes()[i]->inputs) {
        const auto producer = producers_.find(input);
        if (producer == producers_.end() || outputs.contains(input) || shown_.contains(input->name)) continue;
        const size_t source = producer->second;
        if (groupable_[i] && groupable_[source] && !cuts_.contains({source, i}))
          join(region_[i], region_[source]);
      }
    }
  }

  void join(size_t a, size_t b) {
    for (size_t& region : region_) {
      if (region == std::max(a, b)) region = std::min(a, b);
    }
  }

  // Joins regions that wait for each other. False if regions had to be cut, which then are to be made again.
  bool join_cycles() {
    for (size_t region = 0; region < region_.size(); ++region) {
      if (size_of(region) < 2) continue;  // nodes alone are in no cycle
      const auto between = reached(region, links(false)), others = reached(region, links(true));
      std::vector<size_t> waiting;
      std::set_intersection(between.begin(), between.end(), others.begin(), others.end(),
                            std::back_inserter(waiting));
      std::erase(waiting, region);
      if (waiting.empty()) continue;
      waiting.push_back(region);
      const auto apart =
          std::find_if(waiting.begin(), waiting.end(), [this](size_t each) { return !groupable_[each]; });
      if (apart != waiting.end()) {
        cut_around(*apart, waiting);
        return false;
      }
      for (const size_t each : waiting) {
        if (each == region) continue;
        join(region, each);
        region = std::min(region, each);
      }
    }
    return true;
  }

  size_t size_of(size_t region) const {
    return static_cast<size_t>(std::count(region_.begin(), region_.end(), region));
  }

  // A reader over a node that stays by itself is no part of the regions that wait for that node.
  void cut_around(size_t apart, const std::vector<size_t>& waiting) {
    const auto waits = [&](size_t node) {
      return std::find(waiting.begin(), waiting.end(), region_[node]) != waiting.end();
    };
    for (size_t i = apart + 1; i < region_.size(); ++i) {
      for (const size_t source : sources_of(i)) {
        if (source < apart && waits(source) && waits(i)) cuts_.emplace(source, i);
      }
    }
  }

  using Links = std::map<size_t, std::set<size_t>>;

  // By region, those that read of it, or those that it reads of.
  Links links(bool backwards) const {
    Links links;
    for (size_t i = 0; i < region_.size(); ++i) {
      for (const size_t source : sources_of(i)) {
        const size_t from = region_[source], to = region_[i];
        if (from != to) links[backwards ? to : from].insert(backwards ? from : to);
      }
    }
    return links;
  }

  static std::set<size_t> reached(size_t start, const Links& links) {
    std::set<size_t> all;
    std::vector<size_t> open{start};
    while (!open.empty()) {
      const auto found = links.find(open.back());
      open.pop_back();
      if (found == links.end()) continue;
      for (const size_t region : found->second) {
        if (all.insert(region).second) open.push_back(region);
      }
    }
    return all;
  }

  const Graph& graph_;
  const std::set<std::string>& shown_;
  std::map<const Value*, size_t> producers_;
  std::vector<bool> groupable_;
  std::set<std::pair<size_t, size_t>> cuts_;  // nodes that are not joined, although one reads of the other
  std::vector<size_t> region_;                // by node: the number of the first node that it is one with
};

// Constants that the group reads are constants inside of it, too.
void take_in_constants(Graph& graph, Node& group) {
  Graph& body = *group.region("body");
  for (size_t i = group.inputs.size(); i-- > 0;) {
    Value* outside = group.inputs[i];
    const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), outside) != graph.inputs.end();
    if (outside == nullptr || !outside->is_constant() || is_input) continue;
    Value* inside = body.inputs[i];
    inside->constant = outside->constant;
    body.inputs.erase(body.inputs.begin() + static_cast<ptrdiff_t>(i));
    group.inputs.erase(group.inputs.begin() + static_cast<ptrdiff_t>(i));
  }
}

// Turns the results of nodes without operands into constants, as it would be as an initializer.
void settle_constants(Graph& graph) {
  std::set<const Node*> settled;
  for (const auto& node : graph.nodes()) {
    if (node->op != "Constant" || !node->domain.empty() || node->outputs.size() != 1 ||
        node->outputs[0] == nullptr || !node->outputs[0]->type.is_tensor())
      continue;
    node->outputs[0]->constant = ops::evaluate(*node, {}).at(0).tensor;
    settled.insert(node.get());
  }
  graph.remove_nodes(settled);
}

}  // namespace

std::shared_ptr<const Graph> group_unshown(const Graph& graph, const std::set<std::string>& shown) {
  std::shared_ptr<Graph> copy = clone(graph);
  for (const auto& node : copy->nodes()) {
    if (node->provenance.empty()) node->provenance.insert(node->name);
  }
  settle_constants(*copy);
  const auto regions = Regions(*copy, shown).in_order();
  std::vector<size_t> order;
  std::vector<std::vector<Node*>> groups;
  for (const auto& region : regions) {
    order.insert(order.end(), region.begin(), region.end());
    if (region.size() == 1) continue;
    std::vector<Node*>& members = groups.emplace_back();
    for (const size_t number : region) members.push_back(copy->nodes()[number].get());
  }
  copy->reorder(order);
  for (const auto& members : groups) take_in_constants(*copy, *ops::make_group(*copy, members, "unshown"));
  return copy;
}

}  // namespace vernier
