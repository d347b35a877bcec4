#include "vernier/data/formats/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/damage.h"
#include "vernier/data/formats/npy_parts.h"

namespace vernier {
namespace {

Tensor read(const std::string& bytes, ElementType wanted = ElementType::kUndefined) {
  return read_npy(std::as_bytes(std::span(bytes)), wanted);
}

// A file by hand: header dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file += {version, '\0', static_cast<char>(dictionary.size()), '\0'};
  if (version > 1) file += std::string(2, '\0');
  return file + dictionary + data;
}

TEST(Npy, RoundTripsEveryType) {
  for (int number = 1; number < kElementTypeCount; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (type == ElementType::kString || is_complex(type)) continue;
    const Tensor tensor = Tensor::from_doubles(type, {2, 3}, std::vector<double>{0.5, 1, 2, 0, 1, 1});
    EXPECT_TRUE(read(write_npy(tensor), type).identical(tensor)) << element_type_name(type);
  }
  const auto complex = Tensor::from<std::complex<float>>(ElementType::kComplex64, {2}, {{1, 2}, {-3, 0.5}});
  EXPECT_TRUE(read(write_npy(complex)).identical(complex));
  const auto scalar = Tensor::scalar(-7);
  EXPECT_TRUE(read(write_npy(scalar)).identical(scalar));
  const Tensor empty(ElementType::kFloat, {3, 0, 2});
  EXPECT_TRUE(read(write_npy(empty)).identical(empty));
}

TEST(Npy, RoundTripsStringsOfAnyAlphabet) {
  const auto texts = Tensor::from<std::string>(ElementType::kString, {4}, {"", "abc", "żółć", "日本𝄞"});
  EXPECT_TRUE(read(write_npy(texts)).identical(texts));
  const auto bytes = Tensor::from<std::string>(ElementType::kString, {2}, {"\xff\xfe", "x"});
  EXPECT_TRUE(read(write_npy(bytes)).identical(bytes));
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  const std::string data("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
  const Tensor tensor = read(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  EXPECT_EQ(tensor.to_ints(), (std::vector<int64_t>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, ReadsEveryVersionAndKeyOrder) {
  for (const char version : {'\1', '\2', '\3'}) {
    const Tensor tensor = read(npy("{\"shape\":(2L,),'fortran_order':False,'descr':'|i1'}", "\1\2", version));
    EXPECT_EQ(tensor.to_ints(), (std::vector<int64_t>{1, 2}));
  }
}

TEST(Npy, VoidElementsNeedTheModelsType) {
  const std::string bfloat16 =
      write_npy(Tensor::from_doubles(ElementType::kBFloat16, {1}, std::vector<double>{1}));
  EXPECT_THROW(read(bfloat16), Error);
  EXPECT_THROW(read(bfloat16, ElementType::kFloat16), Error);
  EXPECT_THROW(read(bfloat16, ElementType::kFloat8E5M2), Error);
  EXPECT_EQ(read(bfloat16, ElementType::kBFloat16).to_doubles()[0], 1);
}

TEST(Npy, RefusesWhatIsNoPlainArray) {
  for (const char* dictionary :
       {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "{'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} 1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f16', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_THROW(read(npy(dictionary, std::string(4, '\0'))), Error) << dictionary;
  }
}

TEST(Npy, SurvivesDamage) {
  for (const Tensor& tensor :
       {Tensor::from_doubles(ElementType::kFloat, {2, 2}, std::vector<double>{1, 2, 3, 4}),
        Tensor::from<std::string>(ElementType::kString, {2}, {"ab", "c"})}) {
    const auto read_it = [](std::span<const std::byte> bytes) { read_npy(bytes); };
    const std::string file = write_npy(tensor);
    expect_prefixes_refused(file, read_it);
    EXPECT_THROW(read_copy(file + "x", read_it), Error);
    EXPECT_GT(flip_every_bit(file, read_it), 100u);
  }
}

}  // namespace
}  // namespace vernier
