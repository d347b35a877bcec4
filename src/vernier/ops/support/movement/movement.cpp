#include "vernier/ops/support/movement/movement.h"

#include <algorithm>

#include "vernier/base/threads.h"

namespace vernier::ops {

namespace {

constexpr int64_t kGrain = 1 << 14;

// One axis of a copy: its size and the steps in both buffers.
struct Axis {
  int64_t size, from, to;
};

// The axes of a copy without those of size 1, and with neighbours joined that are one run in both buffers.
std::vector<Axis> joined_axes(const Placement& source, const Placement& target, const Dims& sizes) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    const Axis axis{sizes[i], source.strides[i], target.strides[i]};
    if (!axes.empty() && axes.back().from == axis.from * axis.size && axes.back().to == axis.to * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

template <class T>
void copy_run(const T* from, T* to, const Axis& run) {
  if (run.from == 1 && run.to == 1) {
    std::copy_n(from, run.size, to);
  } else {
    for (int64_t i = 0; i < run.size; ++i) to[i * run.to] = from[i * run.from];
  }
}

template <class T>
void copy_elements(const T* from, const Placement& source, T* to, const Placement& target,
                   const Dims& sizes) {
  if (element_count(sizes) == 0) return;
  std::vector<Axis> outer = joined_axes(source, target, sizes);
  const Axis run = outer.empty() ? Axis{1, 1, 1} : outer.back();
  if (!outer.empty()) outer.pop_back();
  from += source.offset;
  to += target.offset;
  if (outer.empty()) {
    parallel_for(run.size, kGrain, [&](int64_t begin, int64_t end) {
      copy_run(from + begin * run.from, to + begin * run.to, {end - begin, run.from, run.to});
    });
    return;
  }
  int64_t rows = 1;
  for (const Axis& axis : outer) rows *= axis.size;
  parallel_for(rows, std::max<int64_t>(1, kGrain / run.size), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(outer.size());
    int64_t rest = begin, in = 0, out = 0;
    for (size_t axis = outer.size(); axis-- > 0; rest /= outer[axis].size) {
      index[axis] = rest % outer[axis].size;
      in += index[axis] * outer[axis].from;
      out += index[axis] * outer[axis].to;
    }
    for (int64_t row = begin; row < end; ++row) {
      copy_run(from + in, to + out, run);
      for (size_t axis = outer.size(); axis-- > 0;) {
        in += outer[axis].from;
        out += outer[axis].to;
        if (++index[axis] < outer[axis].size) break;
        in -= outer[axis].from * outer[axis].size;
        out -= outer[axis].to * outer[axis].size;
        index[axis] = 0;
      }
    }
  });
}

template <class T>
void gather(const T* from, std::span<const int64_t> offsets, int64_t block, T* to) {
  const auto count = static_cast<int64_t>(offsets.size());
  parallel_for(count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, block)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const T* first = from + offsets[static_cast<size_t>(i)];
                   if (block == 1)
                     to[i] = *first;
                   else
                     std::copy_n(first, block, to + i * block);
                 }
               });
}

template <class T>
void scatter(const T* from, std::span<const int64_t> offsets, int64_t block, T* to) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::copy_n(from + static_cast<int64_t>(i) * block, block, to + offsets[i]);
  }
}

// Calls kernel(from, to) with pointers of the storage type.
template <class Kernel>
void visit_pair(const Tensor& from, Tensor& to, Kernel kernel) {
  if (from.type() != to.type()) {
    throw internal_error("elements of {} are moved into a tensor of {}", element_type_name(from.type()),
                         element_type_name(to.type()));
  }
  visit_storage(to.type(), [&]<class T>(TypeTag<T>) {
    T* target = to.mutable_values<T>().data();
    kernel(from.values<T>().data(), target);
  });
}

}  // namespace

void copy_placed(const Tensor& from, const Placement& source, Tensor& to, const Placement& target,
                 const Dims& sizes) {
  visit_pair(from, to, [&](const auto* in, auto* out) { copy_elements(in, source, out, target, sizes); });
}

void copy_placed(const std::vector<Dim>& from, const Placement& source, std::vector<Dim>& to,
                 const Placement& target, const Dims& sizes) {
  copy_elements(from.data(), source, to.data(), target, sizes);
}

void gather_blocks(const Tensor& from, std::span<const int64_t> offsets, int64_t block, Tensor& to) {
  visit_pair(from, to, [&](const auto* in, auto* out) { gather(in, offsets, block, out); });
}

void gather_blocks(const std::vector<Dim>& from, std::span<const int64_t> offsets, int64_t block,
                   std::vector<Dim>& to) {
  gather(from.data(), offsets, block, to.data());
}

void scatter_blocks(const Tensor& from, std::span<const int64_t> offsets, int64_t block, Tensor& to) {
  visit_pair(from, to, [&](const auto* in, auto* out) { scatter(in, offsets, block, out); });
}

void scatter_blocks(const std::vector<Dim>& from, std::span<const int64_t> offsets, int64_t block,
                    std::vector<Dim>& to) {
  scatter(from.data(), offsets, block, to.data());
}

void fill(Tensor& to, const Tensor& value) {
  if (value.size() != 1) throw bad_input("a fill value must have one element, not {}", value.size());
  visit_pair(value, to, [&](const auto* one, auto* out) { std::fill_n(out, to.size(), *one); });
}

Tensor stored_as(const Tensor& tensor, ElementType type) {
  return tensor.type() == type ? tensor : Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
}

}  // namespace vernier::ops
