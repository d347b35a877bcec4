#include "vernier/backends/cuda/contractions/weight_order.h"

#include <array>
#include <cstring>

#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/base/error.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

constexpr std::array<std::pair<WeightOrder, const char*>, 4> kForms = {{
    {WeightOrder::kChannelsLast, "cuda:channels-last"},
    {WeightOrder::kChannelsLastOfEight, "cuda:channels-last-of-8"},
    {WeightOrder::kTapsFirst, "cuda:taps-first"},
    {WeightOrder::kTransposed, "cuda:transposed"},
}};

// Counts the bytes of the weights in the order.
size_t bytes_of(WeightOrder order, const Dims& dims, size_t width) {
  const int64_t elements = element_count(dims);
  const bool pads = order == WeightOrder::kChannelsLastOfEight;
  return static_cast<size_t>(pads ? elements / dims.at(1) * kPaddedChannels : elements) * width;
}

// Always three axes, in the order of the target.
CopyBox box_of(WeightOrder order, const Dims& dims, size_t width) {
  const int64_t first = dims.at(0), second = dims.at(1), taps = ops::product(dims, 2, dims.size());
  switch (order) {
    case WeightOrder::kChannelsLast:
      return {width, {{first, second * taps, second * taps}, {taps, 1, second}, {second, taps, 1}}};
    case WeightOrder::kChannelsLastOfEight:
      return {
          width,
          {{first, second * taps, kPaddedChannels * taps}, {taps, 1, kPaddedChannels}, {second, taps, 1}}};
    case WeightOrder::kTapsFirst: return {width, {{1, 0, 0}, {taps, 1, first}, {first, taps, 1}}};
    case WeightOrder::kTransposed: return {width, {{1, 0, 0}, {second, 1, first}, {first, second, 1}}};
  }
  throw internal_error("an order of weights that is none");
}

template <size_t kWidth>
void copy_elements(const CopyBox& box, const std::byte* from, std::byte* to) {
  const CopyAxis &a = box.axes[0], &b = box.axes[1], &c = box.axes[2];
  constexpr auto kStep = static_cast<int64_t>(kWidth);
  for (int64_t i = 0; i < a.size; ++i) {
    for (int64_t j = 0; j < b.size; ++j) {
      const std::byte* source = from + (i * a.from + j * b.from) * kStep;
      std::byte* target = to + (i * a.to + j * b.to) * kStep;
      for (int64_t k = 0; k < c.size; ++k)
        std::memcpy(target + k * c.to * kStep, source + k * c.from * kStep, kWidth);
    }
  }
}

void copy_on_host(const CopyBox& box, const std::byte* from, std::byte* to) {
  switch (box.width) {
    case 2: return copy_elements<2>(box, from, to);
    case 4: return copy_elements<4>(box, from, to);
    default: throw internal_error("weights of {} bytes an element", box.width);
  }
}

const WeightOrder* order_of(const std::string& form) {
  for (const auto& [order, name] : kForms) {
    if (form == name) return &order;
  }
  return nullptr;
}

}  // namespace

OrderedWeights order_weights(CudaKernel& kernel, const KernelRequest& request, size_t input,
                             WeightOrder order) {
  const Operand& w = request.in(input);
  const size_t width = element_size(w.element), bytes = bytes_of(order, w.dims, width);
  const CopyBox box = box_of(order, w.dims, width);
  if (w.constant != nullptr) {
    const char* form = kForms[static_cast<size_t>(order)].second;
    return {kernel.constant(request.pack(*w.constant, form, bytes, [=, source = *w.constant](std::byte* to) {
      std::memset(to, 0, bytes);
      copy_on_host(box, static_cast<const std::byte*>(source.raw()), to);
    }))};
  }
  if (order == WeightOrder::kChannelsLastOfEight) throw internal_error("only constants have eight channels");
  std::string reason;
  if (!add_copy(kernel, box, CudaKernel::input(input), CudaKernel::scratch(), reason))
    throw internal_error("three axes cannot be copied: {}", reason);
  return {CudaKernel::scratch(), bytes};
}

bool holds_weights(const std::string& form) {
  return order_of(form) != nullptr;
}

std::optional<Tensor> unpack_weights(const std::string& form, std::span<const std::byte> packed,
                                     ElementType element, const Dims& dims) {
  const WeightOrder* order = order_of(form);
  const size_t width = element_size(element);
  if (order == nullptr || dims.size() < 2 || (width != 2 && width != 4)) return std::nullopt;
  if (dims[1] == 0 || packed.size() != bytes_of(*order, dims, width)) return std::nullopt;
  if (*order == WeightOrder::kChannelsLastOfEight && dims[1] >= kPaddedChannels) return std::nullopt;
  if (*order == WeightOrder::kTapsFirst && dims[1] != 1) return std::nullopt;
  if (*order == WeightOrder::kTransposed && dims.size() != 2) return std::nullopt;
  CopyBox box = box_of(*order, dims, width);
  for (CopyAxis& axis : box.axes) std::swap(axis.from, axis.to);
  Tensor tensor(element, dims);
  copy_on_host(box, packed.data(), static_cast<std::byte*>(tensor.mutable_raw()));
  return tensor;
}

}  // namespace vernier::cuda
