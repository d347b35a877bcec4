// softmax(scale * Q * K^T + mask) * V, with the scale before or after the product, or half of it on each
// side, is one Attention. The transposes around it go where heads lie packed in rows, and heads that are
// copied for a group of queries are read where they lie.
#include "vernier/ir/rewriter.h"
#include "vernier/passes/attention_match.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kAttentionOpset = 23, kReshapeOpset = 21, kSplitOpset = 18;

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

bool has_order(const Node* transpose, const std::vector<int64_t>& order) {
  return transpose != nullptr && transpose->attribute<std::vector<int64_t>>("perm", {}) == order;
}

class AttentionRewrite {
 public:
  AttentionRewrite(Graph& graph, AttentionMatch match, Node* reader)
      : graph_(graph),
        match_(std::move(match)),
        reader_(reader),
        stem_(match_.members.back()->output(0)->name) {}

  void apply() {
    Value* result = match_.members.back()->output(0);
    const Dims &q = match_.q.dims, result_dims = *sizes_of(result);
    const int64_t size = match_.v.dims[3];
    Value* queries = nullptr;
    const bool unpack = result_dims.size() == 4 && has_order(reader_, kSwapHeads);
    const Packed parts = unpack ? split_of_one() : Packed{};
    if (unpack) queries = parts[0] != nullptr ? parts[0] : packed(in_order(match_.q), q);
    const bool is_packed = queries != nullptr;
    if (!is_packed) queries = viewed(in_order(match_.q), q);
    auto attention = new_node("Attention", kAttentionOpset, "");
    const auto [keys, values] = keys_and_values(parts);
    attention->inputs = {queries, keys, values};
    add_masks(*attention);
    attention->attributes["scale"] = Attribute(static_cast<float>(match_.scale));
    if (match_.softcap != 0) attention->attributes["softcap"] = Attribute(static_cast<float>(match_.softcap));
    if (rank_of(attention->inputs[1]) == 3 || rank_of(attention->inputs[2]) == 3 || is_packed) {
      attention->attributes["q_num_heads"] = Attribute(q[1]);
      attention->attributes["kv_num_heads"] = Attribute(match_.k.dims[1]);
    }
    const Dims made = is_packed ? Dims{q[0], q[2], q[1] * size} : Dims{q[0], q[1], q[2], size};
    if (is_packed) {
      match_.members.push_back(reader_);
      result = reader_->output(0);
    }
    const bool direct = !is_packed && result_dims.size() == 4;
    Value* output = direct ? result : graph_.add_value(stem_ + "/attention", type_of(made));
    attention->outputs = {output};
    nodes_.push_back(std::move(attention));
    if (!direct) add_reshape(output, *sizes_of(result), result);
    for (auto& node : nodes_) node->provenance.insert(absorbed_.begin(), absorbed_.end());
    Rewriter(graph_).replace(match_.members, std::move(nodes_));
  }

 private:
  using Packed = std::array<Value*, 3>;

  ValueType type_of(const Dims& dims) const {
    return ValueType::of(match_.members.back()->output(0)->type.tensor.element, to_shape(dims));
  }

  std::unique_ptr<Node> new_node(const std::string& op, int64_t version, const std::string& suffix) {
    auto node = std::make_unique<Node>();
    node->name = match_.members.back()->name + suffix;
    node->op = op;
    node->version = version;
    return node;
  }

  std::string next_name() { return fmt::format("{}/attention_{}", stem_, ++count_); }

  // A node of one output.
  Value* add(const std::string& op, int64_t version, std::vector<Value*> inputs, const ValueType& type,
             AttributeMap attributes = {}) {
    const std::string name = next_name();
    auto node = new_node(op, version, fmt::format("/{}", count_));
    node->inputs = std::move(inputs);
    node->attributes = std::move(attributes);
    node->outputs = {graph_.add_value(name, type)};
    nodes_.push_back(std::move(node));
    return nodes_.back()->outputs[0];
  }

