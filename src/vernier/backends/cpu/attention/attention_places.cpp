#include "vernier/backends/cpu/attention/attention_places.h"

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

bool serves_heads(const AttentionPlan& plan) {
  return plan.q.size <= kMaxHeadSize && plan.v.size <= kMaxHeadSize - 16;
}

std::unique_ptr<Kernel> refuse(const KernelRequest& request, std::string& reason) {
  reason = fmt::format("no {} of such inputs", request.node.op);
  return nullptr;
}

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
  keep(arguments, plan_.present_k, plan_.past_k, plan_.k, entry, head);
  keep(arguments, plan_.present_v, plan_.past_v, plan_.v, entry, head);
}

void HeadRows::keep(const KernelArguments& arguments, const PresentPlace& present, const HeadsPlace& past,
                    const HeadsPlace& added, int64_t entry, int64_t head) const {
  if (present.output < 0) return;
  alignas(64) std::array<float, kMaxHeadSize> buffer;
  void* to = arguments.outputs[present.output];
  int64_t at = (entry * plan_.k.heads + head) * present.room * added.size;
  for (const HeadsPlace* part : {&past, &added}) {
    if (part->rows > 0 && arguments.inputs[part->input] == to) {  // a cache, in which it stays
      at += part->rows * added.size;
      continue;
    }
    for (int64_t row = 0; row < part->rows; ++row, at += added.size) {
      const float* x = load(arguments, *part, entry, head, row, buffer.data());
      if (plan_.element == ElementType::kFloat)
        std::copy_n(x, added.size, static_cast<float*>(to) + at);
      else
        store_floats(plan_.element, x, added.size, to, at);
    }
  }
}

}  // namespace vernier::cpu
