// ConvTranspose of channels-last floats by constant weights, as the tactic "sub-pixel". The pixels of an
// output line that are one stride apart form a phase: all of them depend on the same taps. So each phase is a
// matrix product of the input line, where a row is as many neighbouring pixels as there are such taps, by the
// weights of these taps.
#include "vernier/backends/cpu/gemm/packed_product.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

namespace {

constexpr const char* kTactic = "sub-pixel";

struct Shape {
  int64_t batch, channels, columns;  // columns: channels of the output
  ops::WindowAxis y, x;              // of the convolution whose gradient this is: from output to input

  // If all phases of a line have the same number of taps, one product computes them all.
  bool is_joint() const { return x.kernel % x.stride == 0; }
  int64_t phases() const { return is_joint() ? 1 : x.stride; }
  int64_t taps(int64_t phase) const { return (x.kernel - phase + x.stride - 1) / x.stride; }
  PackedShape product(int64_t phase) const {
    return {is_joint() ? x.stride * columns : columns, taps(phase) * channels};
  }
  int64_t lines_at_once() const { return (y.kernel + y.stride - 1) / y.stride; }
  // How many neighbours to its left the first pixel of a line lacks; zeros stand for them.
  int64_t margin() const { return taps(0) - 1; }
  int64_t line_size() const { return (x.output + margin()) * channels; }

  int64_t phase_at(int64_t phase) const {
    int64_t at = 0;
    for (int64_t i = 0; i < phase; ++i) at += product(i).size();
    return at;
  }
  int64_t weights_of_line() const { return phase_at(phases()); }
  double flops() const {
    return 2.0 * static_cast<double>(batch * y.output * x.output) * static_cast<double>(channels * columns) *
           static_cast<double>(y.kernel * x.kernel);
  }
};

std::optional<Shape> shape_of(const KernelRequest& request) {
  const Operand &x = request.in(0), &w = request.in(1), &y = request.out();
  const bool is_image = (x.rank() == 3 || x.rank() == 4) && x.layout == Layout::kChannelsLast &&
                        y.layout == x.layout && x.size() > 0 && y.size() > 0;
  if (!is_image || x.element != ElementType::kFloat || y.element != x.element || w.element != x.element ||
      w.constant == nullptr || w.size() == 0 || (request.has(2) && request.in(2).constant == nullptr) ||
      ops::integer_attribute(request.node, "group") != 1)
    return std::nullopt;
  auto axes = ops::transposed_axes(request.node, x.dims, w.dims);
  if (axes.size() == 1) axes.insert(axes.begin(), ops::WindowAxis());
  const Shape shape{x.dims[0], x.dims[1], w.dims[1], axes[0], axes[1]};
  const bool fits = shape.x.pad_begin == 0 && shape.x.input == shape.x.stride * shape.x.output &&
                    shape.x.kernel >= shape.x.stride && shape.y.kernel >= shape.y.stride &&
                    shape.x.dilation == 1 && shape.y.dilation == 1;
  return fits ? std::optional(shape) : std::nullopt;
}

// Weights [channels, columns, y, x]: for each line of taps the phases, each with its taps in the order of the
// pixels that they meet.
void pack(const float* weights, const Shape& shape, float* to) {
  const int64_t kernel = shape.x.kernel, stride = shape.x.stride;
  for (int64_t line = 0; line < shape.y.kernel; ++line) {
    for (int64_t phase = 0; phase < shape.phases(); ++phase) {
      const PackedShape product = shape.product(phase);
      const int64_t taps = shape.taps(phase);
      std::vector<float> rows(static_cast<size_t>(product.columns * product.depth));
      float* next = rows.data();
      for (int64_t i = 0; i < product.columns; ++i) {
        const int64_t offset = phase + i / shape.columns, column = i % shape.columns;
        for (int64_t tap = taps - 1; tap >= 0; --tap) {
          for (int64_t channel = 0; channel < shape.channels; ++channel)
            *next++ = weights[((channel * shape.columns + column) * shape.y.kernel + line) * kernel + offset +
                              tap * stride];
        }
      }
      pack_panels(rows.data(), product, product.depth, 1, to);
      to += product.size();
    }
  }
}

class TransposedConvolution : public Kernel {
 public:
  TransposedConvolution(const Shape& shape, std::shared_ptr<const PackedForm> weights, const Tensor* bias)
      : shape_(shape), weights_(std::move(weights)), partitions_(threads_for(shape.flops())) {
    name = "cpu:transposed_convolution";
    contract = float_contract(ElementType::kFloat);
    const PackedShape product = shape.product(0);
    initial_.resize(static_cast<size_t>(product.row_size()));
    if (bias != nullptr) {
      const auto* from = static_cast<const float*>(bias->raw());
      for (int64_t i = 0; i < product.columns; ++i)
        initial_[static_cast<size_t>(i)] = from[i % shape.columns];
    }
    partition_size_ = shape.margin() > 0 ? shape.lines_at_once() * shape.line_size() : 0;
    is_direct_ = product.row_size() == product.columns;
    if (!is_direct_) partition_size_ += shape.x.output * product.row_size();
    constexpr int64_t kPage = 1024;  // floats
    partition_size_ = (partition_size_ + kPage - 1) / kPage * kPage;
    scratch_bytes = sizeof(float) * static_cast<size_t>(partition_size_ * partitions_);
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t lines = shape_.batch * shape_.y.input;
    parallel(partitions_, 1, [&](int64_t begin, int64_t end) {
      std::vector<Line> found;
      found.reserve(static_cast<size_t>(shape_.lines_at_once()));
      for (int64_t partition = begin; partition < end; ++partition) {
        float* scratch = reinterpret_cast<float*>(arguments.scratch) + partition * partition_size_;
        for (int64_t line = lines * partition / partitions_; line < lines * (partition + 1) / partitions_;
             ++line)
          compute(arguments, line, found, scratch);
      }
    });
  }

