// The passes, one source each.
#pragma once

#include "vernier/passes/pass.h"

namespace vernier {

// Exact.
// Nodes of constants, through the reference; integers that follow from sizes. `keeps_integers`: quantized
// constants are not dequantized yet.
Pass fold_constants(bool keeps_integers = false);
Pass remove_dead_code();  // nodes that no output needs, and outputs of recurrent operators and others
// Identity, Dropout, Cast to the same type, Reshape to the same sizes, Where for NaN of what is never NaN,
// and QuantizeLinear of what was dequantized alike; CastLike becomes Cast.
Pass remove_identities();
Pass constant_reshapes();   // Reshape to sizes that follow from those of its input: to a constant list
Pass merge_common_nodes();  // equal nodes of equal inputs
Pass merge_sizes();         // integers that follow from the sizes of the inputs in the same way
Pass sink_transposes();     // through pointwise operators and their like, where that lets transposes cancel
Pass merge_transposes();    // Transpose of Transpose; those that move no element become Reshape, or go
Pass remove_views();        // chains of Reshape, Squeeze, Unsqueeze and Flatten become one
Pass join_products();  // of the same rows, for the queries, keys and values of an Attention: one product,
                       // Split
Pass hoist_loop_invariants();  // what is the same in every trip of a Loop or Scan, before it
Pass fold_pad();          // zeros that Pad puts around an image, into the Conv or AveragePool that reads it
Pass pad_explicitly();    // of a Conv whose weights are not all finite: Pad, and the Conv without padding
Pass split_dequantize();  // so that each reader may be computed with its own
Pass propagate_dequantize();  // DequantizeLinear behind what moves elements, towards QuantizeLinear, where
                              // both go

// Reassociating: another order of sums, or fewer roundings.
Pass recognise_silu();  // x * Sigmoid(alpha * x) -> Swish
Pass recognise_gelu();  // with erf or tanh -> Gelu
Pass recognise_hard_swish();
Pass recognise_softmax();     // exp(x) / sum(exp(x)) -> Softmax
Pass recognise_l2_norm();     // sqrt(sum(x * x)) -> ReduceL2
Pass recognise_layer_norm();  // -> LayerNormalization
Pass recognise_rms_norm();    // -> RMSNormalization
Pass recognise_attention();   // softmax(scale * Q * K^T + mask) * V -> Attention
Pass settle_masks();     // of an Attention, once it is known: a causal one is a flag, one of nothing is none
Pass lower_einsum();     // of two operands -> MatMul
Pass lower_microsoft();  // com.microsoft Attention and EmbedLayerNormalization -> what they are made of
Pass expand_fused_conv();    // com.microsoft FusedConv -> Conv, Add, activation
Pass unfold_patches();       // Conv of windows side by side, read as rows -> one product of the patches
Pass batch_loop_products();  // x[trip] * W in a Loop -> one product before it, of all rows
// Into the Conv, ConvTranspose or Gemm before it: all of them, or those that `into` chooses.
Pass fold_batch_norm(std::function<bool(const Node&)> into = {});

// Grouping: what is computed by one kernel. A group means what its nodes mean.
using CanFollow = std::function<bool(const Node& anchor, const Node& next, const Value& chain)>;
Pass fuse_epilogues(CanFollow can_follow);
Pass read_packed_heads();  // Split of rows -> Attention
Pass read_embeddings();    // Gather of rows of a constant table -> LSTM, GRU or RNN
// DequantizeLinear -> Conv, MatMul or Gemm -> … -> QuantizeLinear. Reassociating: what kernels of integers
// do.
Pass fuse_qdq();
// Two products of int8 with a softmax between them that is quantized. Reassociating, as what it groups.
Pass group_quantized_attention();
Pass fuse_pointwise_depthwise();  // Conv of one pixel -> depthwise Conv, each with what follows it
using IsPointwise = std::function<bool(const Node& node)>;
// The nodes that the backend can compute so, and at the end of a group one that it can compute of what they
// make, as a normalisation of rows.
Pass fuse_pointwise(IsPointwise is_pointwise, IsPointwise ends_group = {});

}  // namespace vernier
