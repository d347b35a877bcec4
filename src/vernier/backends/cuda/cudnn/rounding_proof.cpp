#include "vernier/backends/cuda/cudnn/rounding_proof.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/base/memory.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/tensor/tensor.h"

namespace vernier::cuda {

namespace {

// Images, addends and sums are integers times this, so that a cut at 6 leaves sums of up to 24576.
constexpr double kUnit = 1.0 / 4096;
constexpr int64_t kMostAddend = 255, kMostWeight = 64;  // exact in bfloat16
constexpr size_t kPieces = 64, kPieceLength = 2048;     // of the result that is compared

uint32_t mixed(int64_t number) {
  auto bits = static_cast<uint32_t>(number) * 0x9e3779b1U;
  bits ^= bits >> 15;
  return bits * 0x85ebca77U >> 8;
}

int64_t addend(int64_t place) {
  return 2 * static_cast<int64_t>(mixed(place) % (kMostAddend + 1)) - kMostAddend;
}

int64_t weight(int64_t place) {
  return static_cast<int64_t>(mixed(place + 7) % (2 * kMostWeight + 1)) - kMostWeight;
}

template <class Work>
void for_each_index(const Dims& sizes, const Work& work) {
  Dims index(sizes.size(), 0);
  for (int64_t i = element_count(sizes); i-- > 0;) {
    work(index);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
}

int64_t place_of(const DnnTensor& tensor, const Dims& index) {
  int64_t place = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * tensor.steps[axis];
  return place;
}

// The index of the element that lies at the place.
Dims index_at(const DnnTensor& tensor, int64_t place) {
  Dims index(tensor.sizes.size(), 0);
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    if (tensor.sizes[axis] > 1) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return tensor.steps[a] > tensor.steps[b]; });
  for (const size_t axis : axes) {
    index[axis] = place / tensor.steps[axis];
    place %= tensor.steps[axis];
  }
  return index;
}

using Elements = std::vector<uint16_t>;

class Proof {
 public:
  explicit Proof(const DnnConvolution& asked) : asked_(asked), images_(asked.x.sizes) {
    images_[1] = 1;  // all channels of a pixel are the same number
    const auto products = static_cast<double>(element_count(asked.w.sizes)) / static_cast<double>(asked.w.sizes[0]);
    // Sums are about 12000, which neither type holds exactly; float holds them by far.
    most_ = std::clamp<int64_t>(static_cast<int64_t>(560 / std::sqrt(products)), 3, kMostAddend);
    const Dims& w = asked.w.sizes;
    taps_.assign(w.begin() + 2, w.end());
    weights_.assign(static_cast<size_t>(w[0] * element_count(taps_)), 0);
    for_each_index(w, [&](const Dims& index) {
      weights_[tap_of(index[0], Dims(index.begin() + 2, index.end()))] += weight(place_of(asked_.w, index));
    });
  }

  Elements x() const {
    Elements made(static_cast<size_t>(element_count(asked_.x.sizes)));
    for_each_index(images_, [&](const Dims& index) {
      const uint16_t bits = bits_of(static_cast<double>(pixel(index)) * kUnit);
      const int64_t first = place_of(asked_.x, index);
      for (int64_t c = 0; c < asked_.x.sizes[1]; ++c)
        made[static_cast<size_t>(first + c * asked_.x.steps[1])] = bits;
    });
    return made;
  }
  Elements w() const { return filled(asked_.w, weight, 1); }
  Elements bias() const { return filled(asked_.bias, addend, kUnit); }
  Elements residual() const { return filled(asked_.y, addend, kUnit); }

  // What lies at a place of the result, exact but for one rounding.
  double expected(int64_t place) const {
    const Dims index = index_at(asked_.y, place);
    int64_t sum = 0;
    for_each_index(taps_, [&](const Dims& tap) {
      Dims from = index;
      from[1] = 0;
      for (size_t i = 0; i < tap.size(); ++i) {
        const ops::WindowAxis& axis = asked_.axes[i];
        from[i + 2] = index[i + 2] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
        if (from[i + 2] < 0 || from[i + 2] >= asked_.x.sizes[i + 2]) return;
      }
      sum += pixel(from) * weights_[tap_of(index[1], tap)];
    });
    if (asked_.residual_input) sum += addend(place);
    if (has_bias()) sum += addend(index[1] * asked_.bias.steps[1]);
    double value = static_cast<double>(sum) * kUnit;
    if (asked_.relu) value = std::clamp(value, 0.0, asked_.most);
    return value_of(bits_of(value));
  }

