#include "vernier/data/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "every_type.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

SafetensorsFile in_memory(const std::string& content) {
  const auto owner = std::make_shared<const std::string>(content);
  return {std::as_bytes(std::span(*owner)), owner};
}

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

TEST(Safetensors, KeepsEveryType) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "all.safetensors";
  const auto values = values_of_every_type();
  write_safetensors(path, values, {{"author", "nobody"}});
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file.names().size(), values.size());
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"author", "nobody"}}));
  for (const auto& [name, datum] : values) EXPECT_TRUE(same(file.read(name), datum)) << name;
  EXPECT_THROW(file.read("absent"), Error);
}

TEST(Safetensors, ReadsTensorsInPlace) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path,
                    {{"a", tensor_of_type(ElementType::kInt8)}, {"b", tensor_of_type(ElementType::kDouble)}});
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file.read("b").tensor.raw(), file.read("b").tensor.raw());
}

TEST(Safetensors, CopiesWhatIsNotAligned) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const float value = 2.5F;
  std::string data(5, '\0');
  std::memcpy(data.data() + 1, &value, sizeof value);
  EXPECT_EQ(in_memory(file_of(header, data)).read("b").tensor.values<float>()[0], value);
}

TEST(Safetensors, TakesAnyByteAsBool) {
  const std::string header = R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  const Tensor tensor = in_memory(file_of(header, std::string("\x02\x00", 2))).read("a").tensor;
  EXPECT_TRUE(tensor.identical(Tensor::from_ints(ElementType::kBool, {2}, std::vector<int64_t>{1, 0})));
}

struct Damage {
  std::string content;
  const char* message;
};

void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.message;
}

Damage header_damage(const std::string& header, size_t data_bytes, const char* message) {
  return {file_of(header, std::string(data_bytes, '\0')), message};
}

class DamagedSafetensors : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSafetensors, IsRefused) {
  try {
    in_memory(GetParam().content).read_all();
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Header, DamagedSafetensors,
    testing::Values(
        Damage{"", "0 bytes are too short"},
        Damage{std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "does not fit"},
        Damage{std::string("\x05\0\0\0\0\0\0\0{}", 10), "a header of 5 bytes does not fit"},
        header_damage("{", 0, "is not JSON"), header_damage("[]", 0, "no JSON object"),
        header_damage(std::string(1000, '['), 0, "nests deeper"),
        header_damage("{\"\xff\":1}", 0, "is not JSON"),
        header_damage(R"({"a":1})", 0, "tensor 'a' has number"),
        header_damage(R"({"a":{"shape":[],"data_offsets":[0,0]}})", 0, "lacks the field 'dtype'"),
        header_damage(R"({"a":{"dtype":"F31","shape":[],"data_offsets":[0,0]}})", 0, "unknown dtype 'F31'"),
        header_damage(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", 0,
                      "a shape needs an integer"),
        header_damage(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1,
                      "a shape needs an integer"),
        header_damage(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                      "too many elements"),
        header_damage(R"({"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
                      "too many"),
        header_damage(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", 8,
                      "but the file holds 8 bytes"),
        header_damage(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "data_offsets [1, 0]"),
        header_damage(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1,
                      "1 data_offsets instead of 2"),
        header_damage(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                      "takes 8 bytes, but has 4"),
        header_damage(
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
            3, "overlap"),
        header_damage(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "belong to no tensor"),
        header_damage(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2,
                      "1 bytes behind the last"),
        header_damage(
            R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
            0, "names 'a' twice"),
        header_damage(R"({"__metadata__":{"a":1}})", 0, "no string"),
        header_damage(R"({"__metadata__":"a"})", 0, "__metadata__")));

// A file with the tensor a (2 bytes) and a description.
Damage description_damage(const std::string& description, const char* message) {
  std::string escaped;
  for (const char c : description) escaped += c == '"' ? "\\\"" : std::string(1, c);
  const std::string metadata = R"("__metadata__":{"onnx.values":")" + escaped + R"("})";
  return {file_of("{" + metadata + R"(,"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "{}"),
          message};
}

INSTANTIATE_TEST_SUITE_P(
    Description, DamagedSafetensors,
    testing::Values(
        description_damage("[", "is not JSON"), description_damage("[]", "no JSON object"),
        description_damage(R"({"a":1})", "'type' is needed"),
        description_damage(R"({"a":{"type":"INT5","shape":[1]}})", "unknown type 'INT5'"),
        description_damage(R"({"a":{"type":"INT4","shape":[5]}})", "needs 3 bytes, but has 2"),
        description_damage(R"({"a":{"type":"STRING","shape":[1]}})", "holds no list of 1 strings"),
        description_damage(R"({"a":{"none":true}})", "different kinds"),
        description_damage(R"({"b":{"type":"INT4","shape":[4]}})", "different kinds"),
        description_damage(R"({"b":{"sequence":["c"]}})", "lacks 'c'"),
        description_damage(R"({"b":{"sequence":[1]}})", "no name"),
        description_damage(R"({"b":{"sequence":["a","a"]}})", "twice"),
        description_damage(R"({"b":{"sequence":["b"]}})", "contains itself"),
        description_damage(R"({"b":{"sequence":["c"]},"c":{"sequence":["b"]}})", "contains itself")));

TEST(Safetensors, SurvivesEveryCutAndEveryFlippedByte) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "all.safetensors";
  write_safetensors(path, values_of_every_type());
  const std::string whole = read_file(path);
  for (size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_THROW(in_memory(whole.substr(0, length)).read_all(), Error) << length;
  }
  for (size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    try {
      in_memory(damaged).read_all();
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace vernier
