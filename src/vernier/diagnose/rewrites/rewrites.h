// Rewrites of a model that mean the same and keep an engine from what it does wrong, one family a file. Each
// changes a Replacement of one node, or the model itself, and gives false where there is nothing to change.
#pragma once

#include "vernier/diagnose/rewrites/replacement.h"

namespace vernier {

// -- one operator by others ------------------------------------------------------------------------------
// Clip as Max and Min.
bool write_clip(Replacement& node);
// Relu, LeakyRelu, PRelu, Elu, Sigmoid, HardSigmoid, HardSwish and Softplus by comparisons and exponentials.
bool write_activation(Replacement& node);
// Add as Sub and Sub as Add of the negative, Mul as Div and Div as Mul by the reciprocal.
bool write_arithmetic(Replacement& node);
// A Conv, Gemm or MatMul with a bias as the product and an Add.
bool write_bias(Replacement& node);
// Softmax, LogSoftmax and Hardmax of the opset of the model, by maximum, exponentials and sums.
bool write_softmax(Replacement& node);
// The normalisations by mean, difference and square, in two passes; BatchNormalization as factor and offset.
bool write_normalisation(Replacement& node);
// A mean as a sum that is divided, which no pattern of a normalisation fits.
bool write_mean(Replacement& node);
// MaxPool and AveragePool with their padding, and the overhang of ceil_mode, as a Pad before them.
bool write_pads(Replacement& node);
// Resize and Upsample of known sizes: nearest as Gather, the other modes as products with matrices.
bool write_resampling(Replacement& node);
// GridSample of images of known sizes, linear or nearest, as indices and weights.
bool write_sampling(Replacement& node);
// ConvTranspose as a Conv over the image with zeros between its elements.
bool write_transposed_convolution(Replacement& node);
// A Conv of groups as a Conv for each group.
bool write_groups(Replacement& node);
// Gather as GatherND, Slice as Gather.
bool write_indices(Replacement& node);
// MatMulInteger and ConvInteger as products of floats that hold every sum.
bool write_integer_product(Replacement& node);
// MatMul by a matrix of known sizes, none too large, as Mul of all pairs of terms and ReduceSum.
bool write_product(Replacement& node);
// ScatterND, without a reduction, as a choice of the last update for each row.
bool write_scatter(Replacement& node);
// ArgMax and ArgMin as the first place at which the extremum is.
bool write_extremum(Replacement& node);
// TopK of numbers of which no two are equal: the places in the order that ONNX asks for.
bool write_best(Replacement& node);
// NonMaxSuppression with its rows sorted behind it.
bool write_selection(Replacement& node);
// Shape as the numbers of elements along the axes.
bool write_shape(Replacement& node);
// Where as GatherElements of both values, side by side.
bool write_where(Replacement& node);
// Round, and Casts from float to integers that truncate, in arithmetic of floats; Mod and Div of integers by
// division of what is not negative.
bool write_rounding(Replacement& node);
// If as both of its branches, of which Where chooses.
bool write_choice(Replacement& node);
// A pair of Casts that rounds floats, as arithmetic that rounds them.
bool write_cast_pair(Replacement& node);
// Lets a Where make what the node makes of NaN.
bool keep_nan(Replacement& node);

// -- the same operator on other numbers ------------------------------------------------------------------
// The maximum is subtracted before a Softmax.
bool subtract_maximum(Replacement& node);
// Operands of a product in two parts, of which each is a number of few bits.
bool split_operands(Replacement& node, int bits);
// Splits what moves integers, or casts them to floats, in two parts, each of which is less than 2048.
bool split_integers(Replacement& node);
// A sum, a mean or a product in parts of so many terms, which are added.
bool split_sum(Replacement& node, int64_t terms);

// -- several nodes ---------------------------------------------------------------------------------------
// Each Loop with a trip more than it needs, in which nothing changes: an engine that leaves it out, or makes
// one more, is right.
bool guard_trips(Model& model, const std::vector<std::string>& nodes);
// The values that the nodes read and make become outputs, which no engine can leave out: fusion ends there.
bool add_barriers(Model& model, const std::vector<std::string>& nodes);
// The nodes that compute in fp16 or bf16 do so in float, between Casts.
bool widen_types(Model& model, const std::vector<std::string>& nodes);
// The nodes that compute in float do so in double: an engine that narrows floats may leave that alone.
bool widen_to_double(Model& model, const std::vector<std::string>& nodes);
// So do all that they follow from: what decides then has the numbers that the model means.
bool widen_path_to_double(Model& model, const std::vector<std::string>& nodes);
// Constants of the nodes beyond what fp16 holds become ones that it holds; with `by_where` what they are
// added to as a mask is chosen by Where instead.
bool tame_sentinels(Model& model, const std::vector<std::string>& nodes, bool by_where);
// Constants of the nodes below the least normal number of fp16 become that number.
bool raise_epsilons(Model& model, const std::vector<std::string>& nodes);
// Values that are, or whose partial sums are, too large for fp16 are computed a power of two smaller, as far
// as they are too large; by magnitudes of a run of the reference on these inputs.
bool scale_down(Model& model, const std::vector<std::string>& nodes, const NamedData& inputs);
// Rows of weights that fp16 takes for zero are made larger by powers of two, and the factors or weights
// behind them smaller.
bool scale_up_weights(Model& model, const std::vector<std::string>& nodes);
// The variance as the mean of squared differences from the mean, where it is the mean of squares less the
// square of the mean.
bool two_passes(Model& model, const std::vector<std::string>& nodes);
// QuantizeLinear at, or before and behind, the nodes is left out with its DequantizeLinear.
bool unquantize(Model& model, const std::vector<std::string>& nodes, bool neighbours);
// The same get the scale of the range that the values have in a run of the reference on these inputs.
bool rescale(Model& model, const std::vector<std::string>& nodes, const NamedData& inputs, bool all);
// All QuantizeLinear of the model.
std::vector<std::string> quantizers_of(const Model& model);
// Makes what a quantized model means: whatever its scales are, the values that they stand for.
Model without_quantizers(const Model& model);

}  // namespace vernier
