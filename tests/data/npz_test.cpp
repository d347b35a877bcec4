#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/damage.h"
#include "vernier/data/formats/json_text.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/zip.h"

namespace vernier {
namespace {

NamedData read(const std::string& bytes) {
  return read_npz(std::as_bytes(std::span(bytes)));
}

// numpy.savez_compressed(x=full((4, 5), 7, float32), ids=arange(3)): deflated, with ZIP64 fields.
const std::string kCompressed = decode_base64(
    "UEsDBC0AAAAIAAAAIQBAINRP//////////"
    "8FABQAeC5ucHkBABAA0AAAAAAAAABMAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqKuo6Cell9U"
    "UpSYF59flJIKEndLzClOBYoXZyQWpAL5GiY6CqaaOgq1CmQDLgaGBw7UxABQSwMELQAAAAgAAAAhAPdAEur//////////"
    "wcAFABpZHMubnB5AQAQAJgA"
    "AAAAAAAATAAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2mhrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+"
    "RrGOpo6CrUKFAAuBihghNJM"
    "UBoAUEsBAi0DLQAAAAgAAAAhAEAg1E9MAAAA0AAAAAUAAAAAAAAAAAAAAIABAAAAAHgubnB5UEsBAi0DLQAAAAgAAAAhAPdAEupMAAAA"
    "mAAAAAcAAAAA"
    "AAAAAAAAAIABgwAAAGlkcy5ucHlQSwUGAAAAAAIAAgBoAAAACAEAAAAA");

NamedData two_tensors() {
  return {{"x", Tensor::from_doubles(ElementType::kFloat, {4, 5}, std::vector<double>(20, 7))},
          {"ids", Tensor::from<int64_t>(ElementType::kInt64, {3}, {0, 1, 2})}};
}

TEST(Npz, ReadsWhatNumPyCompressed) {
  const auto data = read(kCompressed), expected = two_tensors();
  ASSERT_EQ(data.size(), 2u);
  for (const auto& [name, datum] : expected)
    EXPECT_TRUE(data.at(name).tensor.identical(datum.tensor)) << name;
}

TEST(Npz, RoundTrips) {
  const auto expected = two_tensors();
  const auto data = read(write_npz(expected));
  ASSERT_EQ(data.size(), 2u);
  for (const auto& [name, datum] : expected)
    EXPECT_TRUE(data.at(name).tensor.identical(datum.tensor)) << name;
}

TEST(Npz, SurvivesDamage) {
  const auto read_it = [](std::span<const std::byte> bytes) { read_npz(bytes); };
  for (const std::string& file : {kCompressed, write_npz(two_tensors())}) {
    expect_prefixes_refused(file, read_it);
    // Times, attributes and unread copies of fields may change; contents, names and sizes may not.
    EXPECT_GT(flip_every_bit(file, read_it), file.size() * 8 / 2);
  }
}

TEST(Npz, AFlippedBitOfTheContentIsNoticed) {
  std::string file = write_npz(two_tensors());
  file[file.find("\x93NUMPY") + 130] ^= 1;
  EXPECT_THROW(read(file), Error);
}

// A member that declares more than its npy header accounts for is refused before it is inflated.
TEST(Npz, RefusesBombs) {
  std::string file = kCompressed;
  for (const size_t size_field : {file.find(std::string("\x4c\0\0\0\xd0\0\0\0", 8)) + 4}) {
    file.replace(size_field, 4, std::string("\xf0\xff\xff\x7f", 4));
  }
  try {
    read(file);
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("needs 208 bytes, but has 2147483632"), std::string::npos) << error.what();
  }
}

TEST(Npz, RefusesForeignMembers) {
  EXPECT_THROW(read(write_zip({{"readme.txt", "hello"}})), Error);
  const std::string tensor = write_npy(Tensor::scalar(1));
  EXPECT_THROW(read(write_zip({{"x.npy", tensor}, {"x.npy", tensor}})), Error);
  EXPECT_TRUE(read(write_zip({})).empty());
}

TEST(Base64, RoundTripsAndRefuses) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"})
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  for (const char* text : {"a", "ab", "abc", "a===", "====", "ab=c", "YR==", "a\nbc"})
    EXPECT_THROW(decode_base64(text), Error) << text;
}

}  // namespace
}  // namespace vernier
