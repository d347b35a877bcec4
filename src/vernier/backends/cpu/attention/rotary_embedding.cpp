// RotaryEmbedding of ai.onnx and com.microsoft, on floats.
#include "vernier/backends/cpu/attention/rotate_row.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/indices.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

namespace {

struct Places {
  size_t cosines, sines, positions;
};

class RotaryEmbedding : public Kernel {
 public:
  RotaryEmbedding(const KernelRequest& request, const Places& places, int64_t size)
      : node_(request.node.name), places_(places), size_(size) {
    const Operand &x = request.in(0), &cosines = request.in(places.cosines);
    name = "cpu:rotary";
    contract = float_contract(ElementType::kFloat);
    contract.accumulated = ElementType::kUndefined;
    contract.order = NumericsContract::Order::kNone;
    half_ = cosines.dims.back();
    limit_ = half_ == 0 ? 0 : cosines.size() / half_;
    interleaved_ = ops::integer_attribute(request.node, "interleaved") != 0;
    separate_ = x.rank() == 4;
    heads_ = separate_ ? x.dims[1] : x.dims[2] / size;
    length_ = separate_ ? x.dims[2] : x.dims[1];
    rows_ = x.size() / size;
    if (request.has(places.positions)) {
      const Operand& given = request.in(places.positions);
      form_ = given.rank() == 1 && given.size() == 1 ? Positions::kFirst : Positions::kEach;
    }
  }

  void run(const KernelArguments& arguments) const override {
    const auto *x = static_cast<const float*>(arguments.inputs[0]),
               *cosines = static_cast<const float*>(arguments.inputs[places_.cosines]),
               *sines = static_cast<const float*>(arguments.inputs[places_.sines]);
    const auto* positions = form_ == Positions::kNone
                                ? nullptr
                                : static_cast<const int64_t*>(arguments.inputs[places_.positions]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    IndexCheck check;
    parallel(rows_, std::max<int64_t>(1, (1 << 13) / size_), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t token = token_of(row);
        int64_t position = token;
        if (form_ == Positions::kFirst) position = positions[0] + token % length_;
        if (form_ == Positions::kEach) position = positions[token];
        if (position < 0) position -= limit_;  // no counting from the end here
        const int64_t angles = check.resolve(position, limit_) * half_;
        rotate_row(x + row * size_, size_, cosines + angles, sines + angles, half_, interleaved_,
                   y + row * size_);
      }
    });
    check.check(node_);
  }

 private:
  enum class Positions : uint8_t { kNone, kFirst, kEach };

  // The [batch, row] that a row of a head belongs to.
  int64_t token_of(int64_t row) const {
    return separate_ ? row / (heads_ * length_) * length_ + row % length_ : row / heads_;
  }

  std::string node_;
  Places places_;
  int64_t size_, half_, limit_, heads_, length_, rows_;
  bool interleaved_, separate_;
  Positions form_ = Positions::kNone;
};

template <const Places& places>
std::unique_ptr<Kernel> make_rotary_embedding(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &cosines = request.in(places.cosines);
  const int64_t half = cosines.rank() < 2 ? 0 : cosines.dims.back();
  const auto heads = ops::integer_attribute(request.node, "num_heads");
  const auto rotated = ops::integer_attribute(request.node, "rotary_embedding_dim");
  int64_t size = 0;
  if (x.rank() == 4) size = x.dims[3];
  if (x.rank() == 3) size = heads > 0 ? (x.dims[2] % heads == 0 ? x.dims[2] / heads : 0) : 2 * half;
  const int64_t tokens = x.rank() == 4 ? x.dims[0] * x.dims[2] : x.rank() == 3 ? x.dims[0] * x.dims[1] : 0;
  bool serves = half > 0 && size >= 2 * half && x.size() > 0 && x.dims.back() % size == 0 &&
                (rotated == 0 || rotated == 2 * half) && cosines.dims == request.in(places.sines).dims;
  for (const Operand* operand : {&x, &cosines, &request.in(places.sines)})
    serves = serves && operand->element == ElementType::kFloat;
  if (request.has(places.positions)) {
    const Operand& given = request.in(places.positions);
    serves = serves && given.element == ElementType::kInt64 &&
             (given.size() == tokens || (given.rank() == 1 && given.size() == 1));
  }
  if (serves) return std::make_unique<RotaryEmbedding>(request, places, size);
  reason = fmt::format("no rotation of {} {}", element_type_short_name(x.element), dims_text(x.dims));
  return nullptr;
}

constexpr Places kOnnx{1, 2, 3}, kMicrosoft{2, 3, 1};

}  // namespace

void register_rotary_embedding(KernelRegistry& registry) {
  registry.add({"", "RotaryEmbedding", LayoutRule::kPlain, Priority::kOwn, make_rotary_embedding<kOnnx>});
  registry.add({"com.microsoft", "RotaryEmbedding", LayoutRule::kPlain, Priority::kOwn,
                make_rotary_embedding<kMicrosoft>});
}

}  // namespace vernier::cpu
