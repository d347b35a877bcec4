// Gather, GatherElements and GatherND.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/movement/indices.h"
#include "vernier/backends/cpu/movement/strided_copy.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBytesPerThread = 1 << 16;

int64_t grain_of(size_t bytes) {
  return std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(1, static_cast<int64_t>(bytes)));
}

// Blocks of the data along one axis, for every index.
class GatherKernel : public Kernel {
 public:
  GatherKernel(const KernelRequest& request, size_t axis) : node_(request.node.name) {
    const Operand& x = request.in(0);
    name = "cpu:gather";
    index_type_ = request.in(1).element;
    outer_ = ops::product(x.dims, 0, axis);
    length_ = x.dims[axis];
    indices_ = request.in(1).size();
    block_ = static_cast<size_t>(ops::product(x.dims, axis + 1, x.dims.size())) * element_size(x.element);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    if (outer_ * indices_ == 0) return;
    IndexCheck check;
    with_indices(index_type_, arguments.inputs[1], [&](const auto* indices) {
      if (length_ == 0 || block_ == 0) return check_only(indices, check);
      parallel(outer_ * indices_, grain_of(block_), [&](int64_t begin, int64_t end) {
        with_run(block_, [&](auto copy) {
          int64_t at = begin % indices_;
          const std::byte* from = x + begin / indices_ * length_ * static_cast<int64_t>(block_);
          std::byte* to = y + begin * static_cast<int64_t>(block_);
          for (int64_t i = begin; i < end; ++i) {
            copy(from + check.resolve(indices[at], length_) * static_cast<int64_t>(block_), to);
            to += block_;
            if (++at == indices_) {
              at = 0;
              from += length_ * static_cast<int64_t>(block_);
            }
          }
        });
      });
    });
    check.check(node_);
  }

 private:
  template <class Index>
  void check_only(const Index* indices, IndexCheck& check) const {
    for (int64_t i = 0; i < indices_; ++i) check.resolve(indices[i], length_);
  }

  std::string node_;
  ElementType index_type_;
  int64_t outer_, length_, indices_;
  size_t block_;
};

// One element of the data for every index, in the row of the index's own place.
class GatherElementsKernel : public Kernel {
 public:
  GatherElementsKernel(const KernelRequest& request, size_t axis)
      : node_(request.node.name),
        index_type_(request.in(1).element),
        width_(element_size(request.in(0).element)),
        axis_(axis),
        dims_(request.in(0).dims),
        index_dims_(request.in(1).dims),
        steps_(byte_steps(request.in(0))) {
    name = "cpu:gather-elements";
  }

  void run(const KernelArguments& arguments) const override {
    const size_t last = index_dims_.size() - 1;
    const int64_t row = index_dims_[last], rows = ops::product(index_dims_, 0, last);
    if (row == 0 || rows == 0) return;
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    const int64_t across = axis_ == last ? 0 : steps_[last];
    IndexCheck check;
    with_indices(index_type_, arguments.inputs[1], [&](const auto* indices) {
      parallel(rows, grain_of(static_cast<size_t>(row) * width_), [&](int64_t begin, int64_t end) {
        with_run(width_, [&](auto copy) {
          for (int64_t i = begin; i < end; ++i) {
            const std::byte* from = x + row_offset(i);
            std::byte* to = y + i * row * static_cast<int64_t>(width_);
            for (int64_t j = 0; j < row; ++j, to += width_) {
              const int64_t at = check.resolve(indices[i * row + j], dims_[axis_]);
              copy(from + at * steps_[axis_] + j * across, to);
            }
          }
        });
      });
    });
    check.check(node_);
  }

 private:
  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t i = index_dims_.size() - 1; i-- > 0; row /= index_dims_[i]) {
      if (i != axis_) offset += row % index_dims_[i] * steps_[i];
    }
    return offset;
  }

  std::string node_;
  ElementType index_type_;
  size_t width_, axis_;
  Dims dims_, index_dims_;
  std::vector<int64_t> steps_;
};

