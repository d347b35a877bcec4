// QLinearConcat: each part goes through a table of its 256 results.
#include <cstring>

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantized/int8_table.h"
#include "vernier/backends/cpu/quantized/quantized_value.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

enum Input : size_t { kYScale, kYZeroPoint, kFirstPart };
constexpr size_t kInputsPerPart = 3;

struct Part {
  size_t input;
  int64_t column, width;  // in a row of the result
  Int8Table table;
  bool keeps = false;  // its bytes as they are
};

class QuantizedConcat : public Kernel {
 public:
  QuantizedConcat(std::vector<Part> parts, int64_t rows, int64_t row_size, ElementType type)
      : parts_(std::move(parts)), rows_(rows), row_size_(row_size) {
    name = "cpu:quantized_concat";
    contract = {ElementType::kDouble, ElementType::kUndefined, type};
  }

  void run(const KernelArguments& arguments) const override {
    constexpr int64_t kGrain = 1 << 16;
    auto* y = static_cast<uint8_t*>(arguments.outputs[0]);
    parallel(rows_, std::max<int64_t>(1, kGrain / (row_size_ + 1)), [&](int64_t begin, int64_t end) {
      for (const Part& part : parts_) {
        const auto* x = static_cast<const uint8_t*>(arguments.inputs[part.input]);
        for (int64_t row = begin; row < end; ++row) {
          uint8_t* to = y + row * row_size_ + part.column;
          if (part.keeps)
            std::memcpy(to, x + row * part.width, static_cast<size_t>(part.width));
          else
            look_up(part.table, x + row * part.width, part.width, to);
        }
      }
    });
  }

 private:
  std::vector<Part> parts_;
  int64_t rows_, row_size_;
};

Int8Table table_of(const Affine& x, ElementType x_type, const Quantizer& quantize) {
  Int8Table table;
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = quantize((integer_of(static_cast<uint8_t>(i), x_type) - x.zero_point) * x.scale);
  return table;
}

bool is_identity(const Int8Table& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] != i) return false;
  }
  return true;
}

// Where an axis of a tensor lies in memory.
size_t physical_axis(size_t axis, Layout layout, size_t rank) {
  if (layout == Layout::kPlain || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

std::unique_ptr<Kernel> make_quantized_concat(const KernelRequest& request, std::string& reason) {
  const Operand& y = request.out();
  const auto affine = known_affine(request, kYScale, kYZeroPoint);
  reason = "it joins int8 with known parameters of whole tensors, in one layout";
  if (!affine || !is_8bit(y.element) || y.layout == Layout::kBlocked16 || y.rank() == 0) return nullptr;
  const auto axis = physical_axis(
      static_cast<size_t>(ops::normalize_axis(ops::integer_attribute(request.node, "axis"), y.rank())),
      y.layout, y.dims.size());
  const auto row_size = [&](const Operand& operand) {
    const Dims dims = operand.memory_dims();
    return ops::product(dims, axis, dims.size());
  };
  const Quantizer quantize(*affine, y.element);
  std::vector<Part> parts;
  int64_t column = 0;
  for (size_t at = kFirstPart; at < request.inputs.size(); at += kInputsPerPart) {
    const Operand& x = request.in(at);
    const auto own = known_affine(request, at + 1, at + 2);
    if (!own || !is_8bit(x.element) || x.layout != y.layout) return nullptr;
    parts.push_back({at, column, row_size(x), table_of(*own, x.element, quantize)});
    parts.back().keeps = is_identity(parts.back().table);
    column += parts.back().width;
  }
  const Dims dims = y.memory_dims();
  return std::make_unique<QuantizedConcat>(std::move(parts), ops::product(dims, 0, axis), column, y.element);
}

}  // namespace

void register_quantized_concat(KernelRegistry& registry) {
  registry.add(
      {"com.microsoft", "QLinearConcat", LayoutRule::kFollow, Priority::kOwn, make_quantized_concat});
}

}  // namespace vernier::cpu
