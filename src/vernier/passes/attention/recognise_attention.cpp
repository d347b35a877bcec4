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
  // `readers`: see readers_of.
  AttentionRewrite(Graph& graph, AttentionMatch match, std::vector<Node*> readers)
      : graph_(graph),
        match_(std::move(match)),
        readers_(std::move(readers)),
        nodes_(graph, *match_.members.back()) {
    nodes_.absorb(match_.around);
  }

  // Whether the graph was changed.
  bool apply() {
    Value* result = match_.members.back()->output(0);
    const Shape &q = match_.q.dims, made_dims = {q[0], q[1], q[2], match_.v.dims[3]};
    const auto operands = attention_operands(nodes_, match_, !readers_.empty());
    // Not ai.onnx's, which gives zeros where nothing may be attended, and only there.
    auto attention = nodes_.start("Attention", 1, "");
    attention->domain = ops::kInternalDomain;
    attention->inputs = {operands.q, operands.k, operands.v};
    add_masks(*attention);
    attention->attributes["scale"] = Attribute(static_cast<float>(match_.scale));
    if (match_.softcap != 0) attention->attributes["softcap"] = Attribute(static_cast<float>(match_.softcap));
    if (match_.guarded) attention->attributes["guarded"] = Attribute(int64_t{1});
    if (rank_of(operands.q) == 3 || rank_of(operands.k) == 3 || rank_of(operands.v) == 3) {
      attention->attributes["q_num_heads"] = Attribute(*q[1].constant());
      attention->attributes["kv_num_heads"] = Attribute(*operands.shared_heads.constant());
    }
    if (operands.q_is_packed) {
      match_.members.insert(match_.members.end(), readers_.begin(), readers_.end());
      result = readers_.back()->output(0);
    }
    const bool direct = !operands.q_is_packed && shape_of(result) == made_dims;
    const Shape made = operands.q_is_packed ? Shape{q[0], q[2], q[1] * made_dims[3]} : made_dims;
    Value* output = direct ? result : nodes_.value(ValueType::of(result->type.tensor.element, made));
    attention->outputs = {output};
    nodes_.finish(std::move(attention));
    if (!direct) nodes_.add_reshape(output, *shape_of(result), result);
    if (nodes_.impossible()) {
      nodes_.discard();
      return false;
    }
    Rewriter(graph_).replace(match_.members, nodes_.take());
    return true;
  }

 private:
  // Adds the masks as one tensor that broadcasts to the scores; a causal mask is a flag.
  void add_masks(Node& attention) {
    const Shape scores = {match_.q.dims[0], match_.q.dims[1], match_.q.dims[2], match_.v.dims[2]};
    Value* total = nullptr;
    const auto causal = find_causal(scores);
    for (size_t i = match_.edits.size(); i-- > 0;) {
      if (i == causal) continue;
      const AttentionMatch::Edit& edit = match_.edits[i];
      total = edit.condition != nullptr ? chosen(total, edit) : sum_of(total, in_four_axes(edit.mask, edit));
    }
    if (causal) attention.attributes["is_causal"] = Attribute(int64_t{1});
    if (total != nullptr) attention.inputs.push_back(as_condition(total));
  }

  // Beside other masks only minus infinity forbids for certain, unless a number is chosen in its place.
  std::optional<size_t> find_causal(const Shape& scores) const {
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
    const Shape both = broadcast(*shape_of(a), *shape_of(b));
    return nodes_.add("Add", kAddOpset, {a, b}, ValueType::of(a->type.tensor.element, both));
  }

  Value* as_float(Value* mask) {
    if (mask->type.tensor.element == ElementType::kFloat) return mask;
    return nodes_.add("Cast", kCastOpset, {mask}, ValueType::of(ElementType::kFloat, mask->type.tensor.shape),
                      {{"to", Attribute(static_cast<int64_t>(ElementType::kFloat))}});
  }

  // Windows in front of heads are entries; heads that are folded into the batch are not any more.
  Value* in_four_axes(Value* mask, const AttentionMatch::Edit& edit) {
    const Shape sizes = *shape_of(mask), &q = match_.q.dims;
    if (sizes.size() == 5) return nodes_.viewed(mask, Shape(sizes.begin() + 1, sizes.end()));
    if (sizes.size() == 3 && edit.folded && sizes[0] != Dim(1))
      return nodes_.viewed(mask, {q[0], q[1], sizes[1], sizes[2]});
    return mask;
  }

  // The mask, and where the edit forbids, a number beside which every score vanishes.
  Value* chosen(Value* mask, const AttentionMatch::Edit& edit) {
    const double number = *scalar_of(edit.mask);
    const double least = number <= kForbiddenScore ? number : std::numeric_limits<float>::lowest();
    Value* forbidden = nodes_.constant(Tensor::from_doubles(ElementType::kFloat, {}, std::array{least}));
    Value* allowed = mask == nullptr ? nodes_.constant(Tensor(ElementType::kFloat, {})) : as_float(mask);
    Value* condition = in_four_axes(edit.condition, edit);
    const Shape both = broadcast(*shape_of(condition), *shape_of(allowed));
    if (edit.negated) std::swap(allowed, forbidden);
    return nodes_.add("Where", kWhereOpset, {condition, allowed, forbidden},
                      ValueType::of(ElementType::kFloat, both));
  }

  // Gives the condition of what may be attended, instead of the 0 and minus infinity that it chooses.
  static Value* as_condition(Value* mask) {
    Node* choice = maker(mask, "Where");
    const bool flags = choice != nullptr && scalar_of(choice->input(1)) == 0.0 &&
                       scalar_of(choice->input(2)) == -HUGE_VAL &&
                       shape_of(choice->input(0)) == shape_of(mask);
    return flags ? choice->input(0) : mask;
  }

  Graph& graph_;
  AttentionMatch match_;
  std::vector<Node*> readers_;
  AttentionNodes nodes_;
};

