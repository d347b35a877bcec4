// The epilogue of a contraction of floats as post-ops of oneDNN.
#include "vernier/backends/cpu/onednn/post_ops.h"

namespace vernier::cpu {

namespace {

using dnnl::algorithm;
using Kind = PostOp::Kind;

algorithm eltwise_of(Kind kind) {
  switch (kind) {
    case Kind::kRelu: return algorithm::eltwise_relu;
    case Kind::kClip: return algorithm::eltwise_clip;
    case Kind::kLinear: return algorithm::eltwise_linear;
    case Kind::kSigmoid: return algorithm::eltwise_logistic;
    case Kind::kTanh: return algorithm::eltwise_tanh;
    case Kind::kElu: return algorithm::eltwise_elu;
    case Kind::kGeluErf: return algorithm::eltwise_gelu_erf;
    case Kind::kGeluTanh: return algorithm::eltwise_gelu_tanh;
    case Kind::kSwish: return algorithm::eltwise_swish;
    case Kind::kHardSwish: return algorithm::eltwise_hardswish;
    case Kind::kAbs: return algorithm::eltwise_abs;
    case Kind::kSqrt: return algorithm::eltwise_sqrt;
    case Kind::kExp: return algorithm::eltwise_exp;
    default: return algorithm::undef;
  }
}

algorithm binary_of(Kind kind) {
  switch (kind) {
    case Kind::kAdd: return algorithm::binary_add;
    case Kind::kSubtract: return algorithm::binary_sub;
    case Kind::kMultiply: return algorithm::binary_mul;
    case Kind::kDivide: return algorithm::binary_div;
    case Kind::kMax: return algorithm::binary_max;
    case Kind::kMin: return algorithm::binary_min;
    default: return algorithm::undef;
  }
}

// An operand of fewer dimensions takes leading ones, as in ONNX.
dnnl::memory::desc describe_broadcast(const Operand& operand, const Operand& output) {
  if (operand.dims == output.dims) return describe(operand);
  Dims dims(output.dims.size() - operand.dims.size(), 1);
  dims.insert(dims.end(), operand.dims.begin(), operand.dims.end());
  return plain(*dnnl_type(operand.element), dims);
}

// One value, one for each channel, or one for each element.
bool can_broadcast(const Operand& operand, const Operand& output, bool image) {
  if (operand.dims == output.dims) return true;
  if (operand.rank() > output.rank()) return false;
  const int64_t channel = image || output.rank() == 2 || output.rank() >= 4 ? 1 : output.rank() - 1;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t axis = output.rank() - operand.rank() + i, size = operand.dims[static_cast<size_t>(i)];
    if (size != 1 && (axis != channel || size != output.dims[static_cast<size_t>(axis)])) return false;
  }
  return true;
}

}  // namespace

std::optional<Epilogue> make_epilogue(const Fused& fused, const KernelRequest& request, std::string& reason) {
  Epilogue result;
  result.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Operand& output = request.out();
  PostOpChain chain(output.dims.size());
  const bool image = fused.anchor->op == "Conv";
  for (const PostOp& post : fused.post_ops) {
    if (const algorithm eltwise = eltwise_of(post.kind); eltwise != algorithm::undef) {
      if (chain.eltwise(eltwise, post.alpha, post.beta)) continue;
      reason = "oneDNN has no two of a function with different parameters in one epilogue";
      return std::nullopt;
    }
    const Operand& operand = request.in(static_cast<size_t>(post.operand));
    if (!dnnl_type(operand.element) || !can_broadcast(operand, output, image)) {
      reason =
          fmt::format("oneDNN cannot broadcast {} to {}", dims_text(operand.dims), dims_text(output.dims));
      return std::nullopt;
    }
    const bool whole = operand.dims == output.dims;
    // Operands of the contraction itself must not be overwritten.
    const bool is_read =
        std::find(fused.inputs.begin(), fused.inputs.end(), post.operand) != fused.inputs.end();
    if (post.kind == Kind::kAdd && whole && !is_read && operand.constant == nullptr && result.sum_input < 0 &&
        operand.element == output.element) {
      result.sum_input = post.operand;
      chain.sum();
      continue;
    }
    if (!whole || operand.layout == output.layout) {
      chain.binary(binary_of(post.kind),
                   {0, describe_broadcast(operand, output), post.operand, -1, std::nullopt});
      continue;
    }
    // oneDNN reads an operand of the output's sizes as if it lay as the output does, whatever it is told.
    if (operand.constant == nullptr) {
      reason = "an operand of the output's sizes lies in another layout";
      return std::nullopt;
    }
    Operand laid_out = operand;
    laid_out.layout = output.layout;
    const auto wanted = describe(laid_out);
    chain.binary(binary_of(post.kind),
                 {0, wanted, -1, -1, pack(request, *operand.constant, describe(operand), wanted)});
  }
  result.attributes.set_post_ops(chain.post_ops());
  result.arguments = chain.take_arguments();
  return result;
}

}  // namespace vernier::cpu
