#include "vernier/passes/attention/attention_match.h"

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// `last`: nothing is added to it. Then the lowest that float16 has forbids, too.
bool is_forbidding(const Value* value, bool last) {
  constexpr double kForbiddenHalf = -6e4;
  const auto scalar = scalar_of(value);
  const bool half = value->type.is_tensor() && value->type.tensor.element == ElementType::kFloat16;
  return scalar && *scalar <= (half && last ? kForbiddenHalf : kForbiddenScore);
}

// Finds the Cast from one type of floats to another; null for anything else.
Node* float_cast(const Value* value) {
  Node* cast = maker(value, "Cast");
  const auto is_real = [](const Value* each) {
    return each->type.is_tensor() && is_float(each->type.tensor.element);
  };
  return cast != nullptr && is_real(cast->input(0)) && is_real(value) ? cast : nullptr;
}

// Walks from the weights to the Softmax that makes them, through Where(IsNaN(weights), 0, weights).
Node* find_softmax(Value* weights, AttentionMatch& match) {
  while (weights != nullptr) {
    if (Node* softmax = maker(weights, "Softmax")) {
      match.members.push_back(softmax);
      return softmax;
    }
    if (Node* cast = float_cast(weights)) {
      match.members.push_back(cast);
      weights = cast->input(0);
      continue;
    }
    Node* choice = maker(weights, "Where");
    Node* test = choice == nullptr ? nullptr : maker(choice->input(0), "IsNaN");
    if (test == nullptr || scalar_of(choice->input(1)) != 0.0) break;
    weights = choice->input(2);
    match.members.insert(match.members.end(), {choice, test});
    if (Node* cast = float_cast(test->input(0)); cast != nullptr && cast->input(0) == weights)
      match.members.push_back(cast);  // of a model that was narrowed
    else if (test->input(0) != weights)
      break;
    match.guarded = true;
  }
  return nullptr;
}

// Walks from what the softmax reads down to the product of queries and keys.
class ScoresWalk {
 public:
  ScoresWalk(AttentionMatch& match, Value* scores) : match_(match), now_(scores), dims_(*shape_of(scores)) {}

  Node* product() {
    while (take_sum() || take_choice() || take_windows() || take_view() || take_cast()) {
    }
    take_cap();
    take_cast();
    match_.scale = take_scalars(now_);
    take_cast();
    Node* product = maker(now_, "MatMul");
    if (product != nullptr) match_.members.push_back(product);
    return product;
  }

  // The product of the scalars that `value` is multiplied with, which it then is without. Scores are private
  // to the pattern; an operand that is scaled may have other readers.
  double take_scalars(Value*& value, bool is_private = true) {
    double factor = 1;
    while (const auto scaled = product_with_scalar(value)) {
      if (!same_type(scaled->value, value)) break;
      if (is_private)
        match_.members.push_back(scaled->node);
      else
        match_.around.insert(scaled->node->provenance.begin(), scaled->node->provenance.end());
      factor *= scaled->scalar;
      value = scaled->value;
    }
    return factor;
  }

  // [batch, heads] of scores that were seen so for a mask; empty: they were not.
  const Shape& batch_and_heads() const { return batch_and_heads_; }

