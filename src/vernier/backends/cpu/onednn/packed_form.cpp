#include "vernier/backends/cpu/onednn/packed_form.h"

#include <dnnl_debug.h>

#include <atomic>
#include <charconv>
#include <cstring>

#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/base/hash.h"

namespace vernier::cpu {

#if DNNL_VERSION_MAJOR >= 3

Blocks blocks_of(const dnnl::memory::desc& descriptor) {
  Blocks blocks;
  blocks.padded = descriptor.get_padded_dims();
  if (descriptor.get_format_kind() != dnnl::memory::format_kind::blocked) return blocks;
  blocks.strides = descriptor.get_strides();
  blocks.inner_sizes = descriptor.get_inner_blks();
  blocks.inner_axes = descriptor.get_inner_idxs();
  blocks.known = blocks.elements = true;
  return blocks;
}

#else

Blocks blocks_of(const dnnl::memory::desc& descriptor) {
  const auto& data = descriptor.data;
  const auto list = [](const dnnl_dim_t* first, int count) {
    return dnnl::memory::dims(first, first + count);
  };
  Blocks blocks;
  blocks.padded = list(data.padded_dims, data.ndims);
  if (data.format_kind != dnnl_blocked) return blocks;
  const auto& from = data.format_desc.blocking;
  blocks.strides = list(from.strides, data.ndims);
  blocks.inner_sizes = list(from.inner_blks, from.inner_nblks);
  blocks.inner_axes = list(from.inner_idxs, from.inner_nblks);
  blocks.known = true;
  blocks.elements = data.extra.flags == 0;
  return blocks;
}

#endif

namespace {

constexpr std::string_view kPrefix = "onednn";

std::string list_text(const dnnl::memory::dims& list) {
  return list.empty() ? "-" : fmt::format("{}", fmt::join(list, ","));
}

dnnl::memory::dims parse_list(std::string_view text) {
  dnnl::memory::dims list;
  if (text == "-") return list;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error != std::errc() || (end != text.data() + text.size() && *end != ','))
      throw bad_input("'{}' is no list of sizes", text);
    list.push_back(value);
    at = end;
  }
  return list;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct Form {
  std::string_view source_type, packed_type, content;
  dnnl::memory::dims sizes, source_strides, padded, strides, inner_sizes, inner_axes;
};

Form parse(const std::string& form) {
  const auto words = words_of(form);
  if (words.size() != 10 || words[0] != kPrefix) throw bad_input("'{}' is no form of oneDNN", form);
  Form result{words[1], words[2], words[9], {}, {}, {}, {}, {}, {}};
  dnnl::memory::dims* lists[] = {&result.sizes,   &result.source_strides, &result.padded,
                                 &result.strides, &result.inner_sizes,    &result.inner_axes};
  for (size_t i = 0; i < 6; ++i) *lists[i] = parse_list(words[3 + i]);
  const size_t rank = result.sizes.size();
  bool fits = result.source_strides.size() == rank && result.padded.size() == rank &&
              result.strides.size() == rank && result.inner_sizes.size() == result.inner_axes.size();
  for (const int64_t axis : result.inner_axes) fits = fits && axis >= 0 && axis < static_cast<int64_t>(rank);
  for (const int64_t size : result.inner_sizes) fits = fits && size > 0;
  if (!fits) throw bad_input("'{}' is no form of oneDNN", form);
  return result;
}

std::string form_text(const Form& form, size_t bytes) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {}:{}", kPrefix, form.source_type, form.packed_type,
                     list_text(form.sizes), list_text(form.source_strides), list_text(form.padded),
                     list_text(form.strides), list_text(form.inner_sizes), list_text(form.inner_axes),
                     form.content, bytes);
}

// Where element (i, j, …) lies: the sum of what each axis says for its index, in elements.
using Places = std::vector<std::vector<int64_t>>;

// Throws bad_input for places beyond `limit`.
void require_within(const Places& places, int64_t limit) {
  int64_t last = 0;
  bool within = true;
  for (const auto& axis : places) {
    int64_t most = 0;
    for (const int64_t place : axis) {
      within = within && place >= 0 && place < limit;
      most = std::max(most, place);
    }
    last = within ? last + most : last;
  }
  if (!within || last >= limit) throw bad_input("a packed form reaches beyond its content");
}

// Sizes of foreign texts: what does not fit is far beyond any content.
int64_t product(int64_t a, int64_t b) {
  constexpr int64_t kBeyond = INT64_MAX / 4;
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) || result > kBeyond ? kBeyond : result;
}

Places packed_places(const Form& form, int64_t limit) {
  Places places;
  for (size_t axis = 0; axis < form.sizes.size(); ++axis) {
    auto& of_axis = places.emplace_back();
    for (int64_t i = 0; i < form.sizes[axis]; ++i) {
      int64_t offset = 0, stride = 1, position = i;
      for (size_t b = form.inner_sizes.size(); b-- > 0;) {
        if (form.inner_axes[b] == static_cast<int64_t>(axis)) {
          offset += product(position % form.inner_sizes[b], stride);
          position /= form.inner_sizes[b];
        }
        stride = product(stride, form.inner_sizes[b]);
        offset = std::min(offset, limit);
      }
      of_axis.push_back(offset + std::min(limit, product(position, form.strides[axis])));
    }
  }
  require_within(places, limit);
  return places;
}