// Whether its sizes are known as far as they must be to see it beside scores of four axes.
bool is_known(const Value* mask, const AttentionMatch& match, bool folded) {
  const auto sizes = shape_of(mask);
  if (!sizes || !folded || sizes->size() < 3) return sizes.has_value();
  return (*sizes)[0] == Dim(1) || (*sizes)[0] == match.q.dims[0] * match.q.dims[1];
}

bool masks_are_known(const AttentionMatch& match) {
  return std::all_of(match.edits.begin(), match.edits.end(), [&](const AttentionMatch::Edit& edit) {
    return is_known(edit.mask, match, edit.folded) &&
           (edit.condition == nullptr || is_known(edit.condition, match, edit.folded));
  });
}

// The only readers of the result, one after the other, up to the Transpose that packs heads in rows; a
// Reshape before it may unfold them from the batch. Empty: there are none such.
std::vector<Node*> readers_of(const Uses& uses, const AttentionMatch& match) {
  const Shape &q = match.q.dims, heads = {q[0], q[1], q[2], match.v.dims[3]};
  std::vector<Node*> readers;
  const Value* result = match.members.back()->output(0);
  if (rank_of(result) == 3) {
    Node* view = uses.only_reader(result);
    if (view == nullptr || maker(view->output(0), "Reshape") == nullptr) return {};
    readers.push_back(view);
    result = view->output(0);
  }
  Node* reader = uses.only_reader(result);
  if (shape_of(result) != heads || reader == nullptr || maker(reader->output(0), "Transpose") == nullptr ||
      !swaps_heads(reader))
    return {};
  readers.push_back(reader);
  return readers;
}

int recognise_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<std::pair<AttentionMatch, std::vector<Node*>>> found;
  for (const auto& node : graph.nodes()) {
    auto match = match_attention(node.get());
    if (!match || !is_private(uses, match->members) || !masks_are_known(*match)) continue;
    auto readers = readers_of(uses, *match);
    found.emplace_back(std::move(*match), std::move(readers));
  }
  int recognised = 0;
  for (auto& [match, readers] : found)
    recognised += AttentionRewrite(graph, std::move(match), std::move(readers)).apply() ? 1 : 0;
  return recognised;
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
