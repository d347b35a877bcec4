#include "vernier/backends/cpu/onednn/packed_form.h"

#include <dnnl_debug.h>

#include <charconv>
#include <cstring>

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

namespace {

constexpr std::string_view kPrefix = "onednn";

struct Blocked {
  dnnl::memory::dims strides, inner_sizes, inner_axes;
  bool known = false;     // whether oneDNN tells how the elements lie
  bool elements = false;  // and nothing else is kept with them
};

#if DNNL_VERSION_MAJOR >= 3
Blocked blocks_of(const dnnl::memory::desc& md) {
  if (md.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  return {md.get_strides(), md.get_inner_blks(), md.get_inner_idxs(), true, true};
}
dnnl::memory::dims padded_of(const dnnl::memory::desc& md) {
  return md.get_padded_dims();
}
#else
Blocked blocks_of(const dnnl::memory::desc& md) {
  if (md.data.format_kind != dnnl_blocked) return {};
  const auto& from = md.data.format_desc.blocking;
  const auto list = [](const dnnl_dim_t* first, int count) {
    return dnnl::memory::dims(first, first + count);
  };
  return {list(from.strides, md.data.ndims), list(from.inner_blks, from.inner_nblks),
          list(from.inner_idxs, from.inner_nblks), true, md.data.extra.flags == 0};
}
dnnl::memory::dims padded_of(const dnnl::memory::desc& md) {
  return {md.data.padded_dims, md.data.padded_dims + md.data.ndims};
}
#endif

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

// Where an element lies, in elements.
int64_t packed_offset(const Form& form, dnnl::memory::dims index) {
  int64_t offset = 0, stride = 1;
  for (size_t i = form.inner_sizes.size(); i-- > 0;) {
    auto& position = index[static_cast<size_t>(form.inner_axes[i])];
    offset += position % form.inner_sizes[i] * stride;
    position /= form.inner_sizes[i];
    stride *= form.inner_sizes[i];
  }
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * form.strides[i];
  return offset;
}

}  // namespace

std::string packed_form(const dnnl::memory::desc& as_is, const dnnl::memory::desc& packed) {
  const Blocked from = blocks_of(as_is), to = blocks_of(packed);
  const auto type = [](const dnnl::memory::desc& md) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_dt2str(static_cast<dnnl_data_type_t>(md.get_data_type()));
#else
    return dnnl_dt2str(static_cast<dnnl_data_type_t>(md.data_type()));
#endif
  };
  const char* content = !to.known ? "opaque" : to.elements ? "elements" : "more";
  return fmt::format("{} {} {} {} {} {} {} {} {} {}:{}", kPrefix, type(as_is), type(packed),
                     list_text(dims_of(as_is)), list_text(from.strides), list_text(padded_of(packed)),
                     list_text(to.strides), list_text(to.inner_sizes), list_text(to.inner_axes), content,
                     packed.get_size());
}

std::optional<Tensor> unpack_form(const std::string& text, std::span<const std::byte> packed,
                                  ElementType element, const Dims& dims) {
  // Made of the constant, not its elements; or oneDNN keeps the place of the elements to itself.
  if (!text.starts_with(kPrefix) || text.find(" opaque:") != std::string::npos) return std::nullopt;
  const Form form = parse(text);
  // What oneDNN keeps beside the elements (sums for zero points) lies behind them.
  if (form.source_type != form.packed_type) return std::nullopt;
  const size_t bytes = element_size(element);
  Tensor result(element, dims);
  if (element_count(Dims(form.sizes.begin(), form.sizes.end())) != result.size())
    throw bad_input("packed content of {} elements for a constant of {}", list_text(form.sizes),
                    dims_text(dims));
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  const auto limit = static_cast<int64_t>(packed.size() / bytes);
  dnnl::memory::dims index(form.sizes.size(), 0);
  for (int64_t count = result.size(); count > 0; --count) {
    const int64_t from = packed_offset(form, index);
    int64_t target = 0;
    for (size_t i = 0; i < index.size(); ++i) target += index[i] * form.source_strides[i];
    if (from < 0 || from >= limit || target < 0 || target >= result.size())
      throw bad_input("the form '{}' reaches beyond its content", text);
    std::memcpy(to + static_cast<size_t>(target) * bytes, packed.data() + static_cast<size_t>(from) * bytes,
                bytes);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < form.sizes[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace vernier::cpu
