// Groups connected pointwise operators of one result size, so that what passes between them never leaves the
// cache.
//
// Nodes join the groups that they read from, in the order of the graph, as long as a group stays convex: no
// path leaves it and comes back, through other groups neither. A value that is also read outside becomes an
// output: it would have been stored anyway. An operator that ends groups, as a normalisation of rows does,
// joins the group that makes what it reads first, which nothing joins from then on. At last a
// DequantizeLinear goes to the group that reads it.
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// One kernel may reasonably hold so many.
constexpr size_t kMaxMembers = 64, kMaxOperands = 32;

class PointwiseFusion {
 public:
  PointwiseFusion(Graph& graph, const IsPointwise& is_pointwise, const IsPointwise& ends_group)
      : graph_(graph) {
    for (const auto& node : graph.nodes())
      position_[node.get()] = nodes_.size(), nodes_.push_back(node.get());
    unit_.resize(nodes_.size());
    seen_.resize(nodes_.size());
    for (size_t at = 0; at < nodes_.size(); ++at) {
      sources_.push_back(sources_of(*nodes_[at]));
      unit_[at] = at;
      members_.push_back({at});
      shapes_.push_back(result_shape(*nodes_[at], is_pointwise));
      if (shapes_.back()) join(at);
      if (ends_group && nodes_[at]->outputs.size() == 1 && ends_group(*nodes_[at])) end_group(at);
    }
    for (size_t at = 0; at < nodes_.size(); ++at) give_to_reader(at);
  }

  int run() {
    std::vector<std::vector<Node*>> groups;
    std::vector<size_t> order;
    for (const size_t unit : unit_order()) {
      std::vector<Node*> nodes;
      for (const size_t at : members_[unit]) nodes.push_back(nodes_[at]), order.push_back(at);
      if (nodes.size() > 1) groups.push_back(std::move(nodes));
    }
    if (groups.empty()) return 0;
    graph_.reorder(order);
    for (const auto& group : groups) {
      const bool is_ended = ends_.contains(position_.at(group.back()));
      ops::make_group(graph_, group, is_ended ? "normalization" : "pointwise");
    }
    return static_cast<int>(groups.size());
  }

 private:
  using Members = std::vector<size_t>;  // positions, ascending

  // The nodes of this graph that a node reads from, its regions included.
  std::vector<size_t> sources_of(const Node& node) const {
    std::set<size_t> sources;
    const auto add = [&](const Value* value) {
      if (value == nullptr || value->producer() == nullptr) return;
      const auto found = position_.find(value->producer());
      if (found != position_.end()) sources.insert(found->second);
    };
    for (const Value* input : node.inputs) add(input);
    if (!node.regions.empty()) {
      for (const Value* captured : captured_values(node)) add(captured);
    }
    return {sources.begin(), sources.end()};
  }

  // The sizes, or expressions of them, of the result of a node that may be grouped.
  static std::optional<Shape> result_shape(const Node& node, const IsPointwise& is_pointwise) {
    const auto* def = ops::OpRegistry::instance().find(node);
    if (def == nullptr || (def->traits & ops::kPointwise) == 0 || node.outputs.size() != 1)
      return std::nullopt;
    const ValueType& type = node.outputs[0]->type;
    return type.is_tensor() && type.tensor.shape && is_pointwise(node) ? type.tensor.shape : std::nullopt;
  }