  bool has_bias() const { return asked_.bias_input || asked_.adds_zeros; }
  double value_of(uint16_t bits) const {
    return asked_.element == ElementType::kFloat16 ? static_cast<double>(std::bit_cast<Float16>(bits))
                                                   : static_cast<double>(std::bit_cast<BFloat16>(bits));
  }

 private:
  int64_t pixel(const Dims& index) const {
    return 1 + 2 * (mixed(place_of(asked_.x, index) / asked_.x.steps.back()) % ((most_ + 1) / 2));
  }
  size_t tap_of(int64_t filter, const Dims& tap) const {
    int64_t at = filter;
    for (size_t i = 0; i < tap.size(); ++i) at = at * taps_[i] + tap[i];
    return static_cast<size_t>(at);
  }
  uint16_t bits_of(double value) const {
    return asked_.element == ElementType::kFloat16 ? std::bit_cast<uint16_t>(Float16(value))
                                                   : std::bit_cast<uint16_t>(BFloat16(value));
  }
  Elements filled(const DnnTensor& tensor, int64_t (*number)(int64_t), double unit) const {
    Elements bits, made(static_cast<size_t>(element_count(tensor.sizes)));
    for (int64_t i = -kMostAddend; i <= kMostAddend; ++i)
      bits.push_back(bits_of(static_cast<double>(i) * unit));
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = bits[static_cast<size_t>(number(static_cast<int64_t>(i)) + kMostAddend)];
    return made;
  }

  const DnnConvolution& asked_;
  Dims images_, taps_;
  int64_t most_;
  std::vector<int64_t> weights_;  // [filter, tap]: their sums over channels
};

// The places of the result that are compared: pieces from its first element to its last.
std::vector<size_t> pieces(size_t length) {
  if (length <= kPieceLength) return {0};
  const size_t count = std::min(kPieces, (length + kPieceLength - 1) / kPieceLength);
  std::vector<size_t> firsts;
  for (size_t i = 0; i < count; ++i) firsts.push_back((length - kPieceLength) * i / (count - 1));
  return firsts;
}

bool proven(Cudnn& library, const DnnConvolution& asked, const DnnPlan& plan) {
  CudaDevice device(library.context());
  CudaStream stream(device);
  const Proof proof(asked);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<DnnOperand> operands;
  const auto place = [&](DnnId id, const Elements& elements) {
    buffers.push_back(device.allocate(elements.size() * sizeof(uint16_t)));
    operands.push_back({id, buffers.back()->address()});
    stream.copy(elements.data(), buffers.back()->address(), elements.size() * sizeof(uint16_t));
    stream.wait_on_host(stream.record());
  };
  place(DnnId::kX, proof.x());
  place(DnnId::kW, proof.w());
  if (asked.residual_input) place(DnnId::kResidual, proof.residual());
  if (proof.has_bias()) place(DnnId::kBias, proof.bias());
  const auto length = static_cast<size_t>(element_count(asked.y.sizes));
  buffers.push_back(device.allocate(length * sizeof(uint16_t)));
  const std::byte* y = buffers.back()->address();
  operands.push_back({DnnId::kY, buffers.back()->address()});
  buffers.push_back(device.allocate(plan.working_bytes()));
  library.run(plan, operands, buffers.back()->address(), stream, "cudnn:convolution");
  const size_t piece = std::min(length, kPieceLength);
  const std::vector<size_t> firsts = pieces(length);
  Elements got(firsts.size() * piece);
  for (size_t i = 0; i < firsts.size(); ++i)
    stream.copy(y + firsts[i] * sizeof(uint16_t), &got[i * piece], piece * sizeof(uint16_t));
  stream.wait_on_host(stream.record());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto at = static_cast<int64_t>(firsts[i / piece] + i % piece);
    if (proof.value_of(got[i]) != proof.expected(at)) return false;
  }
  return true;
}

}  // namespace

bool rounds_once(Cudnn& library, const DnnConvolution& asked, const DnnPlan& plan) {
  try {
    return proven(library, asked, plan);
  } catch (const OutOfMemory&) {
    return false;
  }
}

}  // namespace vernier::cuda
