#include "vernier/data/formats/npz.h"

#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/npy_header.h"
#include "vernier/data/formats/zip.h"

namespace vernier {

namespace {

constexpr std::string_view kSuffix = ".npy";
static_assert(kZipPrefix >= kMaxNpyHeader, "the prefix of a member must hold its npy header");

std::string name_of(const ZipMember& member) {
  if (!member.name.ends_with(kSuffix))
    throw bad_input("the npz file holds '{}', which is no .npy file", member.name);
  return member.name.substr(0, member.name.size() - kSuffix.size());
}

uint64_t expected_npy_size(std::span<const std::byte> prefix) {
  return parse_npy_header(prefix).file_size();
}

}  // namespace

NamedData read_npz(std::span<const std::byte> bytes, const ElementTypes& wanted) {
  NamedData data;
  for (const ZipMember& member : list_zip(bytes)) {
    const std::string name = name_of(member);
    const auto hint = wanted.find(name);
    try {
      const std::string content = read_zip_member(member, expected_npy_size);
      data[name] = read_npy(std::as_bytes(std::span(content)),
                            hint == wanted.end() ? ElementType::kUndefined : hint->second);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("'{}': {}", name, error.message()));
    }
  }
  return data;
}

NamedData read_npz_file(const std::filesystem::path& path, const ElementTypes& wanted) {
  try {
    return read_mapped(path, [&](auto bytes) { return read_npz(bytes, wanted); });
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::vector<std::string> npz_names(const std::filesystem::path& path) {
  try {
    return read_mapped(path, [](auto bytes) {
      std::vector<std::string> names;
      for (const ZipMember& member : list_zip(bytes)) names.push_back(name_of(member));
      return names;
    });
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

std::string write_npz(const NamedData& data) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, datum] : data)
    members.emplace_back(name + std::string(kSuffix), write_npy(datum.as_tensor()));
  return write_zip(members);
}

}  // namespace vernier
