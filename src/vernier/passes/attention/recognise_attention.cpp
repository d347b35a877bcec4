// softmax(scale * Q * K^T + mask) * V, with the scale before or after the product, or half of it on each
// side, is one Attention. The transposes around it go where heads lie packed in rows, and heads that are
// copied for a group of queries are read where they lie.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/group.h"
#include "vernier/passes/attention/attention_operands.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kAddOpset = 14, kCastOpset = 13, kWhereOpset = 16;

class AttentionRewrite {
 public:
  AttentionRewrite(Graph& graph, AttentionMatch match, Node* reader)
      : graph_(graph), match_(std::move(match)), reader_(reader), nodes_(graph, *match_.members.back()) {
    nodes_.absorb(match_.around);
  }

  void apply() {
    Value* result = match_.members.back()->output(0);
    const Dims &q = match_.q.dims, result_dims = *sizes_of(result);
    const int64_t size = match_.v.dims[3];
    const auto operands = attention_operands(nodes_, match_, result_dims.size() == 4 && swaps_heads(reader_));
    // Not ai.onnx's, which gives zeros where nothing may be attended, and only there.
    auto attention = nodes_.start("Attention", 1, "");
    attention->domain = ops::kInternalDomain;
    attention->inputs = {operands.q, operands.k, operands.v};
    add_masks(*attention);
    attention->attributes["scale"] = Attribute(static_cast<float>(match_.scale));
    if (match_.softcap != 0) attention->attributes["softcap"] = Attribute(static_cast<float>(match_.softcap));
    if (match_.guarded) attention->attributes["guarded"] = Attribute(int64_t{1});
    if (rank_of(operands.q) == 3 || rank_of(operands.k) == 3 || rank_of(operands.v) == 3) {
      attention->attributes["q_num_heads"] = Attribute(q[1]);
      attention->attributes["kv_num_heads"] = Attribute(operands.shared_heads);
    }
    const bool is_packed = operands.q_is_packed;
    const Dims made = is_packed ? Dims{q[0], q[2], q[1] * size} : Dims{q[0], q[1], q[2], size};
    if (is_packed) {
      match_.members.push_back(reader_);
      result = reader_->output(0);
    }
    const bool direct = !is_packed && result_dims.size() == 4;
    Value* output =
        direct ? result : nodes_.value(ValueType::of(result->type.tensor.element, to_shape(made)));
    attention->outputs = {output};
    nodes_.finish(std::move(attention));
    if (!direct) nodes_.add_reshape(output, *sizes_of(result), result);
    Rewriter(graph_).replace(match_.members, nodes_.take());
  }

 private:
  // What is added to the scores as one tensor that broadcasts to them; a causal mask is a flag.
  void add_masks(Node& attention) {
    const Dims scores = {match_.q.dims[0], match_.q.dims[1], match_.q.dims[2], match_.v.dims[2]};
    Value* total = nullptr;
    const auto causal = find_causal(scores);
    for (size_t i = match_.edits.size(); i-- > 0;) {
      if (i == causal) continue;
      const AttentionMatch::Edit& edit = match_.edits[i];
      total = edit.condition != nullptr ? chosen(total, edit) : sum_of(total, in_four_axes(edit.mask));
    }
    if (causal) attention.attributes["is_causal"] = Attribute(int64_t{1});
    if (total != nullptr) attention.inputs.push_back(as_condition(total));
  }

  // Beside other masks only minus infinity forbids for certain, unless a number is chosen in its place.
  std::optional<size_t> find_causal(const Dims& scores) const {
    const bool alone = match_.edits.size() == 1;
    for (size_t i = 0; i < match_.edits.size(); ++i) {
      const AttentionMatch::Edit& edit = match_.edits[i];
      const double most = !alone ? -HUGE_VAL : edit.condition != nullptr ? 0 : kForbiddenScore;
      if (is_causal(edit, scores, most)) return i;
      if (edit.condition != nullptr && scalar_of(edit.mask) != -HUGE_VAL) break;
    }
    return std::nullopt;
  }

  Value* sum_of(Value* a, Value* b) {
    if (a == nullptr) return b;
    if (a->type.tensor.element != b->type.tensor.element) {
      a = as_float(a);
      b = as_float(b);
    }
    const Dims both = broadcast(*sizes_of(a), *sizes_of(b));
    return nodes_.add("Add", kAddOpset, {a, b}, ValueType::of(a->type.tensor.element, to_shape(both)));
  }

  Value* as_float(Value* mask) {
    if (mask->type.tensor.element == ElementType::kFloat) return mask;
    return nodes_.add("Cast", kCastOpset, {mask}, ValueType::of(ElementType::kFloat, mask->type.tensor.shape),
                      {{"to", Attribute(static_cast<int64_t>(ElementType::kFloat))}});
  }

  // Windows in front of heads are entries; so are heads, where they are folded into the batch.
  Value* in_four_axes(Value* mask) {
    const Dims sizes = *sizes_of(mask);
    if (sizes.size() == 5) return nodes_.viewed(mask, Dims(sizes.begin() + 1, sizes.end()));
    if (sizes.size() == 3 && rank_of(match_.members.back()->output(0)) == 3 && sizes[0] != 1)
      return nodes_.viewed(mask, {sizes[0], 1, sizes[1], sizes[2]});
    return mask;
  }

  // The mask, and where the edit forbids, a number beside which every score vanishes.
  Value* chosen(Value* mask, const AttentionMatch::Edit& edit) {
    const double number = *scalar_of(edit.mask);
    const double least = number <= kForbiddenScore ? number : std::numeric_limits<float>::lowest();
    Value* forbidden = nodes_.constant(Tensor::from_doubles(ElementType::kFloat, {}, std::array{least}));
    Value* allowed = mask == nullptr ? nodes_.constant(Tensor(ElementType::kFloat, {})) : as_float(mask);
    Value* condition = in_four_axes(edit.condition);
    const Dims both = broadcast(*sizes_of(condition), *sizes_of(allowed));
    if (edit.negated) std::swap(allowed, forbidden);
    return nodes_.add("Where", kWhereOpset, {condition, allowed, forbidden},
                      ValueType::of(ElementType::kFloat, to_shape(both)));
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
  AttentionNodes nodes_;
};

bool masks_are_known(const AttentionMatch& match) {
  return std::all_of(match.edits.begin(), match.edits.end(), [](const AttentionMatch::Edit& edit) {
    return sizes_of(edit.mask) && (edit.condition == nullptr || sizes_of(edit.condition));
  });
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
