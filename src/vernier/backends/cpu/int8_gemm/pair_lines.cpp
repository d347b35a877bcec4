#include "vernier/backends/cpu/int8_gemm/pair_lines.h"

#include <algorithm>
#include <cstring>

#include "vernier/backends/cpu/gemm/contraction_kernel.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// Lines that stay in a second cache, rows whose weights are worth loading, and rows whose sums stay in a
// first cache.
constexpr int64_t kLineBytes = 192 * 1024, kFewestRows = 24, kMostRows = 96;

// Where the lines of an image lie once they are laid out: as many as the windows of a few lines of the output
// read, each at the remainder of its place, and one of zeros.
struct LineRing {
  explicit LineRing(const PairWindows& windows) {
    const auto& [z, y, x] = windows.axes;
    outputs = std::clamp<int64_t>(kFewestRows / std::max<int64_t>(1, x.output), 1, y.output);
    pixels = (x.output - 1) * x.stride + x.kernel;
    size = (pixels * windows.channels + 2 * kPairSlack - 1) / kPairSlack * kPairSlack;
    planes = (z.kernel - 1) * z.dilation + 1;
    lines = (outputs - 1) * y.stride + (y.kernel - 1) * y.dilation + 1;
  }

  int64_t count() const { return planes * lines; }
  int64_t bytes(int64_t element_size) const { return (count() + 1) * size * element_size; }

  int64_t outputs;        // lines of the output that are computed together, of one plane
  int64_t pixels;         // of a line, with what lies beside the image
  int64_t size;           // elements from a line to the next
  int64_t planes, lines;  // of the ring
};

class PairLines : public ContractionKernel {
 public:
  PairLines(const PairRows& rows, const PairWindows& windows, PairWeights order,
            std::shared_ptr<const PackedForm> weights, std::unique_ptr<const LineProduct> product,
            std::unique_ptr<const BlockEpilogue> epilogue)
      : ContractionKernel(rows.input, std::move(weights), std::move(epilogue)),
        rows_(rows),
        windows_(windows),
        order_(std::move(order)),
        product_(std::move(product)),
        ring_(windows_) {
    const auto all = static_cast<double>(windows_.rows() * order_.columns);
    const int64_t threads = threads_for(2 * all * static_cast<double>(order_.depth()));
    if (lines() < threads && blocks() >= threads)
      by_columns_ = threads;
    else
      by_lines_ = std::min(threads, lines());
    const int64_t pointers = ring_.count() + ring_.outputs * order_.segments;
    partition_scratch(static_cast<size_t>(ring_bytes()) + static_cast<size_t>(pointers) * sizeof(int64_t),
                      by_lines_ * by_columns_);
  }

  bool reads(size_t input) const override {
    return ContractionKernel::reads(input) || static_cast<int>(input) == rows_.zero_input;
  }

