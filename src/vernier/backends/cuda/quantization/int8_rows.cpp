#include "vernier/backends/cuda/quantization/int8_rows.h"

#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/window_parameters.h"

namespace vernier::cuda {

namespace {

using P = WindowParameters;

// Images of so many pixels, each a row.
Int8Rows rows_of_pixels(int64_t images, int64_t pixels, int64_t channels) {
  Int8Rows rows;
  P& p = rows.windows;
  set_window({{.input = pixels, .output = pixels}}, p);
  p.rows = images * pixels;
  p.channels = p.length = static_cast<int>(channels);
  p.image_step = pixels * channels;
  rows.depth = channels;
  return rows;
}

int taps_of(const P& p) {
  return p.kernel[0] * p.kernel[1] * p.kernel[2];
}

// As many as can be of the values that lie in 16 bytes, wherever a row begins.
int width_of(const P& p) {
  int width = 16;
  const auto fits = [&](int64_t step) { return step % width == 0; };
  while (width > 1 && !(p.channel_step == 1 && fits(p.channels) && fits(p.length) && fits(p.pixel_step) &&
                        fits(p.image_step)))
    width /= 2;
  return width;
}

// Calls visit(row, k, place) with every value of the constant, which lies at `place`.
template <class Visit>
void for_each_value(const Int8Rows& rows, Visit visit) {
  const P& p = rows.windows;
  const int64_t taps = taps_of(p), places = int64_t{p.output[0]} * p.output[1] * p.output[2];
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t k = 0; k < rows.depth; ++k) {
      // The window is the image, or a pixel of it.
      const int64_t pixel = taps > 1 ? k / p.channels : row % places;
      visit(row, k, row / places * p.image_step + pixel * p.pixel_step + k % p.channels * p.channel_step);
    }
  }
}

std::string form_of(const Int8Rows& rows, bool flips, std::string_view what) {
  const P& p = rows.windows;
  return fmt::format("cuda:{},{}x{},{},{},{},{}", what, taps_of(p), p.channels, p.channel_step, p.pixel_step,
                     p.length, flips ? "less 128" : "as they are");
}

}  // namespace

bool Int8Rows::lie_so() const {
  const P& p = windows;
  bool windows_are_pixels = taps_of(p) == 1;
  for (size_t i = 0; i < std::size(p.strides); ++i)
    windows_are_pixels =
        windows_are_pixels && p.strides[i] == 1 && p.pads[i] == 0 && p.output[i] == p.input[i];
  const int64_t pixels = int64_t{p.input[0]} * p.input[1] * p.input[2];
  return windows_are_pixels && p.channel_step == 1 && p.length == p.channels &&
         (pixels == 1 || p.pixel_step == p.channels) &&
         (p.rows == pixels || p.image_step == pixels * p.channels);
}

std::vector<RowChunk> Int8Rows::chunks(int64_t most_values) const {
  const int64_t most = std::max<int64_t>(1, most_values / length()), parts = (count() + most - 1) / most,
                each = (count() + parts - 1) / parts;
  std::vector<RowChunk> all;
  for (int64_t first = 0; first < count(); first += each)
    all.push_back({first, std::min(each, count() - first)});
  return all;
}

Int8Rows rows_of_matrix(const Dims& dims) {
  const int64_t depth = dims.back();
  Int8Rows rows = rows_of_pixels(1, element_count(dims) / depth, depth);
  rows.windows.channel_step = 1;
  rows.windows.pixel_step = depth;
  return rows;
}

Int8Rows columns_of_matrix(const Dims& dims) {
  if (dims.size() == 1) return rows_of_matrix(dims);
  const int64_t depth = dims[dims.size() - 2], columns = dims.back();
  Int8Rows rows = rows_of_pixels(element_count(dims) / (depth * columns), columns, depth);
  rows.windows.channel_step = columns;
  rows.windows.pixel_step = 1;
  return rows;
}