 private:
  bool leads_to_product(const Value* value, int depth = 0) const {
    if (maker(value, "MatMul") != nullptr) return true;
    const Node* node = value->producer();
    if (node == nullptr || depth > 8 || !node->domain.empty()) return false;
    constexpr std::array kThrough = {"Add", "Mul", "Div", "Where", "Tanh", "Reshape", "Cast"};
    if (std::find(kThrough.begin(), kThrough.end(), node->op) == kThrough.end()) return false;
    return std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
      return input != nullptr && !input->is_constant() && leads_to_product(input, depth + 1);
    });
  }

  // Whether these are the scores, and what is done to them makes no more of them. A mask may have a length of
  // its own along the keys, but weights that are not as many as the values have no product with them.
  bool are_scores(const Value* value) const {
    if (value->type.tensor.element != now_->type.tensor.element) return false;
    const auto scores = shape_of(value), edited = shape_of(now_);
    if (!scores || !edited || scores->size() != edited->size()) return false;
    return std::equal(scores->begin(), scores->end() - 1, edited->begin()) &&
           scores->back().may_equal(edited->back());
  }

  bool is_folded() const { return rank_of(now_) == 3; }

  bool take_sum() {
    Node* sum = maker(now_, "Add");
    for (const size_t side : {0, 1}) {
      if (sum == nullptr || !are_scores(sum->input(side)) || !leads_to_product(sum->input(side))) continue;
      match_.edits.push_back({.mask = sum->input(1 - side), .folded = is_folded()});
      match_.members.push_back(sum);
      now_ = sum->input(side);
      return true;
    }
    return false;
  }

  bool take_choice() {
    Node* choice = maker(now_, "Where");
    for (const size_t side : {1, 2}) {
      if (choice == nullptr || !are_scores(choice->input(side)) ||
          !is_forbidding(choice->input(3 - side), match_.edits.empty()))
        continue;
      match_.edits.push_back({choice->input(3 - side), choice->input(0), side == 2, is_folded()});
      match_.members.push_back(choice);
      now_ = choice->input(side);
      return true;
    }
    return false;
  }

  // The mask of shifted windows: scores seen as [1, windows, heads, rows, keys] and back.
  bool take_windows() {
    Node* back = maker(now_, "Reshape");
    Node* sum = back == nullptr ? nullptr : maker(back->input(0), "Add");
    for (const size_t side : {0, 1}) {
      Node* there = sum == nullptr ? nullptr : maker(sum->input(side), "Reshape");
      if (there == nullptr || shape_of(there->input(0)) != dims_ ||
          !same_type(there->output(0), sum->output(0)))
        continue;
      const auto seen = shape_of(sum->output(0)), mask = shape_of(sum->input(1 - side));
      if (!seen || !mask || seen->size() != 5 || (*seen)[0] != Dim(1) || mask->size() != 5 ||
          !std::equal(dims_.begin(), dims_.end(), seen->begin() + 1, seen->end()))
        continue;
      match_.edits.push_back({.mask = sum->input(1 - side)});
      match_.members.insert(match_.members.end(), {back, sum, there});
      now_ = there->input(0);
      return true;
    }
    return false;
  }

  // Between scores of [batch * heads, rows, keys] and of [batch, heads, rows, keys], in either direction.
  bool take_view() {
    Node* view = maker(now_, "Reshape");
    const auto from = view == nullptr ? std::nullopt : shape_of(view->input(0)), to = shape_of(now_);
    if (!from || !to || from->size() + to->size() != 7) return false;
    const Shape &whole = from->size() == 4 ? *from : *to, &folded = from->size() == 4 ? *to : *from;
    const Shape parts(whole.begin(), whole.begin() + 2);
    if (folded.size() != 3 || folded[0] != parts[0] * parts[1] || folded[1] != whole[2] ||
        (!batch_and_heads_.empty() && batch_and_heads_ != parts))
      return false;
    batch_and_heads_ = parts;
    match_.members.push_back(view);
    now_ = view->input(0);
    return true;
  }

  bool take_cast() {
    Node* cast = float_cast(now_);
    if (cast == nullptr) return false;
    match_.members.push_back(cast);
    now_ = cast->input(0);
    return true;
  }

  // cap * tanh(scores / cap).
  void take_cap() {
    const auto outer = product_with_scalar(now_);
    Node* tanh = outer ? maker(outer->value, "Tanh") : nullptr;
    const auto inner = tanh == nullptr ? std::nullopt : product_with_scalar(tanh->input(0));
    if (!inner || !is_near(inner->scalar * outer->scalar, 1)) return;
    match_.softcap = outer->scalar;
    match_.members.insert(match_.members.end(), {outer->node, tanh, inner->node});
    now_ = inner->value;
  }

  AttentionMatch& match_;
  Value* now_;
  Shape dims_, batch_and_heads_;
};

// The first two sizes of the queries of three axes before heads were folded into the batch; else they count
// as of one head.
Shape unfolded(Value* queries) {
  const Shape folded = *shape_of(queries);
  for (Node* view = maker(queries, "Reshape"); view != nullptr; view = maker(view->input(0), "Reshape")) {
    const auto from = shape_of(view->input(0));
    if (from && from->size() == 4 && (*from)[0] * (*from)[1] == folded[0] && (*from)[2] == folded[1])
      return {(*from)[0], (*from)[1]};
  }
  return {folded[0], 1};
}

