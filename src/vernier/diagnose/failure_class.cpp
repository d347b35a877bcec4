#include "vernier/diagnose/failure_class.h"

#include "vernier/base/error.h"

namespace vernier {

namespace {

// In the order of their numbers; the first is of what no hypothesis reproduces.
constexpr std::string_view kTitles[] = {
    "unexplained",
    "overflow in the statistics of a normalisation",
    "overflow of an activation",
    "overflow inside a sum",
    "underflow of weights or gates",
    "an epsilon that is lost",
    "a sentinel that leaves the range of its type",
    "attention logits that are too large",
    "accumulation in too narrow a type",
    "TF32 in a product of floats",
    "integers in a narrow float",
    "a large argument of a periodic or exponential function",
    "cancellation",
    "precision other than requested",
    "a Cast that is not executed",
    "too few bits of mantissa",
    "the reference is wrong",
    "a discrete decision amplifies an error",
    "feedback amplifies an error",
    "calibration data unlike the data",
    "clipping that does not suit the tensor",
    "a histogram that depends on the batch",
    "calibration of another graph",
    "a scale that is zero, NaN or infinite",
    "one scale for channels of different range",
    "symmetric quantization of a one-sided activation",
    "one scale for tensors of different range",
    "quantization around a residual",
    "rounding of integer kernels unlike their simulation",
    "saturation of 16-bit integer sums",
    "layers that quantization hits hard",
    "a defect of fusion or rewriting",
    "bounds of a Clip",
    "counts and windows of pooling",
    "coordinates of resampling",
    "folding of a normalisation or of a transposed convolution",
    "semantics of another opset",
    "integers, rounding, NaN and bool at their corners",
    "sizes that move",
    "indices",
    "order and ties",
    "control flow",
    "a kernel that is wrong by itself",
    "results that depend on the place in the batch",
    "missing synchronisation",
    "a custom operator",
    "state left from a run before",
    "another engine than meant",
    "the caller",
};
static_assert(std::size(kTitles) == FailureClass::kClasses + 1);

}  // namespace

FailureClass::FailureClass(int number) : number_(number) {
  if (number < 1 || number > kClasses) throw internal_error("there is no class B{}", number);
}

std::string FailureClass::code() const {
  return is_explained() ? "B" + std::to_string(number_) : "unexplained";
}

std::string_view FailureClass::title() const {
  return kTitles[number_];
}

}  // namespace vernier
