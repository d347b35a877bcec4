#include "vernier/passes/attention/attention_operands.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"

namespace vernier {

namespace {

constexpr int64_t kReshapeOpset = 21, kSplitOpset = 18;

bool has_order(const Node* transpose, const std::vector<int64_t>& order) {
  return transpose != nullptr && transpose->attribute<std::vector<int64_t>>("perm", {}) == order;
}

ValueType type_like(const Value* value, const Shape& dims) {
  return ValueType::of(value->type.tensor.element, dims);
}

// Finds the value that this one is a view of; null if it is none.
Value* viewed_by(Value* value) {
  for (const char* op : {"Reshape", "Unsqueeze"}) {
    if (Node* view = maker(value, op)) return view->input(0);
  }
  return nullptr;
}

// [batch, rows, heads * size], if heads were brought in front by a Transpose.
Value* packed(AttentionNodes& nodes, Value* value, const Shape& dims) {
  Value* source = value;
  while (viewed_by(source) != nullptr && shape_of(source) != dims) source = viewed_by(source);
  const Node* transpose = nodes.transpose_behind(source);
  if (shape_of(source) != dims || !swaps_heads(transpose)) return nullptr;
  nodes.absorb(*transpose);
  return nodes.viewed(transpose->input(0), {dims[0], dims[2], dims[1] * dims[3]});
}

Value* in_rows(AttentionNodes& nodes, Value* value, const Shape& dims) {
  Value* rows = packed(nodes, value, dims);
  return rows != nullptr ? rows : nodes.viewed(value, dims);
}

// The heads that Expand copied for each query of a group, of sizes `dims`; null if it copied none.
Node* copies_of_heads(Value* value, const Shape& dims) {
  Value* source = value;
  while (viewed_by(source) != nullptr) source = viewed_by(source);
  Node* expand = maker(source, "Expand");
  const auto from = expand == nullptr ? std::nullopt : shape_of(expand->input(0)), to = shape_of(source);
  const bool copies = from && to && from->size() == 5 && to->size() == 5 && (*from)[2] == Dim(1) &&
                      (*from)[1].is_constant() && (*to)[0] == dims[0] && (*to)[1] * (*to)[2] == dims[1] &&
                      (*to)[3] == dims[2] && (*to)[4] == dims[3] && (*from)[1] == (*to)[1];
  return copies ? expand : nullptr;
}

// Keys and values, both of them with heads of their own or neither.
void add_keys_and_values(AttentionNodes& nodes, const AttentionMatch& match, AttentionOperands& result) {
  Shape keys = match.k.dims, values = match.v.dims;
  Value *k = nodes.in_order(match.k), *v = nodes.in_order(match.v);
  const Node *copied_k = copies_of_heads(k, keys), *copied_v = copies_of_heads(v, values);
  if (copied_k != nullptr && copied_v != nullptr &&
      (*shape_of(copied_k->input(0)))[1] == (*shape_of(copied_v->input(0)))[1]) {
    for (const Node* expand : {copied_k, copied_v}) nodes.absorb(*expand);
    k = copied_k->input(0);
    v = copied_v->input(0);
    keys[1] = values[1] = (*shape_of(k))[1];
  }
  result.k = in_rows(nodes, k, keys);
  result.v = in_rows(nodes, v, values);
  result.shared_heads = keys[1];
}

// The Transpose to [3, batch, heads, rows, size] that `value` is one part of, and which.
std::optional<std::pair<Node*, int64_t>> part_of(Value* value) {
  static const std::vector<int64_t> order = {2, 0, 3, 1, 4};
  Node* transpose = nullptr;
  int64_t index = -1;
  if (Node* gather = maker(value, "Gather");
      gather != nullptr && ops::integer_attribute(*gather, "axis") == 0) {
    const auto which = scalar_of(gather->input(1));
    if (which && rank_of(gather->input(1)) == 0) index = static_cast<int64_t>(*which);
    transpose = maker(gather->input(0), "Transpose");
  } else if (Node* squeeze = maker(value, "Squeeze")) {
    Node* split = squeeze->input(0)->producer();
    if (split == nullptr || split->op != "Split" || ops::integer_attribute(*split, "axis") != 0)
      return std::nullopt;
    const auto at = std::find(split->outputs.begin(), split->outputs.end(), squeeze->input(0));
    index = at - split->outputs.begin();
    transpose = maker(split->input(0), "Transpose");
  }
  const auto dims = transpose == nullptr ? std::nullopt : shape_of(transpose->output(0));
  if (!dims || dims->size() != 5 || (*dims)[0] != Dim(3) || !has_order(transpose, order)) return std::nullopt;
  if (index < 0) index += 3;
  if (index < 0 || index > 2 || rank_of(value) != 4) return std::nullopt;
  return std::pair(transpose, index);
}

// Queries, keys and values that are parts of one Transpose of [batch, rows, 3, heads, size]: a Split of it
// by columns.
bool split_of_one(AttentionNodes& nodes, const AttentionMatch& match, AttentionOperands& result) {
  Node* source = nullptr;
  std::array<int64_t, 3> index{};
  const std::array<const HeadsView*, 3> views = {&match.q, &match.k, &match.v};
  for (size_t i = 0; i < 3; ++i) {
    const auto part = views[i]->order.empty() ? part_of(views[i]->value) : std::nullopt;
    if (!part || (source != nullptr && part->first != source)) return false;
    source = part->first;
    index[i] = part->second;
  }
  const Shape& dims = match.q.dims;
  if (match.v.dims != match.k.dims || match.v.dims[3] != dims[3]) return false;
  const Dim columns = dims[1] * dims[3];
  nodes.absorb(*source);
  auto split = nodes.start("Split", kSplitOpset, "/split");
  split->inputs = {nodes.viewed(source->input(0), {dims[0], dims[2], 3 * columns})};
  split->attributes = {{"axis", Attribute(int64_t{2})}, {"num_outputs", Attribute(int64_t{3})}};
  for (int i = 0; i < 3; ++i)
    split->outputs.push_back(nodes.value(type_like(match.q.value, {dims[0], dims[2], columns})));
  const std::array<Value**, 3> parts = {&result.q, &result.k, &result.v};
  for (size_t i = 0; i < 3; ++i) *parts[i] = split->outputs[static_cast<size_t>(index[i])];
  result.q_is_packed = true;
  result.shared_heads = match.k.dims[1];
  nodes.finish(std::move(split));
  return true;
}

}  // namespace

bool swaps_heads(const Node* transpose) {
  return has_order(transpose, {0, 2, 1, 3});
}

AttentionNodes::AttentionNodes(Graph& graph, const Node& last)
    : graph_(graph), stem_(last.output(0)->name), node_stem_(last.name) {}

std::unique_ptr<Node> AttentionNodes::start(const std::string& op, int64_t version,
                                            const std::string& suffix) const {
  auto node = std::make_unique<Node>();
  node->name = node_stem_ + suffix;
  node->op = op;
  node->version = version;
  return node;
}

std::string AttentionNodes::next_name() {
  return free_name(graph_, fmt::format("{}/attention_{}", stem_, ++count_));
}

Value* AttentionNodes::add(const std::string& op, int64_t version, std::vector<Value*> inputs,
                           const ValueType& type, AttributeMap attributes) {
  Value* made = value(type);
  auto node = start(op, version, fmt::format("/{}", count_));
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  node->outputs = {made};
  finish(std::move(node));
  return made;
}

void AttentionNodes::add_reshape(Value* from, const Shape& dims, Value* to) {
  const auto target = reshape_target(*shape_of(from), dims);
  if (!target) {
    impossible_ = true;
    return;
  }
  auto node = start("Reshape", kReshapeOpset, fmt::format("/{}", ++count_));
  node->inputs = {
      from, constant(Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(dims.size())}, *target))};
  node->outputs = {to};
  finish(std::move(node));
}