// A block of the data for every tuple of indices.
class GatherNdKernel : public Kernel {
 public:
  GatherNdKernel(const KernelRequest& request, size_t batch_dims)
      : node_(request.node.name), index_type_(request.in(1).element) {
    name = "cpu:gather-nd";
    const Dims &x = request.in(0).dims, &indices = request.in(1).dims;
    const auto steps = byte_steps(request.in(0));
    const auto length = static_cast<size_t>(indices.back());
    for (size_t i = 0; i < length; ++i) {
      sizes_.push_back(x[batch_dims + i]);
      steps_.push_back(steps[batch_dims + i]);
    }
    const size_t indexed = batch_dims + length, width = element_size(request.in(0).element);
    block_ = static_cast<size_t>(ops::product(x, indexed, x.size())) * width;
    batch_bytes_ = ops::product(x, batch_dims, x.size()) * static_cast<int64_t>(width);
    tuples_ = ops::product(indices, 0, indices.size() - 1);
    tuples_per_batch_ = ops::product(indices, batch_dims, indices.size() - 1);
  }

  void run(const KernelArguments& arguments) const override {
    if (tuples_ == 0 || block_ == 0) return;
    const auto* x = static_cast<const std::byte*>(arguments.inputs[0]);
    auto* y = static_cast<std::byte*>(arguments.outputs[0]);
    IndexCheck check;
    with_indices(index_type_, arguments.inputs[1], [&](const auto* indices) {
      parallel(tuples_, grain_of(block_), [&](int64_t begin, int64_t end) {
        with_run(block_, [&](auto copy) {
          for (int64_t i = begin; i < end; ++i) {
            const auto* tuple = indices + i * static_cast<int64_t>(sizes_.size());
            int64_t offset = i / tuples_per_batch_ * batch_bytes_;
            for (size_t k = 0; k < sizes_.size(); ++k)
              offset += check.resolve(tuple[k], sizes_[k]) * steps_[k];
            copy(x + offset, y + i * static_cast<int64_t>(block_));
          }
        });
      });
    });
    check.check(node_);
  }

 private:
  std::string node_;
  ElementType index_type_;
  std::vector<int64_t> sizes_, steps_;
  size_t block_;
  int64_t batch_bytes_, tuples_, tuples_per_batch_;
};

bool serves(const KernelRequest& request, std::string& reason) {
  if (is_movable(request) && is_index(request.in(1).element)) return true;
  reason = "strings are not moved by width, and indices are int32 or int64";
  return false;
}

size_t axis_of(const KernelRequest& request) {
  return static_cast<size_t>(
      ops::normalize_axis(ops::integer_attribute(request.node, "axis"), request.in(0).rank()));
}

std::unique_ptr<Kernel> make_gather(const KernelRequest& request, std::string& reason) {
  if (!serves(request, reason)) return nullptr;
  return std::make_unique<GatherKernel>(request, axis_of(request));
}

std::unique_ptr<Kernel> make_gather_elements(const KernelRequest& request, std::string& reason) {
  if (!serves(request, reason)) return nullptr;
  const Dims &x = request.in(0).dims, &indices = request.in(1).dims;
  const size_t axis = axis_of(request);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i == axis ? x[i] > 0 : indices[i] <= x[i]) continue;
    reason = "the indices reach beyond the data";
    return nullptr;
  }
  if (x.empty()) {
    reason = "a scalar has no axis";
    return nullptr;
  }
  return std::make_unique<GatherElementsKernel>(request, axis);
}

std::unique_ptr<Kernel> make_gather_nd(const KernelRequest& request, std::string& reason) {
  if (!serves(request, reason)) return nullptr;
  const auto batch_dims = static_cast<size_t>(ops::integer_attribute(request.node, "batch_dims"));
  const Dims &x = request.in(0).dims, &indices = request.in(1).dims;
  if (x.empty() || request.in(0).size() == 0 ||
      !std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch_dims), indices.begin())) {
    reason = "there is nothing to gather, or the batch axes differ";
    return nullptr;
  }
  return std::make_unique<GatherNdKernel>(request, batch_dims);
}

}  // namespace

void register_gather(KernelRegistry& registry) {
  registry.add({"", "Gather", LayoutRule::kPlain, Priority::kOwn, make_gather});
  registry.add({"", "GatherElements", LayoutRule::kPlain, Priority::kOwn, make_gather_elements});
  registry.add({"", "GatherND", LayoutRule::kPlain, Priority::kOwn, make_gather_nd});
}

}  // namespace vernier::cpu