Places source_places(const Form& form, int64_t limit) {
  Places places;
  for (size_t axis = 0; axis < form.sizes.size(); ++axis) {
    auto& of_axis = places.emplace_back();
    for (int64_t i = 0; i < form.sizes[axis]; ++i) of_axis.push_back(product(i, form.source_strides[axis]));
  }
  require_within(places, limit);
  return places;
}

template <class Element>
void copy_places(const Places& from, const Places& to, size_t axis, const Element* source, Element* target) {
  if (axis == from.size()) {
    *target = *source;
    return;
  }
  const auto &of_source = from[axis], &of_target = to[axis];
  const size_t count = of_source.size();
  if (axis + 1 == from.size()) {
    for (size_t i = 0; i < count; ++i) target[of_target[i]] = source[of_source[i]];
    return;
  }
  for (size_t i = 0; i < count; ++i)
    copy_places(from, to, axis + 1, source + of_source[i], target + of_target[i]);
}

// Axes of one index only cost time in the innermost loop.
void drop_single(Places& places) {
  std::erase_if(places, [](const auto& axis) { return axis.size() == 1 && axis[0] == 0; });
}

template <class Element>
void copy_as(const Places& from, const Places& to, const std::byte* source, void* target) {
  copy_places(from, to, 0, reinterpret_cast<const Element*>(source), static_cast<Element*>(target));
}

}  // namespace

namespace {

// Distinguishes formats that oneDNN keeps to itself: weights that Winograd has transformed are blocked by the
// sizes of the images, and those of two sizes may have as many bytes.
std::string opaque_format(const dnnl::memory::desc& packed) {
#if DNNL_VERSION_MAJOR >= 3
  static std::atomic<uint64_t> count{0};  // nothing can be read of them, so none is shared
  return fmt::format("{} {}", packed.get_size(), ++count);
#else
  return hash_to_text(hash_bytes(&packed.data, sizeof(packed.data)));
#endif
}

}  // namespace

std::string packed_form(const dnnl::memory::desc& as_is, const dnnl::memory::desc& packed) {
  const Blocks from = blocks_of(as_is), to = blocks_of(packed);
  const auto type = [](const dnnl::memory::desc& md) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_dt2str(static_cast<dnnl_data_type_t>(md.get_data_type()));
#else
    return dnnl_dt2str(static_cast<dnnl_data_type_t>(md.data_type()));
#endif
  };
  const char* content = !to.known ? "opaque" : to.elements ? "elements" : "more";
  const std::string text = form_text({type(as_is), type(packed), content, dims_of(as_is), from.strides,
                                      to.padded, to.strides, to.inner_sizes, to.inner_axes},
                                     packed.get_size());
  return to.known ? text : text + " " + opaque_format(packed);
}

std::string packed_form(const BlockedLayout& layout) {
  const char* type = dnnl_dt2str(static_cast<dnnl_data_type_t>(dnnl_type(layout.type).value()));
  return form_text({type, type, "elements", layout.sizes, layout.source_strides, layout.padded,
                    layout.strides, layout.inner_sizes, layout.inner_axes},
                   layout.bytes);
}

bool holds_constant(const std::string& form) {
  // Others are made of the constant, not its elements; or oneDNN keeps the place of the elements to itself.
  if (!form.starts_with(kPrefix) || form.find(" opaque:") != std::string::npos) return false;
  // oneDNN keeps more (sums for zero points) behind the elements.
  const Form parsed = parse(form);
  return parsed.source_type == parsed.packed_type;
}

std::optional<Tensor> unpack_form(const std::string& text, std::span<const std::byte> packed,
                                  ElementType element, const Dims& dims) {
  if (!holds_constant(text)) return std::nullopt;
  const Form form = parse(text);
  const size_t bytes = element_size(element);
  Tensor result(element, dims);
  if (element_count(Dims(form.sizes.begin(), form.sizes.end())) != result.size())
    throw bad_input("packed content of {} elements for a constant of {}", list_text(form.sizes),
                    dims_text(dims));
  if (result.size() == 0) return result;
  Places from = packed_places(form, static_cast<int64_t>(packed.size() / bytes)),
         to = source_places(form, result.size());
  drop_single(from);
  drop_single(to);
  if (bytes == 1) copy_as<uint8_t>(from, to, packed.data(), result.mutable_raw());
  if (bytes == 2) copy_as<uint16_t>(from, to, packed.data(), result.mutable_raw());
  if (bytes == 4) copy_as<uint32_t>(from, to, packed.data(), result.mutable_raw());
  if (bytes == 8) copy_as<uint64_t>(from, to, packed.data(), result.mutable_raw());
  return result;
}

}  // namespace vernier::cpu
