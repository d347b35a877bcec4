#include "vernier/backends/cpu/epilogue/row_epilogue.h"

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

namespace {

using Kind = PostOp::Kind;

std::optional<RowPost::Operand> operand_kind(const Operand& operand, const Operand& y, size_t columns_axis) {
  if (!is_float_storage(operand.element) || operand.rank() > y.rank()) return std::nullopt;
  if (operand.size() == 1) return RowPost::Operand::kScalar;
  if (operand.dims == y.dims && operand.layout == y.layout) return RowPost::Operand::kRows;
  const int64_t columns = y.dims[columns_axis];
  const auto axis = static_cast<int64_t>(columns_axis) - (y.rank() - operand.rank());
  if (axis < 0 || operand.size() != columns || operand.dims[static_cast<size_t>(axis)] != columns)
    return std::nullopt;
  return RowPost::Operand::kRow;
}

bool is_plain_relu(const PostOp& post) {
  return post.kind == Kind::kRelu && post.alpha == 0;
}

RowGate gate_of(Kind kind) {
  switch (kind) {
    case Kind::kSwish: return RowGate::kSwish;
    case Kind::kGeluErf: return RowGate::kGelu;
    case Kind::kGeluTanh: return RowGate::kGeluTanh;
    default: return RowGate::kNone;
  }
}

// The gate that the post-op is for what is stored; of floats, GELU is a function of its own.
RowGate gate_of(const PostOp& post, ElementType stored) {
  const RowGate gate = gate_of(post.kind);
  if (gate == RowGate::kSwish && post.alpha == 0) return RowGate::kNone;
  const bool is_there =
      stored == ElementType::kBFloat16 || (stored == ElementType::kFloat && gate == RowGate::kSwish);
  return is_there ? gate : RowGate::kNone;
}

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> result(static_cast<size_t>(tensor.size()));
  const float* from = load_floats(tensor.type(), tensor.raw(), 0, tensor.size(), result.data());
  if (from != result.data()) std::copy_n(from, tensor.size(), result.begin());
  return result;
}

}  // namespace

std::optional<RowEpilogue> RowEpilogue::of(const Fused& fused, const KernelRequest& request,
                                           size_t columns_axis, std::string& reason) {
  reason = "an operand of what follows does not lie row by row";
  RowEpilogue epilogue;
  epilogue.stored_ = request.out().element;
  epilogue.columns_ = request.out().dims[columns_axis];
  if (!is_float_storage(epilogue.stored_)) return std::nullopt;
  auto& post_ops = epilogue.post_ops_;
  for (const PostOp& post : fused.post_ops) {
    if (is_plain_relu(post) && !post_ops.empty() && post_ops.back().post.kind == Kind::kAdd &&
        !post_ops.back().relu) {
      post_ops.back().relu = true;
      continue;
    }
    post_ops.push_back({post});
    if (post.operand < 0) continue;
    const Operand& operand = request.in(static_cast<size_t>(post.operand));
    const auto kind = operand_kind(operand, request.out(), columns_axis);
    if (!kind) return std::nullopt;
    post_ops.back().operand = *kind;
    post_ops.back().element = operand.element;
  }
  return epilogue;
}

std::vector<float> RowEpilogue::take_bias(const KernelRequest& request, int input) {
  const auto content = [&](int index) { return request.in(static_cast<size_t>(index)).constant; };
  if (input >= 0) return floats_of(*content(input));
  if (post_ops_.empty() || post_ops_[0].post.kind != Kind::kAdd ||
      post_ops_[0].operand != RowPost::Operand::kRow || content(post_ops_[0].post.operand) == nullptr)
    return {};
  auto bias = floats_of(*content(post_ops_[0].post.operand));
  if (post_ops_[0].relu)
    post_ops_[0] = {PostOp{Kind::kRelu}};
  else
    post_ops_.erase(post_ops_.begin());
  return bias;
}

std::optional<RowEpilogue::OnePass> RowEpilogue::as_one_pass() const {
  OnePass result;
  ActivationEpilogue& end = result.end;
  auto next = post_ops_.begin();
  if (next != post_ops_.end() && next->post.kind == Kind::kAdd && next->element == stored_ &&
      next->operand == RowPost::Operand::kRows) {
    result.residual = next->post.operand;
    if (next->relu) end.low = 0;
    ++next;
  }
  if (next != post_ops_.end() && end.low < 0) {
    if (is_plain_relu(next->post)) {
      end.low = 0;
      ++next;
    } else if (next->post.kind == Kind::kClip) {
      end.low = next->post.alpha;
      end.high = next->post.beta;
      ++next;
    } else if (const RowGate gate = gate_of(next->post, stored_); gate != RowGate::kNone) {
      end.gate = gate;
      end.swish = next->post.alpha;
      ++next;
    }
  }
  return next == post_ops_.end() ? std::optional(result) : std::nullopt;
}

bool RowEpilogue::is_approximate() const {
  return std::any_of(post_ops_.begin(), post_ops_.end(), [](const RowPost& each) {
    return each.post.kind >= Kind::kSigmoid && each.post.kind <= Kind::kSwish;
  });
}

bool RowEpilogue::reads(int input) const {
  return std::any_of(post_ops_.begin(), post_ops_.end(),
                     [&](const RowPost& each) { return each.post.operand == input; });
}

bool RowEpilogue::has_columns() const {
  return std::any_of(post_ops_.begin(), post_ops_.end(),
                     [](const RowPost& each) { return each.operand == RowPost::Operand::kRow; });
}

int RowEpilogue::in_place() const {
  int input = -1;
  for (const RowPost& each : post_ops_) {
    if (each.operand == RowPost::Operand::kRows && each.element == stored_) input = each.post.operand;
  }
  return input;
}

void RowEpilogue::finish(const KernelArguments& arguments, const Block& block) const {
  const int64_t offset = block.row * columns_ + block.column;
  const auto size_of = [](ElementType type) { return static_cast<int64_t>(element_size(type)); };
  auto* y = static_cast<std::byte*>(arguments.outputs[0]) + offset * size_of(stored_);
  Rows rows{block.sums,   block.stride, block.sums,   ElementType::kFloat,
            block.stride, block.rows,   block.columns};
  const auto write = [&] {
    rows.to = y;
    rows.type = stored_;
    rows.to_stride = columns_;
  };
  for (const RowPost& each : post_ops_) {
    if (&each == &post_ops_.back()) write();
    const bool all = each.operand == RowPost::Operand::kRows;
    const std::byte* operand = nullptr;
    if (each.post.operand >= 0) operand = static_cast<const std::byte*>(arguments.inputs[each.post.operand]);
    if (all) operand += offset * size_of(each.element);
    if (each.operand == RowPost::Operand::kRow) operand += block.column * size_of(each.element);
    apply_post(each, rows, operand, all ? columns_ : 0);
  }
  if (!post_ops_.empty() || static_cast<void*>(y) == block.sums) return;
  write();
  store_rows(rows);
}

}  // namespace vernier::cpu
