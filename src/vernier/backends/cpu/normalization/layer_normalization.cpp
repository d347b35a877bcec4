// Normalisation of rows: LayerNormalization, RMSNormalization and what com.microsoft had before them, with a
// sum in front.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/normalization/row_statistics.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/normalise.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 1 << 13;

class RowNormalization : public Kernel {
 public:
  RowNormalization(const KernelRequest& request, const ops::RowNormalizationPlaces& places, int64_t length)
      : places_(places),
        element_(request.in(0).element),
        length_(length),
        rows_(length == 0 ? 0 : request.in(0).size() / length),
        epsilon_(ops::real_attribute(request.node, "epsilon")) {
    name = places.centred ? "cpu:layer_norm" : "cpu:rms_norm";
    contract = float_contract(request.out().element);
    in_place = 0;
    for (const int input : {places.scale, places.bias, places.addend})
      upcast_.push_back(element(request, input));
    skip_ = element(request, places.skip);
    skip_size_ = skip_ ? request.in(static_cast<size_t>(places.skip)).size() : 0;
    in_vectors_ = element_ == ElementType::kBFloat16 && !skip_ && normalises_bf16(length_);
    for (int* output : {&places_.mean, &places_.inverse_deviation, &places_.sum})
      *output = *output >= 0 && request.wants(static_cast<size_t>(*output)) ? *output : -1;
    // Vectors of floats, then a row or two for each row of the input, where they are not floats already.
    scratch_bytes = sizeof(float) * static_cast<size_t>(3 * length + (needs_rows() ? 2 * rows_ * length : 0));
  }

  void run(const KernelArguments& arguments) const override {
    auto* buffer = reinterpret_cast<float*>(arguments.scratch);
    const std::array<int, 3> vectors = {places_.scale, places_.bias, places_.addend};
    std::array<const float*, 3> upcast{};
    for (size_t i = 0; i < vectors.size(); ++i) {
      if (upcast_[i])
        upcast[i] = load_floats(*upcast_[i], arguments.inputs[vectors[i]], 0, length_,
                                buffer + static_cast<int64_t>(i) * length_);
    }
    buffer += 3 * length_;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, length_));
    parallel(rows_, grain, [&](int64_t begin, int64_t end) {
      // One row after the other in the same memory, which stays in the cache.
      float* rows = needs_rows() ? buffer + 2 * begin * length_ : nullptr;
      for (int64_t row = begin; row < end; ++row) normalise(arguments, row, upcast, rows);
    });
  }

 private:
  static std::optional<ElementType> element(const KernelRequest& request, int input) {
    if (input < 0 || !request.has(static_cast<size_t>(input))) return std::nullopt;
    return request.in(static_cast<size_t>(input)).element;
  }
  bool needs_rows() const { return is_narrow(element_) || skip_; }

  void normalise(const KernelArguments& arguments, int64_t row, const std::array<const float*, 3>& vectors,
                 float* buffer) const {
    const int64_t first = row * length_;
    const RowStatistics statistics = in_vectors_ ? normalise_narrow(arguments, first, vectors, buffer)
                                                 : normalise_any(arguments, first, vectors, buffer);
    if (places_.mean >= 0) static_cast<float*>(arguments.outputs[places_.mean])[row] = statistics.mean;
    if (places_.inverse_deviation >= 0)
      static_cast<float*>(arguments.outputs[places_.inverse_deviation])[row] = statistics.inverse_deviation;
  }

  RowStatistics normalise_narrow(const KernelArguments& arguments, int64_t first,
                                 const std::array<const float*, 3>& vectors, float* buffer) const {
    return normalise_bf16({length_, places_.centred, epsilon_, vectors[0], vectors[1]},
                          static_cast<const uint16_t*>(arguments.inputs[0]) + first, buffer,
                          static_cast<uint16_t*>(arguments.outputs[0]) + first);
  }

  RowStatistics normalise_any(const KernelArguments& arguments, int64_t first,
                              const std::array<const float*, 3>& vectors, float* buffer) const {
    const float* x = load_floats(element_, arguments.inputs[0], first, length_, buffer);
    if (skip_) x = with_skip(arguments, first, x, vectors[2], buffer);
    const RowStatistics statistics = row_statistics(x, length_, places_.centred, epsilon_);
    float* y = float_target(element_, arguments.outputs[0], first, buffer);
    normalise_row(x, length_, statistics.mean, statistics.inverse_deviation, vectors[0], vectors[1], y);
    store_floats(element_, y, length_, arguments.outputs[0], first);
    return statistics;
  }

  // x + skip + addend, in `buffer`; the sum is an output, too.
  const float* with_skip(const KernelArguments& arguments, int64_t first, const float* x, const float* addend,
                         float* buffer) const {
    const float* skip =
        load_floats(*skip_, arguments.inputs[places_.skip], first % skip_size_, length_, buffer + length_);
    add_rows(x, skip, length_, buffer);
    if (addend != nullptr) add_rows(buffer, addend, length_, buffer);
    if (places_.sum >= 0) {
      void* sum = arguments.outputs[places_.sum];
      if (element_ == ElementType::kFloat)
        std::copy_n(buffer, length_, static_cast<float*>(sum) + first);
      else
        store_floats(element_, buffer, length_, sum, first);
    }
    return buffer;
  }

  ops::RowNormalizationPlaces places_;
  ElementType element_;
  int64_t length_, rows_;
  float epsilon_;
  std::vector<std::optional<ElementType>> upcast_;  // scale, bias, addend
  std::optional<ElementType> skip_;
  int64_t skip_size_ = 0;
  bool in_vectors_ = false;  // of bfloat16, without a skip
};

