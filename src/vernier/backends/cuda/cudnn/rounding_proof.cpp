#include "vernier/backends/cuda/cudnn/rounding_proof.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/base/error.h"
#include "vernier/base/memory.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/tensor/tensor.h"

namespace vernier::cuda {

namespace {

// Images, addends and sums are integers times this, so that a cut at 6 leaves sums of up to 24576.
constexpr double kUnit = 1.0 / 4096;
constexpr int64_t kMostAddend = 255, kMostWeight = 64;  // exact in bfloat16
constexpr size_t kPieces = 64, kPieceLength = 1024;     // of the result that is compared

uint32_t mixed(int64_t number) {
  auto bits = static_cast<uint32_t>(number) * 0x9e3779b1U;
  bits ^= bits >> 15;
  return bits * 0x85ebca77U >> 8;
}

using Elements = std::vector<uint16_t>;

// Images lie channels last, and all channels of a pixel are the same number. Numbers repeat after so many
// pixels, or elements, so that few of them are made.
class Proof {
 public:
  explicit Proof(const DnnConvolution& asked)
      : asked_(asked),
        channels_(asked.x.sizes[1]),
        filters_(asked.y.sizes[1]),
        axes_(asked.w.sizes.size() - 2) {
    const auto products = static_cast<double>(element_count(asked.w.sizes)) / static_cast<double>(filters_);
    // Sums are about 12000, which neither type holds exactly; float holds them by far.
    most_ = std::clamp<int64_t>(static_cast<int64_t>(560 / std::sqrt(products)), 3, kMostAddend);
    taps_ = 1;
    for (size_t i = 0; i < axes_; ++i) taps_ *= asked.w.sizes[i + 2];
    const int64_t depth = asked.w.sizes[1];  // channels of a group
    weights_.assign(static_cast<size_t>(filters_ * taps_), 0);
    for (int64_t i = 0; i < filters_ * taps_ * depth; ++i)
      weights_[static_cast<size_t>(i / depth)] += weight(i);
    for (int64_t i = -kMostAddend; i <= kMostAddend; ++i) {
      numbers_.push_back(bits_of(static_cast<double>(i)));
      addends_.push_back(bits_of(static_cast<double>(i) * kUnit));
    }
  }

  // The first numbers of the image, after which they repeat.
  Elements x() const {
    const int64_t pixels = std::min(element_count(asked_.x.sizes) / channels_, kPixels);
    Elements made;
    for (int64_t i = 0; i < pixels; ++i)
      made.insert(made.end(), static_cast<size_t>(channels_),
                  addends_[static_cast<size_t>(pixel(i) + kMostAddend)]);
    return made;
  }
  Elements w() const {
    return made_of(element_count(asked_.w.sizes), numbers_, [](int64_t place) { return weight(place); });
  }
  Elements bias() const { return made_of(filters_, addends_, addend); }
  Elements residual() const {
    return made_of(std::min(element_count(asked_.y.sizes), kElements), addends_, addend);
  }

  // Gives the element at a place of the result, exact but for one rounding.
  double expected(int64_t place) const {
    const int64_t filter = place % filters_;
    std::array<int64_t, 3> index{};
    int64_t rest = place / filters_;
    for (size_t i = axes_; i-- > 0; rest /= asked_.y.sizes[i + 2]) index.at(i) = rest % asked_.y.sizes[i + 2];
    int64_t sum = 0;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const auto from = read(rest, index, tap);
      if (from) sum += pixel(*from) * weights_[static_cast<size_t>(filter * taps_ + tap)];
    }
    if (asked_.residual_input) sum += addend(place % kElements);
    if (has_bias()) sum += addend(filter);
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
  static constexpr int64_t kPixels = 4099, kElements = 65521;

  static int64_t addend(int64_t place) {
    return 2 * static_cast<int64_t>(mixed(place) % (kMostAddend + 1)) - kMostAddend;
  }
  static int64_t weight(int64_t place) {
    return static_cast<int64_t>(mixed(place + 7) % (2 * kMostWeight + 1)) - kMostWeight;
  }
  int64_t pixel(int64_t number) const { return 1 + 2 * (mixed(number % kPixels) % ((most_ + 1) / 2)); }

  // The pixel that a tap of the window at this index of this image reads; nothing for one of the padding.
  std::optional<int64_t> read(int64_t image, const std::array<int64_t, 3>& index, int64_t tap) const {
    std::array<int64_t, 3> taps{};
    for (size_t i = axes_; i-- > 0; tap /= asked_.w.sizes[i + 2]) taps.at(i) = tap % asked_.w.sizes[i + 2];
    int64_t pixel = image;
    for (size_t i = 0; i < axes_; ++i) {
      const ops::WindowAxis& axis = asked_.axes[i];
      const int64_t at = index.at(i) * axis.stride - axis.pad_begin + taps.at(i) * axis.dilation;
      if (at < 0 || at >= asked_.x.sizes[i + 2]) return std::nullopt;
      pixel = pixel * asked_.x.sizes[i + 2] + at;
    }
    return pixel;
  }
  uint16_t bits_of(double value) const {
    return asked_.element == ElementType::kFloat16 ? std::bit_cast<uint16_t>(Float16(value))
                                                   : std::bit_cast<uint16_t>(BFloat16(value));
  }
  template <class Number>
  static Elements made_of(int64_t count, const Elements& bits, const Number& number) {
    Elements made;
    for (int64_t i = 0; i < count; ++i) made.push_back(bits[static_cast<size_t>(number(i) + kMostAddend)]);
    return made;
  }

  const DnnConvolution& asked_;
  const int64_t channels_, filters_;
  const size_t axes_;             // of the window
  int64_t most_;                  // of the odd numbers that the image is made of
  int64_t taps_;                  // of a window
  std::vector<int64_t> weights_;  // [filter, tap]: their sums over channels
  Elements numbers_, addends_;    // from -kMostAddend on
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
  // The operand repeats what is given.
  const auto place = [&](DnnId id, const DnnTensor& tensor, const Elements& given) {
    const size_t bytes = static_cast<size_t>(element_count(tensor.sizes)) * sizeof(uint16_t);
    buffers.push_back(device.allocate(bytes));
    std::byte* const to = buffers.back()->address();
    operands.push_back({id, to});
    if (given.empty()) return to;
    size_t done = given.size() * sizeof(uint16_t);
    stream.copy(given.data(), to, done);
    for (; done < bytes; done *= 2) stream.copy(to, to + done, std::min(done, bytes - done));
    stream.wait_on_host(stream.record());
    return to;
  };
  place(DnnId::kX, asked.x, proof.x());
  place(DnnId::kW, asked.w, proof.w());
  if (asked.residual_input) place(DnnId::kResidual, asked.y, proof.residual());
  if (proof.has_bias()) place(DnnId::kBias, asked.bias, proof.bias());
  const std::byte* const y = place(DnnId::kY, asked.y, {});
  buffers.push_back(device.allocate(plan.working_bytes()));
  library.run(plan, operands, buffers.back()->address(), stream, "cudnn:convolution");
  const auto length = static_cast<size_t>(element_count(asked.y.sizes));
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
    return asked.channels_last && proven(library, asked, plan);
  } catch (const OutOfMemory&) {
    return false;
  } catch (const Error&) {
    if (library.context().is_lost()) throw;
    return false;
  }
}

}  // namespace vernier::cuda
