// Contractions of quantized operands: what groups of DequantizeLinear, a contraction and QuantizeLinear say,
// and what the QLinear operators do, in one form.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

struct Affine {
  double scale = 1, zero_point = 0;
};

// A stage follows the accumulators, and computes on real numbers.
struct QuantizedStage {
  enum class Kind : uint8_t {
    kRelu,        // alpha * x below 0
    kClip,        // between alpha and beta
    kAddTensor,   // the dequantized `operand`, of the sizes of the result
    kAddVector,   // `vector`: one element for each channel
    kRequantize,  // to integers of `type` and back
  };
  Kind kind;
  float alpha = 0, beta = 0;
  size_t operand = 0;  // of the request
  Affine affine = {};
  ElementType type = ElementType::kUndefined;
  std::vector<double> vector = {};
};

struct QuantizedProduct {
  const Node* anchor = nullptr;  // has the attributes of the contraction
  size_t a = 0, b = 0;           // of the request, both of int8
  Affine a_affine;
  std::vector<double> b_scales, b_zero_points;  // of the tensor, or of each channel of the result
  std::vector<double> bias;                     // of each channel, real; empty: none
  std::vector<QuantizedStage> stages;
  std::optional<Affine> result;  // none: the result is of real numbers
};

// Gives scale and zero point of a whole tensor, if the inputs that hold them are known and the scale is
// finite and greater than 0; a zero point left out is 0.
std::optional<Affine> known_affine(const KernelRequest& request, size_t scale, size_t zero_point);

// The same of a QuantizeLinear or DequantizeLinear in the request's group.
std::optional<Affine> member_affine(const KernelRequest& request, const Node& node);

// Nothing, with `reason`, for what is no such contraction, or has parameters that are not known, or such that
// numbers between its stages may be NaN or infinite.
std::optional<QuantizedProduct> parse_quantized(const KernelRequest& request, std::string& reason);

inline bool is_8bit(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kUint8;
}

}  // namespace vernier
