// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear against the reference, bit for bit.
#include "cuda/reference_comparison.h"
#include "vernier/backends/cuda/pointwise/layouts.h"

namespace vernier::cuda {
namespace {

class QuantizationTest : public testing::TestWithParam<Case> {};

TEST_P(QuantizationTest, QuantizedValuesAndNumbersAreThoseOfTheReference) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  Case each = GetParam();
  each.exact = true;
  expect_reference(each, gpu, Context(gpu.driver, 0));
}

// "const %s = f32[2] hex…" of these numbers.
std::string constant(const std::string& name, const std::vector<float>& values, const std::string& dims) {
  std::string text = "const %" + name + " = f32[" + dims + "] hex\"";
  for (const float value : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const unsigned shift : {0U, 8U, 16U, 24U}) text += fmt::format("{:02x}", bits >> shift & 0xffU);
  }
  return text + "\"\n";
}

std::string numbers(const std::string& name, const std::vector<float>& values) {
  return constant(name, values, std::to_string(values.size()));
}

// Ties, numbers beyond every range, and what is no number.
const std::string kHard =
    numbers("x", {0.5F,      1.5F,     -0.5F,  -2.5F,        0.0F,          -0.0F,         3.25F,
                  1e-30F,    464.0F,   465.0F, 1e30F,        -1e30F,        NAN,           INFINITY,
                  -INFINITY, 61440.0F, 248.0F, 0.001953125F, 0.0009765625F, -0.0048828125F});
const std::string kOne = constant("s", {1}, ""), kSmall = constant("s", {0.015625F}, "");

bool lies_channels_last(KernelRequest& request) {
  request.inputs[0]->layout = Layout::kChannelsLast;
  lay_out_pointwise(request);
  return request.out().layout == Layout::kChannelsLast;
}

const std::string kQ = " = QuantizeLinear(%x, %s", kD = " = DequantizeLinear(%x, %s";

