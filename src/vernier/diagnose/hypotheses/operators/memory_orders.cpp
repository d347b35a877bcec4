#include "vernier/diagnose/hypotheses/operators/memory_orders.h"

namespace vernier {

Tensor misread(const Tensor& tensor, const std::vector<size_t>& axes) {
  const Dims& dims = tensor.dims();
  const auto from = tensor.to_doubles();
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  std::vector<double> to(from.size());
  Dims at(dims.size(), 0);
  for (double& element : to) {
    int64_t offset = 0;
    for (size_t i = 0; i < axes.size(); ++i) offset += at[i] * strides[axes[i]];
    element = from[static_cast<size_t>(offset)];
    for (size_t i = axes.size(); i-- > 0;) {
      if (++at[i] < dims[axes[i]]) break;
      at[i] = 0;
    }
  }
  return Tensor::from_doubles(tensor.type(), dims, to);
}

Tensor permuted(const Tensor& tensor, const std::vector<size_t>& axes) {
  Dims dims;
  for (const size_t axis : axes) dims.push_back(tensor.dims()[axis]);
  return misread(tensor, axes).reshaped(dims);
}

Tensor reversed(const Tensor& tensor, size_t axis) {
  const Dims& dims = tensor.dims();
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto from = tensor.to_doubles();
  std::vector<double> to(from.size());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t along = i / inner % dims[axis];
    to[static_cast<size_t>(i + (dims[axis] - 1 - 2 * along) * inner)] = from[static_cast<size_t>(i)];
  }
  return Tensor::from_doubles(tensor.type(), dims, to);
}

std::vector<size_t> in_order(size_t rank) {
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

std::vector<MemoryOrder> usual_orders(size_t rank) {
  std::vector<MemoryOrder> found;
  if (rank >= 2) {
    auto swapped = in_order(rank);
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    found.push_back({"its last two axes lie the other way round", swapped});
  }
  if (rank >= 3) {
    auto last = in_order(rank);
    last.erase(last.begin() + 1);
    last.push_back(1);
    found.push_back({"its channels lie last (NHWC) and are read as if they did not (NCHW)", last});
    auto first = in_order(rank);
    first.pop_back();
    first.insert(first.begin() + 1, rank - 1);
    found.push_back({"its channels are taken to lie last (NHWC), and do not (NCHW)", first});
  }
  return found;
}

}  // namespace vernier
