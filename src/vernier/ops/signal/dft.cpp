// DFT: discrete Fourier transform along one axis; the last axis holds real (size 1) or complex numbers (size
// 2). The signal is cut or padded with zeros to dft_length. onesided gives the first half of the spectrum, or
// takes it where inverse, and then makes real numbers. Since 20 the axis is input 2, by default -2; before it
// was an attribute, by default 1.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/signal/fft.h"

namespace vernier::ops {

namespace {

struct Direction {
  bool inverse, onesided;
  explicit Direction(const Node& node)
      : inverse(node.attribute<int64_t>("inverse", 0) != 0),
        onesided(node.attribute<int64_t>("onesided", 0) != 0) {}
  // The size along the axis after a transform of length n.
  Dim output_size(const Dim& n) const { return onesided && !inverse ? floordiv(n, 2) + 1 : n; }
  bool makes_reals() const { return onesided && inverse; }
};

int64_t signal_axis(int64_t axis, int64_t rank) {
  const int64_t result = normalize_axis(axis, rank);
  if (result == rank - 1)
    throw bad_input("axis {} holds real and imaginary parts and cannot be transformed", axis);
  return result;
}

std::optional<int64_t> known_axis(const InferContext& context) {
  if (context.version() < 20) return context.attribute<int64_t>("axis", 1);
  if (!context.has(2)) return -2;
  const auto axis = scalar_content(context, 2);
  return axis ? axis->constant() : std::nullopt;
}

Dim transform_length(const InferContext& context, const Dim& input_size) {
  if (context.has(1)) {
    const auto length = scalar_content(context, 1);
    return length ? *length : context.fresh("dft_length");
  }
  return Direction(context.node()).makes_reals() ? Dim(2) * (input_size - 1) : input_size;
}

void infer_dft(InferContext& context) {
  const ElementType element = context.element(0);
  auto shape = context.shape(0);
  const Direction direction(context.node());
  if (shape) {
    const auto rank = static_cast<int64_t>(shape->size());
    if (rank < 2) throw bad_input("a signal needs at least two axes, not {}", shape_text(*shape));
    if (const auto axis = known_axis(context)) {
      Dim& size = (*shape)[static_cast<size_t>(signal_axis(*axis, rank))];
      const Dim length = transform_length(context, size);
      if (length.is_constant() && *length.constant() < 1)
        throw bad_input("a transform of length {} is not possible", length.text());
      size = direction.output_size(length);
    } else {
      for (Dim& size : *shape) size = context.fresh("dft");
    }
    shape->back() = direction.makes_reals() ? 1 : 2;
  }
  context.set_output(0, element, std::move(shape));
}

// One line along the axis: `size` elements, `step` numbers apart, each of `parts` (1 or 2) numbers.
struct Line {
  int64_t size, step, parts;
};

void read_line(const double* from, const Line& line, std::span<std::complex<double>> signal) {
  std::fill(signal.begin(), signal.end(), 0.0);
  const auto count = std::min(line.size, static_cast<int64_t>(signal.size()));
  for (int64_t i = 0; i < count; ++i) {
    const double* at = from + i * line.step;
    signal[static_cast<size_t>(i)] = {at[0], line.parts == 2 ? at[1] : 0.0};
  }
}

// The second half of the spectrum of a real signal mirrors the first.
void mirror(std::span<std::complex<double>> spectrum) {
  for (size_t k = spectrum.size() / 2 + 1; k < spectrum.size(); ++k)
    spectrum[k] = std::conj(spectrum[spectrum.size() - k]);
  spectrum[0].imag(0);
  if (spectrum.size() % 2 == 0) spectrum[spectrum.size() / 2].imag(0);
}

void write_line(std::span<const std::complex<double>> signal, const Line& line, double* to) {
  for (int64_t i = 0; i < line.size; ++i) {
    to[i * line.step] = signal[static_cast<size_t>(i)].real();
    if (line.parts == 2) to[i * line.step + 1] = signal[static_cast<size_t>(i)].imag();
  }
}

void reference_dft(ReferenceContext& context) {
  const Dims &in = context.dims(0), out = context.out_dims(0);
  const Direction direction(context.node());
  const int64_t wanted =
      context.version() < 20 ? context.attribute<int64_t>("axis", 1) : context.integer(2, -2);
  const auto axis = static_cast<size_t>(signal_axis(wanted, static_cast<int64_t>(in.size())));
  if (in.back() != 1 && in.back() != 2)
    throw bad_input("the last axis must have 1 or 2 elements, not {}", in.back());
  const int64_t fallback = direction.makes_reals() ? 2 * (in[axis] - 1) : in[axis];
  const int64_t length = context.integer(1, fallback);

  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  const int64_t outer = product(in, 0, axis), inner = product(in, axis + 1, in.size() - 1);
  const Line from{in[axis], inner * in.back(), in.back()}, to{out[axis], inner * out.back(), out.back()};
  parallel_for(outer * inner, std::max<int64_t>(1, (1 << 14) / length), [&](int64_t begin, int64_t end) {
    Fft fft(length);
    std::vector<std::complex<double>> signal(static_cast<size_t>(length));
    for (int64_t i = begin; i < end; ++i) {
      read_line(x.data() + i / inner * from.size * from.step + i % inner * from.parts, from, signal);
      if (direction.makes_reals()) mirror(signal);
      if (direction.inverse)
        fft.inverse(signal);
      else
        fft.forward(signal);
      write_line(signal, to, y.data() + i / inner * to.size * to.step + i % inner * to.parts);
    }
  });
  context.store(0, out, y);
}

}  // namespace

void register_dft(OpRegistry& registry) {
  registry.add({.op = "DFT",
                .operands = {Role::kData, Role::kSizes, Role::kAxes},
                .optional_inputs = 2,
                .attributes = {{"axis", "INT"}, {"inverse", "INT"}, {"onesided", "INT"}},
                .precision = PrecisionClass::kNeverLower,
                .since = {17, 17},
                .infer = infer_dft,
                .reference = reference_dft});
}

}  // namespace vernier::ops