// A vector with one float for each element of a row.
bool is_row(const KernelRequest& request, int input, const Dims& row) {
  if (input < 0 || !request.has(static_cast<size_t>(input))) return true;
  const Operand& operand = request.in(static_cast<size_t>(input));
  Dims dims = operand.dims;
  while (dims.size() > row.size() && dims.front() == 1) dims.erase(dims.begin());
  return is_float_storage(operand.element) && dims == row;
}

// A skip is as large as the input, or is the same for every entry of the batch.
bool is_skip(const KernelRequest& request, int input) {
  if (input < 0) return true;
  const Operand& skip = request.in(static_cast<size_t>(input));
  Dims once = request.in(0).dims, dims = skip.dims;
  if (!once.empty()) once.erase(once.begin());
  if (dims.size() > once.size() && dims.front() == 1) dims.erase(dims.begin());
  return is_float_storage(skip.element) && skip.size() > 0 &&
         (skip.dims == request.in(0).dims || dims == once);
}

std::unique_ptr<Kernel> make_layer_normalization(const KernelRequest& request, std::string& reason) {
  const Operand& x = request.in(0);
  const ops::RowNormalizationPlaces places = ops::row_normalization_places(request.node);
  const int64_t axis = places.skip >= 0
                           ? x.rank() - 1
                           : ops::normalize_axis(ops::integer_attribute(request.node, "axis"), x.rank());
  const Dims row(x.dims.begin() + axis, x.dims.end());
  bool serves = is_float_storage(x.element) && request.wants(0) && request.out().element == x.element &&
                x.size() > 0 && is_skip(request, places.skip);
  for (const int input : {places.scale, places.bias, places.addend})
    serves = serves && is_row(request, input, row);
  for (const int output : {places.mean, places.inverse_deviation}) {
    if (output >= 0 && request.wants(static_cast<size_t>(output)))
      serves = serves && request.out(static_cast<size_t>(output)).element == ElementType::kFloat;
  }
  if (serves) return std::make_unique<RowNormalization>(request, places, element_count(row));
  reason = fmt::format("no normalisation of {} {} with such a scale", element_type_short_name(x.element),
                       dims_text(x.dims));
  return nullptr;
}

}  // namespace

void register_layer_normalization(KernelRegistry& registry) {
  registry.add({"", "LayerNormalization", LayoutRule::kPlain, Priority::kOwn, make_layer_normalization});
  registry.add({"", "RMSNormalization", LayoutRule::kPlain, Priority::kOwn, make_layer_normalization});
  registry.add(
      {"", "SimplifiedLayerNormalization", LayoutRule::kPlain, Priority::kOwn, make_layer_normalization});
  registry.add({"com.microsoft", "SkipLayerNormalization", LayoutRule::kPlain, Priority::kOwn,
                make_layer_normalization});
  registry.add({"com.microsoft", "SkipSimplifiedLayerNormalization", LayoutRule::kPlain, Priority::kOwn,
                make_layer_normalization});
}

}  // namespace vernier::cpu
