#include "vernier/page/page.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <random>

#include "vernier/ir/text.h"
#include "vernier/page/overlays.h"
#include "vernier/page/packing.h"
#include "vernier/page/page_template.h"
#include "vernier/page/sentences.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string unpacked(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  std::string text(64 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

std::string decoded(std::string_view text) {
  std::string bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char each : text) {
    if (each == '=') break;
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    group = group << 6 | static_cast<uint32_t>(digits.find(each));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255U);
  }
  return bytes;
}

Json payload_of(const std::string& html) {
  const std::string opening = R"(id="payload">)";
  const size_t begin = html.find(opening) + opening.size();
  return Json::parse(unpacked(decoded(std::string_view(html).substr(begin, html.find('<', begin) - begin))));
}

Json tensor(const std::string& name, bool output, const char* verdict) {
  return {{"value", name},
          {"output", output},
          {"verdict", verdict},
          {"reasons", {"because"}},
          {"metrics",
           {{"elements", 8},
            {"mismatching", 0},
            {"relative_l2", 1e-3},
            {"rmse", 2},
            {"histogram", {{"exact", 1}}}}},
          {"worst", {{"sample", 1}}}};
}

class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (page_template().empty()) GTEST_SKIP() << "this build has no page";
  }

  PageContent content_{
      .command = "vernier run 'a b'",
      .verdict = "fail",
      .sentence = "</script><b>\xff",
      .report =
          R"({"schema": "vernier-report", "samples": ["one"], "pi": 3.14159265358979, "comparisons": []})"};
};

TEST(Packing, IsWhatReadersOfGzipAndBase64Expect) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
  for (const std::string& text : {std::string(), std::string("a"), std::string(3 << 20, 'x')}) {
    EXPECT_EQ(unpacked(gzip(text)), text);
    EXPECT_EQ(decoded(base64(gzip(text))), gzip(text));
  }
}

TEST_F(Page, CarriesTheReportAsItIs) {
  const std::string html = page_html(content_);
  const Json payload = payload_of(html);
  EXPECT_EQ(payload["schema"], "vernier-page");
  EXPECT_EQ(payload["report"].dump(), Json::parse(content_.report).dump());
  EXPECT_EQ(payload["layers"], nullptr);
  EXPECT_EQ(payload["command"], "vernier run 'a b'");
  EXPECT_EQ(payload["sentence"], "</script><b>\xEF\xBF\xBD");
  EXPECT_TRUE(payload["dropped"].empty());
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST_F(Page, DropsWhatMattersLeastWhereItWouldBeTooLarge) {
  std::mt19937_64 random(7);
  auto& runs = content_.runs_ms["cpu"];
  for (int i = 0; i < 600'000; ++i) runs.push_back(std::uniform_real_distribution<>()(random));
  content_.graph = R"({"nodes": [{"name": "a", "attributes": {"b": "c"}}]})";
  const std::string html = page_html(content_);
  EXPECT_LE(html.size(), 5'000'000);
  const Json payload = payload_of(html);
  EXPECT_THAT(payload["dropped"], Contains("what was measured of single samples and runs"));
  EXPECT_EQ(payload["dropped"].size(), 1);
  EXPECT_TRUE(payload["runs_ms"].empty());
  EXPECT_EQ(payload["report"]["pi"], 3.14159265358979);
  EXPECT_TRUE(payload["graph"]["nodes"][0].contains("attributes"));
}

TEST_F(Page, DropsAttributesBehindHistogramsButNoFigureThatFails) {
  std::mt19937_64 random(7);
  Json nodes = Json::array();
  for (int i = 0; i < 40'000; ++i) {
    std::string text;
    for (int k = 0; k < 20; ++k) text += fmt::format("{:x}", random());
    nodes.push_back({{"name", std::to_string(i)}, {"attributes", {{"a", text}}}});
  }
  content_.graph = Json{{"nodes", nodes}}.dump();
  content_.report =
      Json{
          {"comparisons",
           {{{"tensors",
              {tensor("inner", false, "pass"), tensor("bad", false, "fail"), tensor("out", true, "pass")}}}}}}
          .dump();
  const std::string html = page_html(content_);
  EXPECT_LE(html.size(), 5'000'000);
  const Json payload = payload_of(html);
  EXPECT_EQ(payload["dropped"].size(), 3);
  EXPECT_EQ(payload["graph"]["nodes"][0], (Json{{"name", "0"}}));
  const Json& tensors = payload["report"]["comparisons"][0]["tensors"];
  EXPECT_FALSE(tensors[0]["metrics"].contains("histogram"));
  EXPECT_TRUE(tensors[1]["metrics"].contains("histogram"));
  EXPECT_TRUE(tensors[2]["metrics"].contains("histogram"));
  EXPECT_EQ(tensors[0]["metrics"]["rmse"], 2);
}

TEST_F(Page, IsRefusedWhereNothingMakesItSmallEnough) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 900'000; ++i) content_.sentence += fmt::format("{:x}", random());
  try {
    page_html(content_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("--json"));
  }
}

TEST(PageGraph, HasNodesOfBodiesAndWhatTheyAreComputedIn) {
  const Model model = parse_model(R"(model ir=8 opset "" 17 {
  graph "g" (%c: bool[], %x: f32[2]) -> (%y) {
    %h: f32[2] = Relu(%x) version 14 @"first" from ["first"]
    %y: f32[2] = If(%c) version 16 @"choice" from ["choice"] regions {
      then_branch =
      graph "t" () -> (%a) {
        %a: f32[2] = Neg(%h) version 13 @"minus" from ["minus"]
      }
      else_branch =
      graph "e" () -> (%b) {
        %b: f32[2] = Abs(%h) version 13 @"abs" from ["abs"]
      }
    }
  }
}
)");
  PageGraph from{.name = "m.onnx", .graph = model.graph.get()};
  from.steps.push_back({.kernel = "k", .reason = "", .nodes = {"first"}, .contract = "exact"});
  AuditRow row{.node = "first", .op = "Relu", .requested = {}, .executed = {}, .difference = ""};
  row.executed.kernel = "k";
  row.executed.store = ElementType::kBFloat16;
  from.audit.rows.push_back(row);
  from.plan.layers["minus"].compute = ElementType::kFloat16;
  const Json json = Json::parse(page_graph_json(from));
  EXPECT_EQ(json["nodes"].size(), 4);
  EXPECT_EQ(json["nodes"][0]["precision"]["store"], "bf16");
  EXPECT_EQ(json["nodes"][2]["region"], 0);
  EXPECT_EQ(json["nodes"][2]["precision"]["requested"], "f16");
  EXPECT_EQ(json["nodes"][3]["region"], 1);
  EXPECT_EQ(json["regions"],
            Json::parse(R"([{"owner": 1, "name": "then_branch"}, {"owner": 1, "name": "else_branch"}])"));
  EXPECT_EQ(json["steps"][0]["contract"], "exact");
  EXPECT_THAT(json["types"], Contains(Json({"h", "f32[2]"})));
}

