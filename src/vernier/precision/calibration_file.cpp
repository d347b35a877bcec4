#include "vernier/precision/calibration_file.h"

#include <bit>
#include <charconv>

#include "vernier/base/file.h"

namespace vernier {

namespace {

constexpr std::string_view kHeader = "TRT-";
constexpr double kInt8Max = 127;

// The largest magnitude that codes of the entry stand for.
double largest_magnitude(const ScaleEntry& entry) {
  const auto far = [&](double code) {
    return std::abs(code - static_cast<double>(entry.zero_point)) * entry.scale;
  };
  if (entry.type == ElementType::kUint8) return std::max(far(0), far(255));
  return kInt8Max * entry.scale;
}

// Gives the name in front of the last `separator` of a line, and leaves what is behind it in the line.
std::string_view take_name(std::string_view& line, std::string_view separator) {
  const size_t at = line.rfind(separator);
  if (at == std::string_view::npos || at == 0) return {};
  const std::string_view name = line.substr(0, at);
  line.remove_prefix(at + separator.size());
  return name;
}

// The scale of a line NAME: HEX; nothing if it is none.
std::optional<double> scale_of_bits(std::string_view digits) {
  uint32_t bits = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, bits, 16);
  if (error != std::errc() || end != last) return std::nullopt;
  return static_cast<double>(std::bit_cast<float>(bits));
}

std::optional<double> scale_of_magnitude(std::string_view digits) {
  double magnitude = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, magnitude);
  if (error != std::errc() || end != last) return std::nullopt;
  return magnitude / kInt8Max;
}

using ReadScale = std::optional<double> (*)(std::string_view);

void add_line(std::string_view line, std::string_view separator, ReadScale read, Scales& scales) {
  const std::string_view name = take_name(line, separator);
  if (name.empty()) throw bad_input("has no '{}' between a name and a number", separator);
  const auto scale = read(line);
  if (!scale) throw bad_input("has no number behind the name");
  const auto stored = static_cast<float>(*scale);
  if (!(stored >= 0) || !std::isfinite(stored))
    throw bad_input("gives the scale {}, but a scale is a positive number", *scale);
  if (stored == 0) return;
  if (!scales.try_emplace(std::string(name), ScaleEntry{ElementType::kInt8, *scale, 0}).second)
    throw bad_input("names a tensor again that a line before has named");
}

Ranges parse_lines(std::string_view content) {
  const bool tensorrt = content.starts_with(kHeader);
  Ranges ranges;
  ranges.names_others = true;
  for (size_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (tensorrt && number == 1)) continue;
    try {
      if (tensorrt)
        add_line(line, ": ", scale_of_bits, ranges.scales);
      else
        add_line(line, " ", scale_of_magnitude, ranges.scales);
    } catch (const Error& error) {
      throw bad_input("this is no calibration: line {} {}", number, error.message())
          .advise(tensorrt ? "lines of a cache of TensorRT are NAME: HEX; have it written again"
                           : "give scales.json as `vernier calibrate` writes it, or a cache of TensorRT");
    }
  }
  if (ranges.scales.empty())
    throw bad_input("this is no calibration: it gives no tensor a range").advise("have it written again");
  return ranges;
}

}  // namespace

Ranges parse_ranges_file(std::string_view content) {
  const size_t first = content.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && content[first] == '{';
  return json ? parse_ranges(content) : parse_lines(content);
}

Ranges read_ranges(const std::filesystem::path& path) {
  try {
    return parse_ranges_file(read_file(path));
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::string tensorrt_cache(const Scales& scales, const CacheHeader& header) {
  std::string text = fmt::format("{}{}-{}\n", kHeader, header.version, header.algorithm);
  for (const auto& [name, entry] : scales) {
    if (!is_integer(entry.type))
      throw unsupported("a calibration cache holds scales of int8, and '{}' has one of {}", name,
                        element_type_short_name(entry.type));
    if (name.empty() || name.find_first_of("\r\n") != std::string::npos)
      throw unsupported(
          "a calibration cache cannot hold the name of a tensor that is empty or has several "
          "lines");
    const auto scale = static_cast<float>(largest_magnitude(entry) / kInt8Max);
    text += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(scale));
  }
  return text;
}

}  // namespace vernier
