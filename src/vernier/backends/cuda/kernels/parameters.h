// Launches hand these to programs: plain structs that the host fills and, as text, programs read. Steps and
// sizes are in elements.
#pragma once

namespace vernier::cuda {

using i64 = long long;
constexpr int kMaxRank = 8, kMaxOperands = 24;

// An index space, and where its element (i, j, …) lies in operands: at the sum of i * step of each axis.
struct CopyParameters {
  const void* from;
  void* to;
  i64 count, from_offset, to_offset;
  i64 sizes[kMaxRank], from_steps[kMaxRank], to_steps[kMaxRank];
};

struct PointwiseParameters {
  const void* x[kMaxOperands];
  void* y[kMaxOperands];
  void* faults;
  i64 count;
  i64 sizes[kMaxRank];
  i64 steps[kMaxOperands][kMaxRank];
  int fault;
};

struct PadParameters {
  const void* x;
  const void* value;  // null: zero
  void* y;
  i64 count;
  i64 sizes[kMaxRank], steps[kMaxRank];  // sizes of the output, steps of the input
  i64 to[kMaxRank], from[kMaxRank],
      length[kMaxRank];  // where the input's part begins in both, and how long it is
};

// Data seen as [outer, length, inner], indices as [count] or [outer, count, inner].
struct GatherParameters {
  const void* x;
  const void* indices;
  void* y;
  void* faults;
  i64 outer, length, inner, count;
  int fault;
};

struct GatherNdParameters {
  const void* x;
  const void* indices;
  const void* updates;
  void* y;
  void* faults;
  i64 tuples, tuples_per_batch, batch_size,
      block;                             // blocks of so many elements; a batch has batch_size elements
  i64 sizes[kMaxRank], steps[kMaxRank];  // of the axes that a tuple indexes
  int tuple, fault;
};

struct ElementsParameters {  // GatherElements and ScatterElements
  const void* x;
  const void* indices;
  const void* updates;
  void* y;
  void* faults;
  i64 count;  // of indices; for scattering of columns along the axis
  i64 index_sizes[kMaxRank], steps[kMaxRank], index_steps[kMaxRank];
  i64 axis_size, axis_step, index_axis_size, index_axis_step;
  int fault;
};

// Each result folds the elements of `inner_sizes` around its own place.
struct ReduceParameters {
  const void* x;
  void* y;
  i64 results, length;                             // elements of one fold
  i64 sizes[kMaxRank], steps[kMaxRank];            // of what stays
  i64 fold_sizes[kMaxRank], fold_steps[kMaxRank];  // of what is folded
};

// Rows along one axis: element i of row (o, k) lies at (o * length + i) * inner + k.
struct RowParameters {
  const void* x;
  void* y;
  void* indices;
  i64 outer, length, inner, kept;
};

// The scale of element (i, j, …) lies at the sum of i / block * step of each axis.
struct QuantizeParameters {  // QuantizeLinear and DequantizeLinear
  const void* x;
  const void* scale;
  const void* zero;  // null: 0
  void* y;
  i64 count;
  i64 sizes[kMaxRank], blocks[kMaxRank], steps[kMaxRank];
  double low, high;  // of y, where it is of integers or saturates
};

struct DynamicQuantizeParameters {
  const void* x;
  void* ranges;  // the lowest and the highest element of each part, floats
  void* y;
  void* scale;
  void* zero;
  i64 count;
  int parts;
};

// Windows of an image of int8 as rows, whose value (image, channel, pixel) lies at the sum of each times
// its step.
struct WindowParameters {
  const void* x;
  const void* zero;  // the value of what lies outside of the image; null: 0
  void* y;
  i64 first, rows;  // of all rows, which are written
  i64 image_step, channel_step, pixel_step;
  int channels, length;  // of a row: taps of so many channels, and zeros behind them
  int input[3], output[3], kernel[3], strides[3], dilations[3], pads[3];
};

struct Int8SumParameters {
  const void* x;
  void* y;
  i64 rows, length;
};

// A convolution of int8 values less their zero points, summed in int32; steps as in WindowParameters.
struct Int8ConvolutionParameters {
  const void* x;
  const void* w;
  const void* x_zero;  // null: 0
  const void* w_zero;  // null: 0
  void* y;
  i64 x_image, x_channel, x_pixel, w_zero_step;
  int batch, groups, in_channels, out_channels;  // channels of a group
  int channels_last;                             // of y
  int input[3], output[3], kernel[3], strides[3], dilations[3], pads[3];
};

struct Int8TableParameters {
  const void* x;
  const void* table;
  void* y;
  i64 count;
};

struct TriangleParameters {
  const void* x;
  const void* k;  // null: 0
  void* y;
  i64 count, rows, columns;
  int upper;
};

struct NormalizeParameters {  // of groups of channels
  const void* x;
  const void* scale;
  const void* bias;
  void* y;
  i64 groups, length;
  i64 channels, parameter_size;  // group g, element i: parameter (g * length + i) / parameter_size % channels
  double epsilon;
};

struct RowNormalizeParameters {
  PointwiseParameters chain;  // what is normalised
  const void* scale;          // null: 1
  const void* bias;           // null: 0
  void* y;
  void* mean;               // null: not wanted
  void* inverse_deviation;  // the same
  i64 rows, length;
  double epsilon;
};

struct ChannelParameters {  // BatchNormalization with given statistics
  const void* x;
  const void* scale;
  const void* bias;
  const void* mean;
  const void* variance;
  void* y;
  i64 count, channels, inner;
  double epsilon;
};

struct PoolParameters {
  const void* x;
  void* y;
  void* indices;
  i64 planes, channels;  // of each place of a plane: one where images lie plain
  int input[3], output[3], kernel[3], strides[3], dilations[3], pads[3], pads_end[3];
  int column_major;
  double power;
};

struct ResizeParameters {  // along one axis: [outer, length, inner] to [outer, result, inner]
  const void* x;
  const void* starts;
  const void* indices;
  const void* weights;
  void* y;
  i64 outer, length, result, inner;
};

// c[m, n] = alpha * a[m, k] * b[k, n] + beta * bias, for each of a batch; steps in elements.
struct ProductParameters {
  const void* a;
  const void* b;
  const void* bias;
  void* c;
  int m, n, k;
  i64 a_row, a_column, b_row, b_column, bias_row, bias_column;
  i64 batch_sizes[kMaxRank], a_batch[kMaxRank], b_batch[kMaxRank], bias_batch[kMaxRank];
  double alpha, beta;
};

struct ConvolutionParameters {
  const void* x;
  const void* w;
  const void* bias;
  void* y;
  int batch, groups, in_channels, out_channels;  // channels of a group
  int input[3], output[3], kernel[3], strides[3], dilations[3], pads[3];
};

// A recurrent operator whose inputs are multiplied by W already: `projected` has, for each row of X, the
// gates of each direction. States that lie in memory are, for each block of sequences: the one before an even
// step, the one before an odd step, and the cell or the state that is reset.
struct RecurrentParameters {
  const void* projected;
  const void* r;
  const void* bias;
  const void* lengths;
  const void* initial_hidden;
  const void* initial_cell;
  const void* peepholes;
  void* y;
  void* y_hidden;
  void* y_cell;
  void* states;
  void* faults;
  int steps, batch, hidden, directions, batch_first;
  int parts, step, fault;  // blocks that share a direction of some sequences, and the step of this launch
  int backward[2];
  double alpha[2][3], beta[2][3], clip;  // of the activations of each direction
};

// Rows of heads on their way to where attention reads them: `rows` new ones, behind old ones where there are
// any.
struct HeadRowsParameters {
  const void* x;
  const void* past;  // null: what is old, if anything is, lies in y already
  const void* bias;
  const void* cosines;
  const void* sines;
  const void* positions;
  const void* last_keys;
  void* y;
  void* faults;
  int heads, rows, size, old_rows, keys, longest;  // of y there are `keys` rows
  int half, angles;                                // pairs that are turned, and positions that have an angle
  int parts, fault;                                // blocks of a head
  i64 x_batch, x_head, x_row, past_batch, past_head, y_batch, y_head, y_row;
};

struct AttentionParameters {
  const void* q;
  const void* k;
  const void* v;
  const void* mask;
  const void* padding;
  const void* counts;  // of keys, for each of the batch
  const void* sinks;
  void* y;
  void* partials;
  int batch, heads, kv_heads, queries, keys, head_size, value_size;
  int causal, left, right, mask_keys;
  int past, longest;  // where the first query is among the keys, unless counts tell, and the largest of these
  int without;  // what a row gives where nothing may be attended: zeros, NaN (1), zeros also for NaN (2)
  int splits, split_keys;  // parts that keys are dealt to, and how many each has
  i64 q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  i64 mask_batch, mask_head, mask_row, mask_column;
  double scale, cap, filter;
};

static_assert(sizeof(CopyParameters) == 232 && sizeof(PointwiseParameters) == 2008);
static_assert(sizeof(ReduceParameters) == 288 && sizeof(ProductParameters) == 368);

}  // namespace vernier::cuda