  Value* ints(const Dims& values) {
    return graph_.add_constant(
        next_name(), Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values));
  }

  void add_reshape(Value* from, const Dims& dims, Value* to) {
    auto node = new_node("Reshape", kReshapeOpset, fmt::format("/{}", ++count_));
    node->inputs = {from, ints(dims)};
    node->outputs = {to};
    nodes_.push_back(std::move(node));
  }

  // `value` under other sizes: an earlier form of it that has them, if there is one.
  Value* viewed(Value* value, const Dims& dims) {
    for (Value* source = value; source != nullptr;) {
      if (sizes_of(source) == dims) return source;
      Node* reshape = maker(source, "Reshape");
      if (reshape == nullptr) reshape = maker(source, "Unsqueeze");
      source = reshape == nullptr ? nullptr : reshape->input(0);
    }
    return add("Reshape", kReshapeOpset, {value, ints(dims)},
               ValueType::of(value->type.tensor.element, to_shape(dims)));
  }

  Value* in_order(const HeadsView& view) {
    if (view.order.empty()) return view.value;
    Dims dims;
    for (const int64_t axis : view.order) dims.push_back((*sizes_of(view.value))[static_cast<size_t>(axis)]);
    return add("Transpose", kReshapeOpset, {view.value},
               ValueType::of(view.value->type.tensor.element, to_shape(dims)),
               {{"perm", Attribute(view.order)}});
  }

  // [batch, rows, heads * size], if heads were brought in front by a Transpose.
  Value* packed(Value* value, const Dims& dims) {
    Value* source = value;
    while (maker(source, "Reshape") != nullptr && sizes_of(source) != dims)
      source = maker(source, "Reshape")->input(0);
    Node* transpose = nullptr;
    for (const auto& node : nodes_) {
      if (node->op == "Transpose" && node->outputs[0] == source) transpose = node.get();
    }
    if (transpose == nullptr) transpose = maker(source, "Transpose");
    if (sizes_of(source) != dims || !has_order(transpose, kSwapHeads)) return nullptr;
    absorbed_.insert(transpose->provenance.begin(), transpose->provenance.end());
    return viewed(transpose->input(0), {dims[0], dims[2], dims[1] * dims[3]});
  }

  // The heads that Expand copied for each query of a group; `dims` becomes theirs.
  Value* ungrouped(Value* value, Dims& dims) {
    Value* source = value;
    while (maker(source, "Reshape") != nullptr) source = maker(source, "Reshape")->input(0);
    Node* expand = maker(source, "Expand");
    const auto from = expand == nullptr ? std::nullopt : sizes_of(expand->input(0)), to = sizes_of(source);
    if (!from || !to || from->size() != 5 || to->size() != 5 || (*from)[2] != 1 || (*to)[0] != dims[0] ||
        (*to)[1] * (*to)[2] != dims[1] || (*to)[3] != dims[2] || (*to)[4] != dims[3] ||
        (*from)[1] != (*to)[1])
      return value;
    absorbed_.insert(expand->provenance.begin(), expand->provenance.end());
    dims[1] = (*to)[1];
    return expand->input(0);
  }

  // Keys and values, both of them with heads of their own or neither.
  std::pair<Value*, Value*> keys_and_values(const Packed& parts) {
    if (parts[1] != nullptr) return {parts[1], parts[2]};
    const Dims keys = match_.k.dims, values = match_.v.dims;
    Value *k = in_order(match_.k), *v = in_order(match_.v);
    Value *own_k = ungrouped(k, match_.k.dims), *own_v = ungrouped(v, match_.v.dims);
    if (match_.k.dims[1] != match_.v.dims[1]) {
      match_.k.dims = keys;
      match_.v.dims = values;
      return {in_rows(k, keys), in_rows(v, values)};
    }
    return {in_rows(own_k, match_.k.dims), in_rows(own_v, match_.v.dims)};
  }

  Value* in_rows(Value* value, const Dims& dims) {
    Value* rows = packed(value, dims);
    return rows != nullptr ? rows : viewed(value, dims);
  }

  // Queries, keys and values that are parts of one Transpose of [batch, rows, 3, heads, size]: a Split of it
  // by columns.
  Packed split_of_one() {
    Packed result{};
    Node* source = nullptr;
    std::array<int64_t, 3> index{};
    const std::array<const HeadsView*, 3> views = {&match_.q, &match_.k, &match_.v};
    for (size_t i = 0; i < 3; ++i) {
      const auto part = views[i]->order.empty() ? part_of(views[i]->value) : std::nullopt;
      if (!part || (source != nullptr && part->first != source)) return {};
      source = part->first;
      index[i] = part->second;
    }
    const Dims& dims = match_.q.dims;
    if (match_.v.dims != match_.k.dims || match_.v.dims[3] != dims[3]) return {};
    const int64_t columns = dims[1] * dims[3];
    absorbed_.insert(source->provenance.begin(), source->provenance.end());
    Value* rows = viewed(source->input(0), {dims[0], dims[2], 3 * columns});
    auto split = new_node("Split", kSplitOpset, "/split");
    split->inputs = {rows};
    split->attributes = {{"axis", Attribute(int64_t{2})}, {"num_outputs", Attribute(int64_t{3})}};
    for (int i = 0; i < 3; ++i)
      split->outputs.push_back(graph_.add_value(next_name(), type_of({dims[0], dims[2], columns})));
    for (size_t i = 0; i < 3; ++i) result[i] = split->outputs[static_cast<size_t>(index[i])];
    nodes_.push_back(std::move(split));
    return result;
  }

  // The Transpose to [3, batch, heads, rows, size] that `value` is one part of, and which.
  static std::optional<std::pair<Node*, int64_t>> part_of(Value* value) {
    static const std::vector<int64_t> order = {2, 0, 3, 1, 4};
    Node* transpose = nullptr;
    int64_t index = -1;
    if (Node* gather = maker(value, "Gather");
        gather != nullptr && gather->attribute<int64_t>("axis", 0) == 0) {
      const auto which = scalar_of(gather->input(1));
      if (which && rank_of(gather->input(1)) == 0) index = static_cast<int64_t>(*which);
      transpose = maker(gather->input(0), "Transpose");
    } else if (Node* squeeze = maker(value, "Squeeze")) {
      Node* split = squeeze->input(0)->producer();
      if (split == nullptr || split->op != "Split" || split->attribute<int64_t>("axis", 0) != 0)
        return std::nullopt;
      const auto at = std::find(split->outputs.begin(), split->outputs.end(), squeeze->input(0));
      index = at - split->outputs.begin();
      transpose = maker(split->input(0), "Transpose");
    }
    const auto dims = transpose == nullptr ? std::nullopt : sizes_of(transpose->output(0));
    if (!dims || dims->size() != 5 || (*dims)[0] != 3 || !has_order(transpose, order)) return std::nullopt;
    if (index < 0) index += 3;
    if (index < 0 || index > 2 || rank_of(value) != 4) return std::nullopt;
    return std::pair(transpose, index);
  }

  // What is added to the scores as one tensor that broadcasts to them; a causal mask is a flag.
  void add_masks(Node& attention) {
    const Dims scores = {match_.q.dims[0], match_.q.dims[1], match_.q.dims[2], match_.v.dims[2]};
    Value* total = nullptr;
    const auto join = [&](Value* mask) {
      const Dims sizes = *sizes_of(mask);
      if (sizes.size() == 5) mask = viewed(mask, Dims(sizes.begin() + 1, sizes.end()));
      if (sizes.size() == 3 && rank_of(match_.members.back()->output(0)) == 3 && sizes[0] != 1)
        mask = viewed(mask, {sizes[0], 1, sizes[1], sizes[2]});
      if (is_causal_mask(mask, scores)) {
        attention.attributes["is_causal"] = Attribute(int64_t{1});
        return;
      }
      if (total != nullptr) {
        const Dims both = broadcast(*sizes_of(total), *sizes_of(mask));
        mask = add("Add", 14, {total, mask}, ValueType::of(mask->type.tensor.element, to_shape(both)));
      }
      total = mask;
    };
    for (Value* mask : match_.masks) join(mask);
    for (const auto& choice : match_.choices) {
      Value* zero = graph_.add_constant(next_name(), Tensor(choice.forbidden->constant->type(), {}));
      const Dims dims = *sizes_of(choice.condition);
      Value *allowed = choice.negated ? choice.forbidden : zero,
            *other = choice.negated ? zero : choice.forbidden;
      join(add("Where", 16, {choice.condition, allowed, other},
               ValueType::of(choice.forbidden->constant->type(),
                             to_shape(broadcast(dims, choice.forbidden->constant->dims())))));
    }
    if (total != nullptr) attention.inputs.push_back(as_condition(total));
  }

  // What may be attended, instead of the 0 and minus infinity that are chosen by it.
  static Value* as_condition(Value* mask) {
    Node* choice = maker(mask, "Where");
    const bool flags = choice != nullptr && scalar_of(choice->input(1)) == 0.0 &&
                       scalar_of(choice->input(2)) == -HUGE_VAL &&
                       sizes_of(choice->input(0)) == sizes_of(mask);
    return flags ? choice->input(0) : mask;
  }

  Graph& graph_;
  AttentionMatch match_;
  Node* reader_;  // the only one of the result
  std::string stem_;
  int count_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  Provenance absorbed_;
};

bool masks_are_known(const AttentionMatch& match) {
  return std::all_of(match.masks.begin(), match.masks.end(),
                     [](const Value* mask) { return sizes_of(mask).has_value(); }) &&
         std::all_of(match.choices.begin(), match.choices.end(),
                     [](const auto& choice) { return sizes_of(choice.condition).has_value(); });
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::pair<AttentionMatch, Node*>> found;
  for (const auto& node : graph.nodes()) {
    auto match = match_attention(node.get());
    if (!match || !is_private(uses, match->members) || !masks_are_known(*match)) continue;
    Node* reader = uses.only_reader(node->output(0));
    if (reader != nullptr && (reader->op != "Transpose" || !reader->domain.empty())) reader = nullptr;
    found.emplace_back(std::move(*match), reader);
  }
  for (auto& [match, reader] : found) AttentionRewrite(graph, std::move(match), reader).apply();
  return static_cast<int>(found.size());
}

}  // namespace

Pass recognise_attention() {
  return {"recognise-attention", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += recognise_in(inner); });
            return found;
          }};
}

}  // namespace vernier
