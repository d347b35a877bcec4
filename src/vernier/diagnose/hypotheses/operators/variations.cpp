#include "vernier/diagnose/hypotheses/operators/variations.h"

#include <cmath>
#include <numeric>

namespace vernier {

namespace {

int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

std::vector<int64_t> indices_from(int64_t first, int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

Tensor sized_as(Tensor tensor, const Tensor& right) {
  if (!tensor.is_defined() || !right.is_defined() || tensor.dims() == right.dims()) return tensor;
  if (tensor.size() == right.size()) return tensor.reshaped(right.dims());
  return fitted(std::move(tensor), right.dims());
}

}  // namespace

Variations::Variations(const Member& member, const FlaggedNode& flagged, int failure,
                       std::vector<Proposal>& proposals)
    : member_(member), flagged_(flagged), failure_(failure), proposals_(proposals) {
  for (size_t i = 0; i < flagged.made.size() && i < flagged.expected.size(); ++i) {
    if (flagged.made[i].is_defined() && flagged.made[i].dims() != flagged.expected[i].value.dims())
      keeps_sizes_ = false;
  }
}

Tensors Variations::sized(Tensors results) const {
  if (!keeps_sizes_) return results;
  for (size_t i = 0; i < results.size() && i < member_.outputs().size(); ++i)
    results[i] = sized_as(std::move(results[i]), member_.out(i));
  return results;
}

void Variations::add(std::string what, const std::function<Tensors()>& simulate, double penalty) const {
  proposals_.push_back(
      {failure_, std::move(what), [self = *this, simulate] { return self.sized(simulate()); }, {}, penalty});
}

void Variations::add_result(std::string what, const std::function<Tensor(const Tensor&)>& change) const {
  add(std::move(what), [&member = member_, change] {
    Tensors results = member.outputs();
    results.at(0) = change(results.at(0));
    return results;
  });
}

void Variations::add_node(std::string what, const std::function<void(Node&)>& change) const {
  add(std::move(what), [&member = member_, change] { return member.changed(change); });
}

void Variations::add_operand(std::string what, size_t index,
                             const std::function<Tensor(const Tensor&)>& change) const {
  if (!member_.has(index) || member_.in(index).type() == ElementType::kString) return;
  add(std::move(what),
      [&member = member_, index, change] { return member.with_input(index, change(member.in(index))); });
}

double place_on_line(const std::vector<double>& made, const std::vector<double>& none,
                     const std::vector<double>& one) {
  double products = 0, squares = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!std::isfinite(made[i]) || !std::isfinite(none[i]) || !std::isfinite(one[i])) continue;
    products += (made[i] - none[i]) * (one[i] - none[i]);
    squares += (one[i] - none[i]) * (one[i] - none[i]);
  }
  return products / squares;
}

Tensor mapped(const Tensor& tensor, const std::function<double(double)>& change) {
  auto values = tensor.to_doubles();
  for (double& value : values) value = change(value);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

Tensor taken(const Tensor& tensor, size_t axis, const std::vector<int64_t>& indices) {
  const Dims& dims = tensor.dims();
  const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, dims.size()),
                length = dims.at(axis), count = static_cast<int64_t>(indices.size());
  const auto from = tensor.to_doubles();
  std::vector<double> to(static_cast<size_t>(outer * count * inner), 0);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      if (index < 0 || index >= length) continue;
      const auto begin = from.begin() + (o * length + index) * inner;
      std::copy(begin, begin + inner, to.begin() + (o * count + i) * inner);
    }
  }
  Dims result = dims;
  result[axis] = count;
  return Tensor::from_doubles(tensor.type(), std::move(result), to);
}

Tensor shifted(const Tensor& tensor, size_t axis, int64_t by) {
  return taken(tensor, axis, indices_from(by, tensor.dims().at(axis)));
}

Tensor rolled(const Tensor& tensor, size_t axis, int64_t by) {
  const int64_t length = tensor.dims().at(axis);
  auto indices = indices_from(by, length);
  for (int64_t& index : indices) index = (index % length + length) % length;
  return taken(tensor, axis, indices);
}

Tensor fitted(Tensor tensor, const Dims& dims) {
  if (tensor.dims().size() != dims.size())
    throw unsupported("results of {} axes for {}", tensor.dims().size(), dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (tensor.dims()[axis] != dims[axis]) tensor = taken(tensor, axis, indices_from(0, dims[axis]));
  }
  return tensor;
}

Tensor exchanged(const Tensor& tensor, size_t axis, size_t other) {
  auto axes = in_order(tensor.dims().size());
  std::swap(axes.at(axis), axes.at(other));
  return permuted(tensor, axes);
}

Tensor list_of(const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

size_t axis_of(int64_t axis, const Tensor& tensor) {
  const int64_t counted = axis < 0 ? axis + tensor.rank() : axis;
  if (counted < 0 || counted >= tensor.rank()) throw unsupported("axis {} of {}", axis, tensor.rank());
  return static_cast<size_t>(counted);
}

}  // namespace vernier