// [batch, heads, rows, size] of a value of rank 3 or 4.
Shape head_dims(const Shape& dims, const Shape& batch_and_heads) {
  if (dims.size() == 4) return dims;
  return {batch_and_heads[0], batch_and_heads[1], dims[1], dims[2]};
}

// K from K^T, whose sizes are `k.dims`: through the Transpose, which may stand between two Reshapes.
bool take_keys(Value* transposed, AttentionMatch& match) {
  HeadsView& k = match.k;
  Value* value = transposed;
  Node* reshape = maker(value, "Reshape");
  if (reshape != nullptr) value = reshape->input(0);
  Node* transpose = maker(value, "Transpose");
  const auto sizes = transpose == nullptr ? std::nullopt : shape_of(value);
  if (!sizes || sizes->size() < 3 || (*sizes)[sizes->size() - 1] != k.dims[2] ||
      (*sizes)[sizes->size() - 2] != k.dims[3])
    return false;
  auto order = transpose->attribute<std::vector<int64_t>>("perm", {});
  if (order.size() != sizes->size()) return false;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  k.value = transpose->input(0);
  if (!std::is_sorted(order.begin(), order.end())) k.order = order;
  for (const Node* taken : {reshape, transpose}) {
    if (taken != nullptr) match.around.insert(taken->provenance.begin(), taken->provenance.end());
  }
  return true;
}

bool is_softmax_of_rows(const Node& node, int64_t rank) {
  const int64_t axis = ops::softmax_axis(node);
  return axis == -1 || axis == rank - 1;
}

// Whether queries, keys and values fit together, in sizes and types. How many heads there are must be known.
bool has_types_of_attention(const AttentionMatch& match, const Value& transposed_keys) {
  const Shape &heads = match.q.dims, &keys = match.k.dims, &values = match.v.dims;
  const bool fits = heads[0] == keys[0] && heads[0] == values[0] && heads[1] == keys[1] &&
                    heads[1] == values[1] && heads[3] == keys[3] && keys[2] == values[2];
  const ElementType type = match.q.value->type.tensor.element;
  const bool floats =
      type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16;
  return fits && heads[1].is_constant() && floats && transposed_keys.type.tensor.element == type &&
         match.v.value->type.tensor.element == type;
}

}  // namespace

std::optional<AttentionMatch> match_attention(Node* node) {
  if (node->op != "MatMul" || !node->domain.empty()) return std::nullopt;
  AttentionMatch match;
  Node* softmax = find_softmax(node->input(0), match);
  const auto scores = softmax == nullptr ? std::nullopt : shape_of(softmax->input(0));
  const auto v = shape_of(node->input(1));
  if (!scores || !v || scores->size() < 3 || scores->size() > 4 || v->size() != scores->size() ||
      !is_softmax_of_rows(*softmax, rank_of(softmax->input(0))) || element_count(*scores) == Dim(0))
    return std::nullopt;
  ScoresWalk walk(match, softmax->input(0));
  Node* product = walk.product();
  if (product == nullptr) return std::nullopt;
  match.members.push_back(node);
  Value *q = product->input(0), *transposed = product->input(1);
  match.scale *= walk.take_scalars(q, false) * walk.take_scalars(transposed, false);
  const auto q_sizes = shape_of(q), k_sizes = shape_of(transposed);
  if (!q_sizes || !k_sizes || q_sizes->size() != scores->size() || k_sizes->size() != scores->size())
    return std::nullopt;
  Shape parts = walk.batch_and_heads();
  if (parts.empty() && scores->size() == 3) parts = unfolded(q);
  match.q = {q, {}, head_dims(*q_sizes, parts)};
  match.k.dims = head_dims(*k_sizes, parts);
  std::swap(match.k.dims[2], match.k.dims[3]);
  match.v = {node->input(1), {}, head_dims(*v, parts)};
  const bool typed = has_types_of_attention(match, *transposed);
  return typed && take_keys(transposed, match) ? std::optional(std::move(match)) : std::nullopt;
}

}  // namespace vernier
