// NonZero: elements are counted block by block, so that each block knows in which column its first one goes.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/selection/measuring_kernel.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBlock = 4096;          // elements
constexpr int64_t kBlocksPerThread = 16;  // at least

// Bits is as wide as an element.
template <class Bits>
class NonZero : public MeasuringKernel {
 public:
  // An element is zero if none of the bits of `mask` is set.
  NonZero(const KernelRequest& request, Bits mask)
      : MeasuringKernel(request),
        dims_(request.in(0).dims),
        elements_(request.in(0).size()),
        blocks_((elements_ + kBlock - 1) / kBlock),
        mask_(mask) {
    name = "cpu:non_zero";
    scratch_bytes = static_cast<size_t>(blocks_ + 1) * sizeof(int64_t);
  }

 protected:
  void find(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const Bits*>(arguments.inputs[0]);
    int64_t* first = first_columns(arguments);
    first[0] = 0;
    parallel(blocks_, kBlocksPerThread, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        int32_t count = 0;
        for (int64_t i = block * kBlock; i < end_of(block); ++i) count += (x[i] & mask_) != 0 ? 1 : 0;
        first[block + 1] = count;
      }
    });
    for (int64_t block = 0; block < blocks_; ++block) first[block + 1] += first[block];
  }

  void set_sizes(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    sizes[0] = {static_cast<int64_t>(dims_.size()), first_columns(arguments)[blocks_]};
  }

  void write(const KernelArguments& arguments) const override {
    if (dims_.empty()) return;  // a scalar has no indices
    const int64_t* first = first_columns(arguments);
    parallel(blocks_, kBlocksPerThread, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        if (first[block] != first[block + 1]) write_block(arguments, block);
      }
    });
  }

 private:
  static int64_t* first_columns(const KernelArguments& arguments) {
    return reinterpret_cast<int64_t*>(arguments.scratch);
  }
  int64_t end_of(int64_t block) const { return std::min(elements_, (block + 1) * kBlock); }

  // The indices along all axes but the last change with each row of elements, and are divided out once for
  // it.
  void write_block(const KernelArguments& arguments, int64_t block) const {
    const auto* x = static_cast<const Bits*>(arguments.inputs[0]);
    const int64_t columns = first_columns(arguments)[blocks_], length = dims_.back();
    int64_t row_begin = 0, row_end = 0;
    auto* column = static_cast<int64_t*>(arguments.outputs[0]) + first_columns(arguments)[block];
    int64_t* last = column + (static_cast<int64_t>(dims_.size()) - 1) * columns;
    for (int64_t i = block * kBlock; i < end_of(block); ++i) {
      if ((x[i] & mask_) == 0) continue;
      if (i >= row_end) {
        row_begin = i - i % length;
        row_end = row_begin + length;
      }
      *last++ = i - row_begin;
      write_row(row_begin / length, columns, column++);
    }
  }

  void write_row(int64_t row, int64_t columns, int64_t* column) const {
    for (size_t axis = dims_.size() - 1; axis-- > 0;) {
      column[static_cast<int64_t>(axis) * columns] = axis == 0 ? row : row % dims_[axis];
      row /= dims_[axis];
    }
  }

  Dims dims_;
  int64_t elements_, blocks_;
  Bits mask_;
};

std::unique_ptr<Kernel> make_non_zero(const KernelRequest& request, std::string& reason) {
  // The sign of a float is no part of what makes it zero.
  switch (request.in(0).element) {
    case ElementType::kBool:
    case ElementType::kInt8:
    case ElementType::kUint8: return std::make_unique<NonZero<uint8_t>>(request, 0xFF);
    case ElementType::kInt16:
    case ElementType::kUint16: return std::make_unique<NonZero<uint16_t>>(request, 0xFFFF);
    case ElementType::kFloat16:
    case ElementType::kBFloat16: return std::make_unique<NonZero<uint16_t>>(request, 0x7FFF);
    case ElementType::kInt32:
    case ElementType::kUint32: return std::make_unique<NonZero<uint32_t>>(request, ~uint32_t{0});
    case ElementType::kFloat: return std::make_unique<NonZero<uint32_t>>(request, ~uint32_t{0} >> 1);
    case ElementType::kInt64:
    case ElementType::kUint64: return std::make_unique<NonZero<uint64_t>>(request, ~uint64_t{0});
    case ElementType::kDouble: return std::make_unique<NonZero<uint64_t>>(request, ~uint64_t{0} >> 1);
    default:
      reason = fmt::format("no NonZero of {}", element_type_short_name(request.in(0).element));
      return nullptr;
  }
}

}  // namespace

void register_non_zero(KernelRegistry& registry) {
  registry.add({"", "NonZero", LayoutRule::kPlain, Priority::kOwn, make_non_zero, nullptr, true});
}

}  // namespace vernier::cpu