Value* AttentionNodes::viewed(Value* value, const Shape& dims) {
  for (Value* source = value; source != nullptr; source = viewed_by(source)) {
    if (shape_of(source) == dims) return source;
  }
  Value* made = this->value(type_like(value, dims));
  add_reshape(value, dims, made);
  return made;
}

Value* AttentionNodes::in_order(const HeadsView& view) {
  if (view.order.empty()) return view.value;
  Shape dims;
  for (const int64_t axis : view.order) dims.push_back((*shape_of(view.value))[static_cast<size_t>(axis)]);
  return add("Transpose", kReshapeOpset, {view.value}, type_like(view.value, dims),
             {{"perm", Attribute(view.order)}});
}

Node* AttentionNodes::transpose_behind(const Value* value) const {
  for (const auto& node : nodes_) {
    if (node->op == "Transpose" && node->outputs[0] == value) return node.get();
  }
  return maker(value, "Transpose");
}

void AttentionNodes::discard() {
  nodes_.clear();
  graph_.remove_values(made_);
}

std::vector<std::unique_ptr<Node>> AttentionNodes::take() {
  for (auto& node : nodes_) node->provenance.insert(absorbed_.begin(), absorbed_.end());
  return std::move(nodes_);
}

AttentionOperands attention_operands(AttentionNodes& nodes, const AttentionMatch& match, bool packs) {
  AttentionOperands result;
  if (packs && split_of_one(nodes, match, result)) return result;
  Value* q = nodes.in_order(match.q);
  if (packs) result.q = packed(nodes, q, match.q.dims);
  result.q_is_packed = result.q != nullptr;
  if (!result.q_is_packed) result.q = nodes.viewed(q, match.q.dims);
  add_keys_and_values(nodes, match, result);
  return result;
}

}  // namespace vernier
