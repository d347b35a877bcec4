#include "vernier/backends/cpu/quantized/int8_table.h"

#include <array>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/vector_instructions.h"
#include "vernier/backends/shared/quantized.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kCodes = 256;

void look_up_each(const Int8Table& table, const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

// The table in four registers: two of them at a time are searched by the low seven bits.
VERNIER_TARGET("avx512f,avx512bw,avx512vbmi")
void look_up_vectors(const Int8Table& table, const uint8_t* from, int64_t count, uint8_t* to) {
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

auto best_look_up() {
  if (has(Feature::kVbmi)) return look_up_vectors;
  return look_up_each;
}

}  // namespace

void look_up(const Int8Table& table, const uint8_t* from, int64_t count, uint8_t* to) {
  static const auto best = best_look_up();
  best(table, from, count, to);
}

namespace {

class TableKernel : public Kernel {
 public:
  TableKernel(const Int8Table& table, size_t input, int64_t count)
      : table_(table), input_(input), count_(count) {
    name = "cpu:int8_table";
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
  Int8Table table_;
  size_t input_;
  int64_t count_;
};

class PairTableKernel : public Kernel {
 public:
  PairTableKernel(const Tensor& table, std::optional<Int8Arithmetic> arithmetic,
                  const std::vector<size_t>& inputs, int64_t count)
      : table_(table), arithmetic_(arithmetic), a_(inputs[0]), b_(inputs[1]), count_(count) {
    name = "cpu:int8_table:pairs";
    in_place = static_cast<int>(a_);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* a = static_cast<const uint8_t*>(arguments.inputs[a_]);
    const auto* b = static_cast<const uint8_t*>(arguments.inputs[b_]);
    const auto* table = static_cast<const uint8_t*>(table_.raw());
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]);
    constexpr int64_t kGrain = 1 << 15;
    parallel(count_, kGrain, [&](int64_t begin, int64_t end) {
      if (arithmetic_) return arithmetic_->run(table, a + begin, b + begin, end - begin, to + begin);
      for (int64_t i = begin; i < end; ++i) to[i] = table[a[i] * kCodes + b[i]];
    });
  }

 private:
  Tensor table_;  // [codes of a, codes of b]
  std::optional<Int8Arithmetic> arithmetic_;
  size_t a_, b_;
  int64_t count_;
};

// Whether the values stand for real numbers; loops over integers are as fast as a table.
bool is_quantized(const Node& node) {
  if (!ops::is_group(node)) return node.op.starts_with("QLinear");
  const auto& members = ops::body(node).nodes();
  return std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member->op == "DequantizeLinear" || is_quantized(*member);
  });
}

// The operands that vary; nothing if one that is known has more than one element.
std::vector<size_t> varying_inputs(const KernelRequest& request) {
  std::vector<size_t> found;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i) || (request.in(i).constant != nullptr && request.in(i).size() == 1)) continue;
    if (request.in(i).constant != nullptr) return {};
    found.push_back(i);
  }
  return found;
}

// Whether a table of two operands beats loops over doubles: with floats it does everywhere, alone where
// vectors hold few doubles.
bool suits_pairs(const KernelRequest& request) {
  constexpr int64_t kFewestElements = 4096;
  const bool is_arithmetic = request.node.op == "QLinearAdd" || request.node.op == "QLinearMul";
  return is_arithmetic && request.out().size() >= kFewestElements &&
         (!has(Feature::kAvx512) || Int8Arithmetic::of(request));
}

Tensor all_codes(ElementType type) {
  Tensor codes(type, {kCodes});
  auto* bytes = static_cast<uint8_t*>(codes.mutable_raw());
  for (int64_t i = 0; i < kCodes; ++i) bytes[i] = static_cast<uint8_t>(i);
  return codes;
}

// Computes what a node makes of known values.
Tensor result_of(const Node& node, const std::map<const Value*, Tensor>& values) {
  std::vector<const Tensor*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(input == nullptr ? nullptr : &values.at(input));
  return ops::evaluate(node, inputs)[0].as_tensor();
}

// Computes the results of all codes of the operands that vary, [256] or [256, 256].
Tensor results(const KernelRequest& request, const std::vector<size_t>& varying) {
  const Node& node = request.node;
  const bool grouped = ops::is_group(node);
  const auto& inputs = grouped ? ops::body(node).inputs : node.inputs;
  std::map<const Value*, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    if (std::find(varying.begin(), varying.end(), i) == varying.end())
      values[inputs[i]] = request.in(i).constant->reshaped(Dims{});
    else if (i == varying.back())
      values[inputs[i]] = all_codes(request.in(i).element);
    else
      values[inputs[i]] = all_codes(request.in(i).element).reshaped(Dims{kCodes, 1});
  }
  if (!grouped) return result_of(node, values);
  for (const auto& member : ops::body(node).nodes()) values[member->output(0)] = result_of(*member, values);
  return values.at(ops::body(node).outputs[0]);
}

}  // namespace

std::unique_ptr<Kernel> make_int8_table(const KernelRequest& request, std::string& reason) {
  const auto varying = varying_inputs(request);
  reason = "no table: not from one 8-bit type to another";
  if (varying.empty() || !is_quantized(request.node) || request.outputs.size() != 1 || !request.wants(0))
    return nullptr;
  if (varying.size() > 2 || (varying.size() == 2 && !suits_pairs(request))) return nullptr;
  const Operand& y = request.out();
  for (const size_t input : varying) {
    const Operand& x = request.in(input);
    // In blocks of channels the lanes behind the last are zero, which the table need not keep.
    if (!is_8bit(x.element) || !is_8bit(y.element) || x.dims != y.dims || x.layout != y.layout ||
        x.layout == Layout::kBlocked16)
      return nullptr;
  }
  try {
    const Tensor content = results(request, varying);
    if (content.size() != (varying.size() == 1 ? kCodes : kCodes * kCodes) || content.type() != y.element)
      return nullptr;
    std::unique_ptr<Kernel> kernel;
    if (varying.size() == 2) {
      kernel = std::make_unique<PairTableKernel>(content, Int8Arithmetic::of(request), varying, y.size());
    } else {
      Int8Table table;
      std::memcpy(table.data(), content.raw(), table.size());
      kernel = std::make_unique<TableKernel>(table, varying[0], y.size());
    }
    kernel->contract = {ElementType::kDouble, ElementType::kUndefined, y.element};
    return kernel;
  } catch (const Error& error) {
    reason = error.what();  // an integer divided by zero, perhaps
    return nullptr;
  }
}

}  // namespace vernier::cpu
