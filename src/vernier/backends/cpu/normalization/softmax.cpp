// Softmax and LogSoftmax along any axis.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/backends/cpu/normalization/row_statistics.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 13;
constexpr int64_t kShort = 16;  // such rows fill no vector

// Element (o, i, k) lies at (o * length + i) * inner + k.
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
};

Rows rows_of(const Node& node, const Dims& dims) {
  const bool flattens = ops::softmax_flattens(node);
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(dims.size()));
  const auto axis = static_cast<size_t>(ops::normalize_axis(ops::softmax_axis(node), rank));
  if (dims.empty()) return {};
  if (flattens) return {ops::product(dims, 0, axis), ops::product(dims, axis, dims.size()), 1};
  return {ops::product(dims, 0, axis), dims[axis], ops::product(dims, axis + 1, dims.size())};
}

void log_softmax_row(const float* x, int64_t count, float* y) {
  const float top = fold_row(Fold::kMax, x, count, 0);
  const double sum = fold_long_row(Fold::kExp, x, count, top);
  affine_row(x, count, top, 1, -static_cast<float>(std::log(sum)), y);
}

void log_softmax_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, float* y) {
  std::array<float, kTileColumns> top, shift, one;
  one.fill(1);
  fold_columns(Fold::kMax, x, rows, stride, columns, nullptr, top.data());
  fold_columns(Fold::kExp, x, rows, stride, columns, top.data(), shift.data());
  for (float& each : shift) each = -std::log(each);
  for (int64_t row = 0; row < rows; ++row)
    affine_each(x + row * stride, columns, top.data(), one.data(), shift.data(), y + row * stride);
}

// There is no buffer where elements are floats already.
float* place(float* buffer, int64_t index) {
  return buffer == nullptr ? nullptr : buffer + index;
}

class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(const KernelRequest& request)
      : rows_(rows_of(request.node, request.in(0).dims)),
        element_(request.in(0).element),
        logarithm_(request.node.op == "LogSoftmax") {
    name = logarithm_ ? "cpu:log_softmax" : "cpu:softmax";
    contract = float_contract(element_);
    contract.approximate = true;
    in_place = 0;
    if (is_narrow(element_)) scratch_bytes = static_cast<size_t>(request.in(0).size()) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    if (rows_.outer == 0 || rows_.length == 0 || rows_.inner == 0) return;
    if (rows_.inner == 1 && rows_.length <= kShort && rows_.outer > 1)
      run_short_rows(arguments);
    else if (rows_.inner == 1)
      run_rows(arguments);
    else
      run_columns(arguments);
  }

 private:
  void run_rows(const KernelArguments& arguments) const {
    auto* buffer = reinterpret_cast<float*>(arguments.scratch);
    const int64_t length = rows_.length;
    parallel(rows_.outer, std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row * length;
        const float* x = load_floats(element_, arguments.inputs[0], first, length, place(buffer, first));
        float* y = float_target(element_, arguments.outputs[0], first, place(buffer, first));
        if (logarithm_)
          log_softmax_row(x, length, y);
        else
          softmax_row(x, length, y);
        store_floats(element_, y, length, arguments.outputs[0], first);
      }
    });
  }

  // Many of them at a time, as columns.
  void run_short_rows(const KernelArguments& arguments) const {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float)), kColumn = kTileColumns * kFloat;
    auto* buffer = reinterpret_cast<float*>(arguments.scratch);
    const int64_t length = rows_.length, tiles = (rows_.outer + kTileColumns - 1) / kTileColumns;
    parallel(tiles, std::max<int64_t>(1, kGrain / (length * kTileColumns)), [&](int64_t begin, int64_t end) {
      alignas(64) float columns[kShort * kTileColumns];
      auto* turned = reinterpret_cast<std::byte*>(columns);
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t row = tile * kTileColumns, count = std::min(kTileColumns, rows_.outer - row);
        const int64_t first = row * length, size = count * length;
        const float* x = load_floats(element_, arguments.inputs[0], first, size, place(buffer, first));
        float* y = float_target(element_, arguments.outputs[0], first, place(buffer, first));
        transpose_tiles(sizeof(float), reinterpret_cast<const std::byte*>(x), length * kFloat, turned,
                        kColumn, count, length);
        if (logarithm_)
          log_softmax_columns(columns, length, kTileColumns, count, columns);
        else
          softmax_columns(columns, length, kTileColumns, count, columns);
        transpose_tiles(sizeof(float), turned, kColumn, reinterpret_cast<std::byte*>(y), length * kFloat,
                        length, count);
        store_floats(element_, y, size, arguments.outputs[0], first);
      }
    });
  }

  void run_columns(const KernelArguments& arguments) const {
    auto* buffer = reinterpret_cast<float*>(arguments.scratch);
    const int64_t stride = rows_.inner, tiles = (stride + kTileColumns - 1) / kTileColumns;
    const int64_t grain = std::max<int64_t>(1, kGrain / (rows_.length * std::min(stride, kTileColumns)));
    parallel(rows_.outer * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t column = tile % tiles * kTileColumns, columns = std::min(kTileColumns, stride - column);
        const int64_t first = tile / tiles * rows_.length * stride + column;
        const float* x = load_floats(element_, arguments.inputs[0], first, columns, place(buffer, first));
        for (int64_t row = 1; row < rows_.length && is_narrow(element_); ++row) {
          const int64_t at = first + row * stride;
          load_floats(element_, arguments.inputs[0], at, columns, place(buffer, at));
        }
        float* y = float_target(element_, arguments.outputs[0], first, place(buffer, first));
        if (logarithm_)
          log_softmax_columns(x, rows_.length, stride, columns, y);
        else
          softmax_columns(x, rows_.length, stride, columns, y);
        for (int64_t row = 0; row < rows_.length; ++row)
          store_floats(element_, y + row * stride, columns, arguments.outputs[0], first + row * stride);
      }
    });
  }

  Rows rows_;
  ElementType element_;
  bool logarithm_;
};

std::unique_ptr<Kernel> make_softmax(const KernelRequest& request, std::string& reason) {
  if (is_float_storage(request.in(0).element)) return std::make_unique<SoftmaxKernel>(request);
  reason = fmt::format("no softmax of {}", element_type_short_name(request.in(0).element));
  return nullptr;
}

}  // namespace

void register_softmax(KernelRegistry& registry) {
  registry.add({"", "Softmax", LayoutRule::kPlain, Priority::kOwn, make_softmax});
  registry.add({"", "LogSoftmax", LayoutRule::kPlain, Priority::kOwn, make_softmax});
}

}  // namespace vernier::cpu