  void join(size_t at) {
    std::set<size_t> candidates;  // units
    for (const size_t source : sources_[at]) {
      if (shapes_[source] == shapes_[at]) candidates.insert(unit_[source]);
    }
    if (candidates.empty()) return;
    if (try_join(at, {candidates.begin(), candidates.end()}) || candidates.size() == 1) return;
    // The latest first: it is the one whose result is in the cache.
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
      if (try_join(at, {*candidate})) return;
    }
  }

  void end_group(size_t at) {
    const Value* input = nodes_[at]->input(0);
    const Node* maker = input == nullptr ? nullptr : input->producer();
    const auto source = maker == nullptr ? position_.end() : position_.find(maker);
    if (source == position_.end() || !shapes_[source->second]) return;
    if (!try_join(at, {unit_[source->second]})) return;
    ends_.insert(at);
    for (const size_t member : members_[unit_[at]]) shapes_[member].reset();
  }

  bool reads(size_t reader, const Value* value) const {
    const auto& inputs = nodes_[reader]->inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  }

  // A DequantizeLinear whose result only others read is better computed by them, if its integers are stored
  // anyway.
  void give_to_reader(size_t at) {
    Members& members = members_[unit_[at]];
    const Node& node = *nodes_[at];
    if (node.op != "DequantizeLinear" || members.size() < 2 || at == members.front()) return;
    bool are_stored = false;
    for (size_t other = 0; other < nodes_.size(); ++other) {
      if (unit_[other] == unit_[at] && reads(other, node.output(0))) return;
      are_stored = are_stored || (unit_[other] != unit_[at] && reads(other, node.input(0)));
    }
    std::vector<size_t> readers;
    for (size_t reader = at + 1; reader < nodes_.size(); ++reader) {
      if (reads(reader, node.output(0)) && shapes_[reader] == shapes_[at]) readers.push_back(reader);
    }
    if (!are_stored && readers.size() != 1) return;
    std::erase(members, at);
    unit_[at] = at;
    members_[at] = {at};
    for (const size_t reader : readers) {
      if (try_join(at, {unit_[reader]})) return;
    }
  }

  bool try_join(size_t at, const std::vector<size_t>& units) {
    Members all{at};
    for (const size_t unit : units) all.insert(all.end(), members_[unit].begin(), members_[unit].end());
    std::sort(all.begin(), all.end());
    if (all.size() > kMaxMembers || operand_count(all) > kMaxOperands || !is_convex(all)) return false;
    for (const size_t member : all) {
      members_[unit_[member]].clear();
      unit_[member] = all.front();
    }
    members_[all.front()] = std::move(all);
    return true;
  }

  size_t operand_count(const Members& members) const {
    std::set<const Value*> outside;
    for (const size_t at : members) {
      for (const Value* input : nodes_[at]->inputs) {
        const Node* producer = input == nullptr ? nullptr : input->producer();
        const auto found = producer == nullptr ? position_.end() : position_.find(producer);
        const bool inside =
            found != position_.end() && std::binary_search(members.begin(), members.end(), found->second);
        if (!inside) outside.insert(input);
      }
    }
    return outside.size();
  }

  // Whether nothing that the members read from outside depends on a member, other groups being one node each.
  bool is_convex(const Members& members) {
    const auto inside = [&](size_t at) { return std::binary_search(members.begin(), members.end(), at); };
    ++round_;
    std::vector<size_t> open;
    const auto visit = [&](size_t reader) {
      for (const size_t source : sources_[reader]) {
        if (seen_[unit_[source]] == round_ || inside(source)) continue;
        seen_[unit_[source]] = round_;
        open.push_back(unit_[source]);
      }
    };
    for (const size_t member : members) visit(member);
    while (!open.empty()) {
      const size_t unit = open.back();
      open.pop_back();
      for (const size_t at : members_[unit]) {
        if (std::any_of(sources_[at].begin(), sources_[at].end(), inside)) return false;
        visit(at);
      }
    }
    return true;
  }

  // Units such that each comes after what it reads, else by their last members: as late as the group can be.
  std::vector<size_t> unit_order() const {
    std::vector<size_t> waiting(nodes_.size(), 0);  // by unit: units that it still waits for
    std::vector<std::set<size_t>> readers(nodes_.size());
    for (size_t at = 0; at < nodes_.size(); ++at) {
      for (const size_t source : sources_[at]) {
        if (unit_[source] != unit_[at] && readers[unit_[source]].insert(unit_[at]).second)
          ++waiting[unit_[at]];
      }
    }
    std::set<std::pair<size_t, size_t>> ready;  // last member, unit
    const auto release = [&](size_t unit) {
      if (waiting[unit] == 0 && !members_[unit].empty()) ready.insert({members_[unit].back(), unit});
    };
    for (size_t unit = 0; unit < nodes_.size(); ++unit) release(unit);
    std::vector<size_t> order;
    while (!ready.empty()) {
      const size_t unit = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(unit);
      for (const size_t reader : readers[unit]) {
        if (--waiting[reader] == 0) release(reader);
      }
    }
    return order;
  }

  Graph& graph_;
  std::unordered_map<const Node*, size_t> position_;
  std::vector<Node*> nodes_;
  std::vector<std::vector<size_t>> sources_;  // of each node, the nodes that it reads from
  std::vector<std::optional<Shape>> shapes_;  // of each node that may be grouped
  std::vector<size_t> unit_;                  // of each node: its group, named by the first member
  std::vector<Members> members_;              // of each unit
  std::set<size_t> ends_;                     // nodes that end a group
  std::vector<size_t> seen_;                  // of each unit, the last search that met it
  size_t round_ = 0;
};

}  // namespace

Pass fuse_pointwise(IsPointwise is_pointwise, IsPointwise ends_group) {
  return {"fuse-pointwise", NumericalClass::kExact,
          [is_pointwise = std::move(is_pointwise), ends_group = std::move(ends_group)](Graph& graph) {
            return PointwiseFusion(graph, is_pointwise, ends_group).run();
          }};
}

}  // namespace vernier
