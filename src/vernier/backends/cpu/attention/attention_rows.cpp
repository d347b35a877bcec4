#include "vernier/backends/cpu/attention/attention_rows.h"

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

const float* HeadRows::load(const KernelArguments& arguments, const HeadsPlace& place, int64_t entry,
                            int64_t head, int64_t row, float* buffer) const {
  const int64_t at = place.at(entry, head) + row * place.row_stride;
  const float* x = load_floats(plan_.element, arguments.inputs[place.input], at, place.size, buffer);
  if (place.bias < 0) return x;
  alignas(64) std::array<float, kMaxHeadSize> wide;
  const float* bias = load_floats(plan_.element, arguments.inputs[place.bias],
                                  place.bias_offset + head * place.size, place.size, wide.data());
  add_rows(x, bias, place.size, buffer);
  return buffer;
}

void HeadRows::keep(const KernelArguments& arguments, int64_t entry, int64_t head) const {
  if (plan_.present_k >= 0) keep(arguments, plan_.present_k, plan_.past_k, plan_.k, entry, head);
  if (plan_.present_v >= 0) keep(arguments, plan_.present_v, plan_.past_v, plan_.v, entry, head);
}

// Present keys or values are [batch, heads, keys, size].
void HeadRows::keep(const KernelArguments& arguments, int output, const HeadsPlace& past,
                    const HeadsPlace& added, int64_t entry, int64_t head) const {
  alignas(64) std::array<float, kMaxHeadSize> buffer;
  int64_t at = (entry * plan_.k.heads + head) * plan_.keys() * added.size;
  for (const HeadsPlace* part : {&past, &added}) {
    for (int64_t row = 0; row < part->rows; ++row, at += added.size) {
      const float* x = load(arguments, *part, entry, head, row, buffer.data());
      if (plan_.element == ElementType::kFloat)
        std::copy_n(x, added.size, static_cast<float*>(arguments.outputs[output]) + at);
      else
        store_floats(plan_.element, x, added.size, arguments.outputs[output], at);
    }
  }
}

}  // namespace vernier::cpu