  void prepare() const override { weights_->content(); }
  bool is_prepared() const override { return weights_->is_made(); }
  bool reads(size_t input) const override { return input == 0; }

 private:
  // A line of the input, with its margin, and the line of taps that it meets.
  struct Line {
    const float* x;
    int64_t tap;
  };

  // Computes line `line` of the output for all images.
  void compute(const KernelArguments& arguments, int64_t line, std::vector<Line>& found,
               float* scratch) const {
    const ops::WindowAxis& axis = shape_.y;
    const int64_t image = line / axis.input, row = line % axis.input + axis.pad_begin;
    const auto* x = static_cast<const float*>(arguments.inputs[0]) +
                    image * axis.output * shape_.x.output * shape_.channels;
    found.clear();
    for (int64_t tap = row % axis.stride; tap < axis.kernel && tap <= row; tap += axis.stride) {
      const int64_t from = (row - tap) / axis.stride;
      if (from >= axis.output) continue;
      const float* begin = x + from * shape_.x.output * shape_.channels;
      found.push_back(
          {with_margin(begin, scratch + static_cast<int64_t>(found.size()) * shape_.line_size()), tap});
    }
    auto* y = static_cast<float*>(arguments.outputs[0]) + line * shape_.x.input * shape_.columns;
    float* sums = scratch + (shape_.margin() > 0 ? shape_.lines_at_once() * shape_.line_size() : 0);
    for (int64_t phase = 0; phase < shape_.phases(); ++phase)
      multiply(phase, found, y + phase * shape_.columns, sums);
  }

  const float* with_margin(const float* line, float* to) const {
    const int64_t margin = shape_.margin() * shape_.channels;
    if (margin == 0) return line;
    std::fill_n(to, margin, 0.0F);
    std::copy_n(line, shape_.x.output * shape_.channels, to + margin);
    return to;
  }

  void multiply(int64_t phase, const std::vector<Line>& lines, float* y, float* sums) const {
    const PackedShape product = shape_.product(phase);
    const int64_t pixels = shape_.x.output, stride = shape_.x.stride * shape_.columns,
                  skipped = (shape_.margin() + 1 - shape_.taps(phase)) * shape_.channels;
    const auto* weights = reinterpret_cast<const float*>(weights_->content().data()) + shape_.phase_at(phase);
    float* to = is_direct_ ? y : sums;
    const int64_t to_stride = is_direct_ ? stride : product.row_size();
    for (size_t i = 0; i < lines.size(); ++i)
      multiply_panels(
          {lines[i].x + skipped, shape_.channels, pixels, weights + lines[i].tap * shape_.weights_of_line(),
           initial_.data(), to, to_stride, i > 0},
          product, 0, product.panels());
    if (is_direct_ && !lines.empty()) return;
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      std::copy_n(lines.empty() ? initial_.data() : sums + pixel * product.row_size(), product.columns,
                  y + pixel * stride);
  }

  Shape shape_;
  std::shared_ptr<const PackedForm> weights_;
  int64_t partitions_, partition_size_ = 0;  // floats of scratch
  std::vector<float> initial_;               // initial accumulators of a row
  bool is_direct_ = false;                   // whether products write what others read
};

std::vector<std::string> tactics_transposed_convolution(const KernelRequest& request) {
  return shape_of(request) ? std::vector<std::string>{kTactic} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_transposed_convolution(const KernelRequest& request, std::string& reason) {
  const auto shape = request.tactic == kTactic ? shape_of(request) : std::nullopt;
  if (!shape) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const Tensor& source = *request.in(1).constant;
  const size_t bytes = sizeof(float) * static_cast<size_t>(shape->y.kernel * shape->weights_of_line());
  auto weights =
      request.pack(source, fmt::format("sub-pixel {} {}", shape->x.stride, panel_columns()), bytes,
                   [source, shape = *shape](std::byte* to) {
                     pack(static_cast<const float*>(source.raw()), shape, reinterpret_cast<float*>(to));
                   });
  return std::make_unique<TransposedConvolution>(*shape, std::move(weights),
                                                 request.has(2) ? request.in(2).constant : nullptr);
}

}  // namespace

void register_transposed_convolution(KernelRegistry& registry) {
  registry.add({"", "ConvTranspose", LayoutRule::kImage, Priority::kOwn, make_transposed_convolution,
                tactics_transposed_convolution});
}

}  // namespace vernier::cpu