std::vector<Case> codes_of_hard_numbers() {
  std::vector<Case> cases;
  for (const char* type : {"i8", "u8", "i16", "u16", "i4", "u4", "i2", "u2", "f8e4m3fn", "f8e5m2",
                           "f8e4m3fnuz", "f8e5m2fnuz", "f4e2m1"}) {
    const std::string y = "%y: " + std::string(type) + "[20]" + kQ, z = "%z: " + std::string(type) + "[]";
    cases.push_back({z, y + ", %z)", kHard + kOne});
    cases.push_back({z, y + ", %z) {saturate=0}", kHard + kSmall});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(HardNumbers, QuantizationTest, testing::ValuesIn(codes_of_hard_numbers()));

INSTANTIATE_TEST_SUITE_P(
    Values, QuantizationTest,
    testing::Values(Case{"%x: f32[3,35], %s: f32[], %z: i8[]", "%y: i8[3,35]" + kQ + ", %z)"},
                    Case{"%x: f32[3,35]", "%y: u8[3,35]" + kQ + ")", kSmall},
                    Case{"%x: f32[3,5,7], %s: f32[5], %z: u8[5]", "%y: u8[3,5,7]" + kQ + ", %z) {axis=1}"},
                    Case{"%x: f16[3,5,7], %s: f16[7], %z: i16[7]", "%y: i16[3,5,7]" + kQ + ", %z) {axis=-1}"},
                    Case{"%x: f32[2,7,3], %s: f32[2,3,3], %z: i8[2,3,3]",
                         "%y: i8[2,7,3]" + kQ + ", %z) {axis=1, block_size=3}"},
                    Case{"%x: bf16[6,4], %s: bf16[3,4]",
                         "%y: i4[6,4]" + kQ + ") {axis=0, block_size=2, output_dtype=22}"},
                    Case{"%x: f16[4,9], %s: f32[4,3], %z: u4[4,3]",
                         "%y: u4[4,9]" + kQ + ", %z) {axis=1, block_size=4}"},
                    Case{"%x: f16[33], %s: f32[]", "%y: i8[33]" + kQ + ") {precision=10, output_dtype=3}"},
                    Case{"%x: f32[33], %s: f32[]", "%y: i8[33]" + kQ + ") {precision=16, output_dtype=3}"},
                    Case{"%x: i32[33], %s: f32[], %z: i32[]", "%y: f32[33]" + kD + ", %z)"},
                    Case{"%x: f32[2,5,3,4], %s: f32[5], %z: f8e5m2[5]",
                         "%y: f8e5m2[2,5,3,4]" + kQ + ", %z) {axis=1}",
                         "",
                         {},
                         {},
                         "",
                         lies_channels_last},
                    Case{"%x: f32[2,4,3,4], %s: f32[2,2,3,4]",
                         "%y: u8[2,4,3,4]" + kQ + ") {axis=1, block_size=2}",
                         "",
                         {},
                         {},
                         "",
                         lies_channels_last}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, QuantizationTest,
    testing::Values(
        Case{"%x: i8[3,35], %s: f32[], %z: i8[]", "%y: f32[3,35]" + kD + ", %z)"},
        Case{"%x: u8[3,5,7], %s: f16[5], %z: u8[5]", "%y: f16[3,5,7]" + kD + ", %z) {axis=1}"},
        Case{"%x: i16[2,5], %s: bf16[], %z: i16[]", "%y: bf16[2,5]" + kD + ", %z)"},
        Case{"%x: i4[6,8], %s: f16[2,8], %z: i4[2,8]", "%y: f16[6,8]" + kD + ", %z) {axis=0, block_size=4}"},
        Case{"%x: u2[6,8], %s: f32[], %z: u2[]", "%y: f32[6,8]" + kD + ", %z)"},
        Case{"%x: f8e4m3fn[6,8], %s: f32[8]", "%y: f32[6,8]" + kD + ") {axis=1}"},
        Case{"%x: f8e5m2fnuz[48], %s: f16[]", "%y: f16[48]" + kD + ")"},
        Case{"%x: f4e2m1[2,64], %s: f8e8m0[2,2]", "%y: f32[2,64]" + kD + ") {axis=1, block_size=32}"},
        Case{"%x: i8[48], %s: f16[]", "%y: f32[48]" + kD + ") {output_dtype=1}"}));

const std::string kAffine = numbers("xs", {0.11F}) + "const %xz = u8[] hex\"64\"\n" + numbers("ys", {0.04F}) +
                            "const %yz = u8[] hex\"03\"\n";

// Operators of values that are tables; every value comes.
std::vector<int64_t> every_value() {
  std::vector<int64_t> values(261);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 256);
  return values;
}

INSTANTIATE_TEST_SUITE_P(
    Tables, QuantizationTest,
    testing::Values(
        Case{"%x: u8[261]",
             "%y: u8[261] = com.microsoft::QLinearSigmoid(%x, %xs, %xz, %ys, %yz)",
             kAffine,
             {{0, every_value()}}},
        Case{"%x: u8[261]",
             "%y: u8[261] = com.microsoft::QLinearLeakyRelu(%x, %xs, %xz, %ys, %yz) {alpha = float 0.1}",
             kAffine,
             {{0, every_value()}}}));

const std::string kDynamic = "%y: u8[DIMS], %s: f32[], %z: u8[] = DynamicQuantizeLinear(%x)";
std::string dynamic(const std::string& dims) {
  std::string line = kDynamic;
  return line.replace(line.find("DIMS"), 4, dims);
}

INSTANTIATE_TEST_SUITE_P(Dynamic, QuantizationTest,
                         testing::Values(Case{"%x: f32[3,35]", dynamic("3,35")},
                                         Case{"%x: f32[9001]", dynamic("9001")},
                                         Case{"", dynamic("20"), kHard},
                                         Case{"", dynamic("3"), numbers("x", {0, 0, 0})},
                                         Case{"", dynamic("3"), numbers("x", {2, 3, 4})},
                                         Case{"", dynamic("3"), numbers("x", {-2, NAN, -4})}));

// A chain that begins or ends with values of a whole tensor is one program.
TEST(QuantizationGroupTest, ScalesOfWholeTensorsArePartOfPointwiseChains) {
  const Model model = nodes("%x: i8[2,9], %b: f32[9]",
                            {"%a: f32[2,9] = DequantizeLinear(%x, %s)", "%c: f32[2,9] = Add(%a, %b)",
                             "%y: i8[2,9] = QuantizeLinear(%c, %s, %z)"},
                            kSmall + "const %z = i8[] hex\"03\"\n");
  for (const auto& node : model.graph->nodes()) EXPECT_TRUE(is_pointwise(*node)) << node->op;
}

}  // namespace
}  // namespace vernier::cuda