  void run(const KernelArguments& arguments) const override {
    const Int8Source source = rows_.source(arguments, windows_.bytes());
    parallel(by_lines_ * by_columns_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t partition = begin; partition < end; ++partition)
        run_partition(arguments, source, PairRange{0, lines()}.part(partition / by_columns_, by_lines_),
                      PairRange{0, blocks()}.part(partition % by_columns_, by_columns_),
                      scratch_of(arguments, partition));
    });
  }

 private:
  // Each thread has some of them.
  struct Lines {
    const Int8Source& source;
    std::byte* ring;          // behind which lies a line of zeros
    int64_t* held;            // which line of the image is at each place of the ring
    const std::byte** found;  // [lines of the output, segments]
  };

  int64_t lines() const { return windows_.images * windows_.axes[0].output * windows_.axes[1].output; }
  int64_t blocks() const { return (order_.columns + kPairColumns - 1) / kPairColumns; }
  int64_t line_bytes() const { return ring_.size * product_->element_size(); }
  int64_t ring_bytes() const { return ring_.bytes(product_->element_size()); }

  void run_partition(const KernelArguments& arguments, const Int8Source& source, const PairRange& lines,
                     const PairRange& blocks, std::byte* scratch) const {
    auto* held = reinterpret_cast<int64_t*>(scratch + ring_bytes());
    const Lines own{source, scratch, held, reinterpret_cast<const std::byte**>(held + ring_.count())};
    std::fill_n(held, ring_.count(), int64_t{-1});
    product_->lay_out({nullptr, 0, 0, ring_.size}, source, zeros(own));
    const int64_t plane = windows_.axes[1].output;
    for (int64_t line = lines.begin; line < lines.end;) {
      const int64_t count = std::min({ring_.outputs, lines.end - line, plane - line % plane});
      for (int64_t i = 0; i < count; ++i) find(own, line + i, own.found + i * order_.segments);
      for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        for (int64_t i = 0; i < count; ++i)
          multiply(arguments, line + i, block * kPairColumns, own.found + i * order_.segments);
      }
      line += count;
    }
  }

  // Finds what one line of the output reads, and lays out lines that are not there yet.
  void find(const Lines& own, int64_t line, const std::byte** found) const {
    const auto& [z, y, x] = windows_.axes;
    const int64_t oy = line % y.output, oz = line / y.output % z.output, image = line / y.output / z.output;
    for (int64_t kz = 0; kz < z.kernel; ++kz) {
      for (int64_t ky = 0; ky < y.kernel; ++ky) {
        const int64_t iz = z.at(oz, kz), iy = y.at(oy, ky);
        const bool inside = iz >= 0 && iz < z.input && iy >= 0 && iy < y.input;
        *found++ = inside ? laid_out(own, (image * z.input + iz) * y.input + iy,
                                     iz % ring_.planes * ring_.lines + iy % ring_.lines)
                          : zeros(own);
      }
    }
  }

  std::byte* zeros(const Lines& own) const { return own.ring + ring_.count() * line_bytes(); }

  const std::byte* laid_out(const Lines& own, int64_t line, int64_t place) const {
    std::byte* to = own.ring + place * line_bytes();
    if (own.held[place] == line) return to;
    own.held[place] = line;
    const ops::WindowAxis& x = windows_.axes[2];
    const int64_t channels = windows_.channels, left = x.at(0, 0),
                  begin = std::clamp<int64_t>(left, 0, x.input),
                  end = std::clamp<int64_t>(left + ring_.pixels, begin, x.input),
                  before = std::clamp<int64_t>(-left, 0, ring_.pixels);
    const int64_t count = (end - begin) * channels;
    product_->lay_out({own.source.from + (line * x.input + begin) * channels, before * channels, count,
                       ring_.size - before * channels - count},
                      own.source, to);
    return to;
  }

  // The windows of a line of the output with up to 32 columns.
  void multiply(const KernelArguments& arguments, int64_t line, int64_t column,
                const std::byte* const* segments) const {
    alignas(64) std::array<int32_t, kMostRows * kPairColumns> sums;
    std::array<const std::byte*, kMostSegments> x;
    const ops::WindowAxis& axis = windows_.axes[2];
    const int64_t stride = axis.stride * windows_.channels, width = axis.output,
                  parts = (width + kMostRows - 1) / kMostRows,
                  columns = std::min(kPairColumns, order_.columns - column);
    const auto count = static_cast<size_t>(order_.segments);
    for (int64_t part = 0; part < parts; ++part) {
      const PairRange some = PairRange{0, width}.part(part, parts);
      for (size_t i = 0; i < count; ++i) x[i] = segments[i] + some.begin * stride * product_->element_size();
      product_->multiply({{x.data(), count}, stride, some.size()}, weights_->content().data(), column,
                         *epilogue_, sums.data());
      epilogue_->finish(arguments,
                        {sums.data(), kPairColumns, line * width + some.begin, column, some.size(), columns});
    }
  }

  PairRows rows_;
  PairWindows windows_;
  PairWeights order_;
  std::unique_ptr<const LineProduct> product_;
  LineRing ring_;
  int64_t by_lines_ = 1, by_columns_ = 1;
};

}  // namespace

bool suits_lines(const PairWindows& windows) {
  constexpr int64_t kFewestWindows = 4;  // of a line
  const auto& [z, y, x] = windows.axes;
  const bool is_whole = windows.channels == windows.pixel_channels && (x.dilation == 1 || x.kernel == 1);
  return is_whole && windows.taps() > 1 && z.kernel * y.kernel <= kMostSegments &&
         x.output >= kFewestWindows && LineRing(windows).bytes(sizeof(int16_t)) <= kLineBytes;
}

std::unique_ptr<Kernel> make_pair_lines(const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order, std::shared_ptr<const PackedForm> weights,
                                        std::unique_ptr<const BlockEpilogue> epilogue) {
  auto product = make_pair_line_product(order);
  auto kernel = std::make_unique<PairLines>(rows, windows, order, std::move(weights), std::move(product),
                                            std::move(epilogue));
  kernel->name = "cpu:int16_pairs:lines";
  return kernel;
}

std::unique_ptr<Kernel> make_quad_lines(const KernelRequest& request, const Tensor& weights,
                                        const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order,
                                        std::unique_ptr<const BlockEpilogue> epilogue, std::string& reason) {
  auto quads = QuadWeights::of(weights, order, reason);
  if (!quads) return nullptr;
  const auto pack = [weights, order](std::byte* to) {
    std::string none;
    const auto content = QuadWeights::of(weights, order, none)->content;
    std::memcpy(to, content.data(), content.size());
  };
  auto packed = request.pack(weights, order.form("int8-quads"), quads->content.size(), pack);
  auto product = make_quad_line_product(std::move(*quads), rows, order.columns, *epilogue);
  auto kernel = std::make_unique<PairLines>(rows, windows, order, std::move(packed), std::move(product),
                                            std::move(epilogue));
  kernel->name = "cpu:int8_quads:lines";
  return kernel;
}

}  // namespace vernier::cpu