BenchReport bench_report() {
  BenchReport report;
  report.model = "m.onnx";
  report.latency.p50 = 2;
  report.latency.p99 = 3;
  report.versus.push_back({.runner = "onnxruntime", .latency = {}, .ratio = 1.5, .low = 1.4, .high = 1.6});
  report.steps = {{"conv", {"a", "b"}, 3, 0}, {"", {"c"}, 0.5, 0.5}};
  return report;
}

TEST(Overlays, ShareTheTimeOfAStepOutAmongItsNodes) {
  const Json json = Json::parse(node_data_json(bench_report(), "g"));
  EXPECT_EQ(json["g"]["results"]["a"]["value"], 1.5);
  EXPECT_EQ(json["g"]["results"]["c"]["value"], 0.5);
  EXPECT_EQ(json["g"]["thresholds"].back()["value"], 1.5);
}

TEST(Overlays, PutStepsBehindEachOther) {
  const Json events = Json::parse(chrome_trace_json(bench_report()))["traceEvents"];
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0]["name"], "a + b");
  EXPECT_EQ(events[1]["ts"], 3000);
  EXPECT_EQ(events[1]["dur"], 500);
  EXPECT_EQ(events[1]["cat"], "reference");
}

TEST(Sentences, SayWhatIsWorst) {
  EXPECT_THAT(sentence_of(bench_report()),
              AllOf(HasSubstr("2 ms"), HasSubstr("1.50 times as fast as onnxruntime")));
  Report report;
  EXPECT_EQ(sentence_of(report), "Nothing was compared.");
  ComparisonResult good{}, bad{};
  good.reference = bad.reference = "reference";
  good.actual = "cpu";
  good.verdict = Verdict::kPass;
  bad.actual = "other";
  bad.verdict = Verdict::kFail;
  bad.tensors.resize(2);
  bad.tensors[0].value = "first";
  bad.tensors[0].nodes = {"conv"};
  bad.tensors[1].value = "y\n";
  bad.tensors[1].is_output = true;
  bad.tensors[1].verdict = Verdict::kFail;
  bad.first_difference = 0;
  report.comparisons = {good, bad};
  EXPECT_EQ(sentence_of(report),
            "other and reference differ: output 'y\\x0a'; the first value that differs is 'first', made by "
            "conv; cpu and reference agree.");
}

}  // namespace
}  // namespace vernier