Int8Rows rows_of_windows(const Operand& x, const ops::Convolution& convolution) {
  Int8Rows rows;
  P& p = rows.windows;
  set_window(convolution.axes, p);
  const bool last = x.layout == Layout::kChannelsLast;
  const int64_t channels = x.dims[1], pixels = x.size() / (x.dims[0] * channels);
  p.rows = x.dims[0] * ops::output_count(convolution.axes);
  p.channels = static_cast<int>(channels);
  p.image_step = channels * pixels;
  p.channel_step = last ? 1 : pixels;
  p.pixel_step = last ? channels : 1;
  rows.depth = channels * taps_of(p);
  rows.pad(rows.depth);
  return rows;
}

Int8Rows rows_of_weights(const Dims& dims) {
  const int64_t channels = dims[1], taps = element_count(dims) / (dims[0] * channels);
  Int8Rows rows;
  P& p = rows.windows;
  set_window({{.input = taps, .output = 1, .kernel = taps}}, p);
  p.rows = dims[0];
  p.channels = static_cast<int>(channels);
  p.image_step = channels * taps;
  p.channel_step = taps;
  p.pixel_step = 1;
  rows.depth = channels * taps;
  rows.pad(rows.depth);
  return rows;
}

void add_gathering(CudaKernel& kernel, const Int8Rows& rows, const RowChunk& chunk, bool flips,
                   const CudaKernel::Place& values, const std::optional<CudaKernel::Place>& zero,
                   const CudaKernel::Place& to) {
  const int width = width_of(rows.windows);
  P parameters = rows.windows;
  parameters.first = chunk.first;
  parameters.rows = chunk.count;
  kernel.launch(kernel_source("gather_windows", {{"N", std::to_string(width)}, {"FLIPS", flips ? "1" : "0"}}),
                grid_over(chunk.count * rows.length() / width), parameters, {{&P::x, values}}, {{&P::y, to}});
  if (zero) kernel.add_pointer(offsetof(P, zero), *zero);
}

CudaKernel::Place packed_rows(CudaKernel& kernel, const KernelRequest& request, const Tensor& values,
                              const Int8Rows& rows, bool flips, int64_t count) {
  const auto bytes = static_cast<size_t>(count * rows.length());
  const auto fill = [rows, flips, bytes, source = values](std::byte* to) {
    const auto* from = static_cast<const std::byte*>(source.raw());
    const auto flip = flips ? std::byte{0x80} : std::byte{0};
    std::fill_n(to, bytes, std::byte{0});
    for_each_value(rows, [&](int64_t row, int64_t k, int64_t place) {
      to[row * rows.length() + k] = from[place] ^ flip;
    });
  };
  return kernel.constant(
      request.pack(values, form_of(rows, flips, fmt::format("{} rows of int8", count)), bytes, fill));
}

CudaKernel::Place packed_sums(CudaKernel& kernel, const KernelRequest& request, const Tensor& values,
                              const Int8Rows& rows, bool flips) {
  const size_t bytes = static_cast<size_t>(rows.count()) * sizeof(int32_t);
  const auto fill = [rows, flips, source = values](std::byte* to) {
    const bool is_signed = source.type() == ElementType::kInt8;
    const auto* from = static_cast<const uint8_t*>(source.raw());
    auto* sums = reinterpret_cast<int32_t*>(to);
    std::fill_n(sums, rows.count(), 0);
    for_each_value(rows, [&](int64_t row, int64_t /*k*/, int64_t place) {
      const int32_t value = is_signed ? static_cast<int8_t>(from[place]) : from[place];
      sums[row] += flips ? value - 128 : value;
    });
  };
  return kernel.constant(request.pack(values, form_of(rows, flips, "sums of int8"), bytes, fill));
}

void add_sums(CudaKernel& kernel, int64_t count, int64_t length, ElementType element,
              const CudaKernel::Place& values, const CudaKernel::Place& to) {
  using S = Int8SumParameters;
  S parameters{};
  parameters.rows = count;
  parameters.length = length;
  kernel.launch(kernel_source("int8_sums", {{"T", std::string(device_type(element))}}),
                grid_of_blocks(count, length), parameters, {{&S::x, values}}, {{&S::y, to}});
}

}  // namespace vernier::cuda
