#include "vernier/backends/cpu/kernels/byte_table.h"

#include <array>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/quantised.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vernier::cpu {

namespace {

constexpr int64_t kCodes = 256;

void look_up_each(const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

#if defined(__x86_64__)
// The table in four registers: two of them at a time are searched by the low seven bits.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void look_up_vectors(const ByteTable& table,
                                                                            const uint8_t* from,
                                                                            int64_t count, uint8_t* to) {
  constexpr int64_t kLanes = 64;
  const __m512i a = _mm512_loadu_si512(table.data()), b = _mm512_loadu_si512(table.data() + kLanes),
                c = _mm512_loadu_si512(table.data() + 2 * kLanes),
                d = _mm512_loadu_si512(table.data() + 3 * kLanes);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = count - i;
    const __mmask64 mask = left >= kLanes ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    const __m512i code = _mm512_maskz_loadu_epi8(mask, from + i);
    const __m512i low = _mm512_permutex2var_epi8(a, code, b), high = _mm512_permutex2var_epi8(c, code, d);
    const __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(code), low, high);
    _mm512_mask_storeu_epi8(to + i, mask, found);
  }
}
#endif

auto best_look_up() {
#if defined(__x86_64__)
  if (has(Feature::kVbmi)) return look_up_vectors;
#endif
  return look_up_each;
}

}  // namespace

void look_up(const ByteTable& table, const uint8_t* from, int64_t count, uint8_t* to) {
  static const auto best = best_look_up();
  best(table, from, count, to);
}

namespace {

class TableKernel : public Kernel {
 public:
  TableKernel(const ByteTable& table, size_t input, int64_t count)
      : table_(table), input_(input), count_(count) {
    name = "cpu:byte_table";
    in_place = static_cast<int>(input);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[input_]);
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]);
    constexpr int64_t kGrain = 1 << 17;
    parallel(count_, kGrain,
             [&](int64_t begin, int64_t end) { look_up(table_, from + begin, end - begin, to + begin); });
  }

 private:
  ByteTable table_;
  size_t input_;
  int64_t count_;
};

// Whether bytes stand for real numbers; loops over integers are as fast as a table.
bool is_quantised(const Node& node) {
  if (!ops::is_group(node)) return node.op.starts_with("QLinear");
  const auto& members = ops::body(node).nodes();
  return std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member->op == "DequantizeLinear" || is_quantised(*member);
  });
}

// The one operand that varies; nothing if there are more, or one that is known has more than one element.
std::optional<size_t> varying_input(const KernelRequest& request) {
  std::optional<size_t> found;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i) || (request.in(i).constant != nullptr && request.in(i).size() == 1)) continue;
    if (found || request.in(i).constant != nullptr) return std::nullopt;
    found = i;
  }
  return found;
}

Tensor all_codes(ElementType type) {
  Tensor codes(type, {kCodes});
  auto* bytes = static_cast<uint8_t*>(codes.mutable_raw());
  for (int64_t i = 0; i < kCodes; ++i) bytes[i] = static_cast<uint8_t>(i);
  return codes;
}

// What a node makes of known values.
Tensor result_of(const Node& node, const std::map<const Value*, Tensor>& values) {
  std::vector<const Tensor*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(input == nullptr ? nullptr : &values.at(input));
  return ops::evaluate(node, inputs)[0].as_tensor();
}

Tensor results(const KernelRequest& request, size_t varying) {
  const Node& node = request.node;
  const bool grouped = ops::is_group(node);
  const auto& inputs = grouped ? ops::body(node).inputs : node.inputs;
  std::map<const Value*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    values[inputs[i]] =
        i == varying ? all_codes(request.in(i).element) : request.in(i).constant->reshaped(Dims{});
  }
  if (!grouped) return result_of(node, values);
  for (const auto& member : ops::body(node).nodes()) values[member->output(0)] = result_of(*member, values);
  return values.at(ops::body(node).outputs[0]);
}

}  // namespace

std::unique_ptr<Kernel> make_byte_table(const KernelRequest& request, std::string& reason) {
  const auto varying = varying_input(request);
  reason = "no table: not from one byte to another";
  if (!varying || !is_quantised(request.node) || request.outputs.size() != 1 || !request.wants(0))
    return nullptr;
  const Operand &x = request.in(*varying), &y = request.out();
  // In blocks of channels the lanes behind the last are zero, which the table need not keep.
  if (!is_byte(x.element) || !is_byte(y.element) || x.dims != y.dims || x.layout != y.layout ||
      x.layout == Layout::kBlocked16)
    return nullptr;
  try {
    const Tensor content = results(request, *varying);
    if (content.size() != kCodes || content.type() != y.element) return nullptr;
    ByteTable table;
    std::memcpy(table.data(), content.raw(), table.size());
    auto kernel = std::make_unique<TableKernel>(table, *varying, y.size());
    kernel->contract = {ElementType::kDouble, ElementType::kUndefined, y.element};
    return kernel;
  } catch (const Error& error) {
    reason = error.what();  // an integer divided by zero, perhaps
    return nullptr;
  }
}

}  // namespace vernier::cpu
