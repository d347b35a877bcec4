// STFT: the Fourier transforms of windows that move over a signal [batch, length, 1 or 2] by frame_step, or
// [batch, length], as ONNX Runtime takes it; gives [batch, frames, bins, 2]. Without window and frame_length
// there is one frame, the whole signal.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/signal/fft.h"

namespace vernier::ops {

namespace {

constexpr size_t kSignal = 0, kStep = 1, kWindow = 2, kLength = 3;

Dim frame_length(const InferContext& context, const Dim& signal_length) {
  if (context.has(kWindow) && context.shape(kWindow)) {
    if (context.shape(kWindow)->size() != 1)
      throw bad_input("the window must be a vector, not {}", shape_text(*context.shape(kWindow)));
    Dim elements = context.shape(kWindow)->front();
    const auto length = context.has(kLength) ? scalar_content(context, kLength) : std::nullopt;
    if (length && !length->may_equal(elements))
      throw bad_input("a window of {} elements for frames of {}", elements.text(), length->text());
    return elements;
  }
  if (context.has(kLength)) return scalar_content(context, kLength).value_or(context.fresh("frame_length"));
  return context.has(kWindow) ? context.fresh("frame_length") : signal_length;
}

void infer_stft(InferContext& context) {
  const ElementType element = context.element(kSignal);
  const auto& signal = context.shape(kSignal);
  context.element(kStep);
  if (signal && signal->size() != 3 && signal->size() != 2)
    throw bad_input("the signal must be [batch, length, 1 or 2] or [batch, length], not {}",
                    shape_text(*signal));
  const Dim batch = signal ? (*signal)[0] : context.fresh("batch");
  const Dim length = frame_length(context, signal ? (*signal)[1] : context.fresh("length"));
  const auto step = scalar_content(context, kStep);
  if ((step && step->is_constant() && *step->constant() < 1) ||
      (length.is_constant() && *length.constant() < 1)) {
    throw bad_input("frames of length {} every {} elements are not possible", length.text(),
                    step ? step->text() : "?");
  }
  const bool counts = signal && step;
  const Dim frames = counts ? max(0, floordiv((*signal)[1] - length, *step) + 1) : context.fresh("frames");
  const Dim bins = context.attribute<int64_t>("onesided", 1) != 0 ? floordiv(length, 2) + 1 : length;
  context.set_output(0, element, Shape{batch, frames, bins, 2});
}

std::vector<double> window_of(const ReferenceContext& context, int64_t signal_length) {
  if (!context.has(kWindow))
    return std::vector<double>(static_cast<size_t>(context.integer(kLength, signal_length)), 1);
  const auto window = context.reals(kWindow);
  if (context.integer(kLength, window.size()) != window.size()) {
    throw bad_input("a window of {} elements for frames of {}", window.size(), context.integer(kLength, 0));
  }
  return {window.span().begin(), window.span().end()};
}

void reference_stft(ReferenceContext& context) {
  const Dims &in = context.dims(kSignal), out = context.out_dims(0);
  const int64_t parts = in.size() == 2 ? 1 : in[2], step = context.integer(kStep, 1);
  if (parts != 1 && parts != 2) throw bad_input("the last axis must have 1 or 2 elements, not {}", parts);
  const std::vector<double> window = window_of(context, in[1]);
  const auto length = static_cast<int64_t>(window.size());
  const auto x = context.reals(kSignal);
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  parallel_for(out[0] * out[1], std::max<int64_t>(1, (1 << 14) / length), [&](int64_t begin, int64_t end) {
    Fft fft(length);
    std::vector<std::complex<double>> frame(window.size());
    for (int64_t i = begin; i < end; ++i) {
      const double* from = x.data() + (i / out[1] * in[1] + i % out[1] * step) * parts;
      for (size_t t = 0; t < frame.size(); ++t, from += parts)
        frame[t] = window[t] * std::complex<double>(from[0], parts == 2 ? from[1] : 0);
      fft.forward(frame);
      double* to = y.data() + i * out[2] * 2;
      for (int64_t k = 0; k < out[2]; ++k) {
        to[2 * k] = frame[static_cast<size_t>(k)].real();
        to[2 * k + 1] = frame[static_cast<size_t>(k)].imag();
      }
    }
  });
  context.store(0, out, y);
}

}  // namespace

void register_stft(OpRegistry& registry) {
  registry.add({.op = "STFT",
                .operands = {Role::kData, Role::kSizes, Role::kData, Role::kSizes},
                .optional_inputs = 2,
                .attributes = {{"onesided", "INT"}},
                .precision = PrecisionClass::kNeverLower,
                .since = {17, 17},
                .infer = infer_stft,
                .reference = reference_stft});
}

}  // namespace vernier::ops
