// Engine files: what is written comes back, and nothing else does.
#include "vernier/engine/engine_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "passes/rewriting.h"
#include "vernier/backends/cpu/onednn/split_bf16.h"
#include "vernier/base/hash.h"
#include "vernier/engine/engine_io.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

Tensor noise(Dims dims, unsigned seed) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    values[i] = static_cast<double>(seed >> 8) / (1 << 24) - 0.5;
  }
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

// A convolution whose weights are large enough to be kept packed only, a view, and a product; sizes fixed but
// for the batch.
Model small_model(unsigned seed = 1) {
  Model model = parse_graph(R"(graph "g" (%x: f32[N, 16, 6, 6]) -> (%y) {
    const %bias = f32[4] hex"0000803f000000400000404000008040"
    %c: f32[*] = Relu(%x) version 14 @"r" from ["r"]
    %y: f32[*] = Identity(%c) version 14 @"i" from ["i"]
  })");
  Graph& graph = *model.graph;
  const auto node = [&](const char* op, int64_t version, std::vector<Value*> inputs, const char* output) {
    auto made = std::make_unique<Node>();
    made->op = op;
    made->version = version;
    made->name = std::string("node_") + output;
    made->provenance = {made->name};
    made->inputs = std::move(inputs);
    made->outputs = {graph.add_value(output)};
    return graph.add_node(std::move(made));
  };
  Value* relu = graph.nodes()[0]->output(0);
  Value* weights = graph.add_constant("w", noise({32, 16, 3, 3}, seed));
  Node* conv = node("Conv", 11, {relu, weights}, "conv");
  Node* pool = node("GlobalAveragePool", 1, {conv->output(0)}, "pool");
  Node* flat = node("Flatten", 13, {pool->output(0)}, "flat");
  Node* product =
      node("MatMul", 13, {flat->output(0), graph.add_constant("m", noise({32, 4}, seed + 1))}, "product");
  Node* sum = node("Add", 14, {product->output(0), graph.values()[1].get()}, "sum");
  for (const auto& value : graph.values()) {
    if (value->name == "bias") sum->inputs[1] = value.get();
  }
  graph.outputs = {sum->output(0)};
  return model;
}

std::vector<ValueType> batch(int64_t size) {
  return {ValueType::of(ElementType::kFloat, to_shape(Dims{size, 16, 6, 6}))};
}

// What is timed may come out either way; these tests need the same engine each time.
BuildOptions untuned() {
  BuildOptions options;
  options.tune.level = 0;
  return options;
}

std::shared_ptr<Engine> small_engine(unsigned seed = 1, std::vector<int64_t> batches = {1}) {
  auto engine = Engine::build(small_model(seed), untuned());
  for (const int64_t size : batches) engine->prepare(batch(size));
  return engine;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string run(const std::shared_ptr<Engine>& engine, int64_t size) {
  Session session(engine);
  const auto outputs = session.run({{"x", noise({size, 16, 6, 6}, 7)}});
  const auto bytes = outputs.begin()->second.as_tensor().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class EngineFileTest : public testing::Test {
 protected:
  fs::path path(const char* name = "small.engine") const { return folder_.path() / name; }
  fs::path saved(SaveOptions options = {}) {
    save_engine(*small_engine(), path(), options);
    return path();
  }
  void write(const std::string& content) { std::ofstream(path("other"), std::ios::binary) << content; }
  // What opening these bytes says.
  std::string refusal(const std::string& content) {
    try {
      EngineFile::read(std::as_bytes(std::span(content)), nullptr);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(EngineFileTest, ALoadedEngineGivesTheBitsOfTheBuiltOne) {
  const auto built = small_engine(1, {1, 3});
  save_engine(*built, path(), {});
  const auto loaded = load_engine(path()).engine;
  EXPECT_EQ(loaded->prepared().size(), 2U);
  // Sizes of the file, and others, for which packed weights are unpacked again.
  for (const int64_t size : {1, 3, 2}) EXPECT_EQ(run(loaded, size), run(built, size)) << size;
}

TEST_F(EngineFileTest, LoadingReadsNoConstantThatIsPackedOnly) {
  const auto loaded = load_engine(saved());
  bool packed_only = false;
  for (const auto& constant : loaded.manifest.constants) {
    packed_only = packed_only || !constant.plain;
    EXPECT_TRUE(constant.plain || !constant.forms.empty()) << constant.name;
  }
  EXPECT_TRUE(packed_only);
  const auto& plan = *loaded.engine->prepared()[0].plan;
  for (const Slot& slot : plan.slots) EXPECT_FALSE(slot.constant.is_deferred());
}

TEST_F(EngineFileTest, FormsThatDoNotHoldTheirConstantAreMadeAgain) {
  struct {
    const char *tactic, *kernel;
    Layout images;
    bool applies;
  } const cases[] = {
      {cpu::kSplitTactic, "bf16x3", Layout::kChannelsLast, cpu::has_bf16_tiles()},
      {"winograd", "wino", Layout::kBlocked16, __builtin_cpu_supports("avx512f") != 0},
  };
  for (const auto& each : cases) {
    if (!each.applies) continue;
    const auto built = Engine::build(small_model(), untuned());
    const PlanChoices choices{each.images, {{"conv", each.tactic}}};
    built->prepare(batch(2), &choices);
    const auto& steps = built->prepared()[0].plan->steps;
    EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      return step.kernel && step.kernel->name.find(each.kernel) != std::string::npos;
    })) << each.kernel;
    const auto expected = run(built, 2);  // all forms are made
    save_engine(*built, path(), {});
    const auto loaded = load_engine(path());
    for (const auto& constant : loaded.manifest.constants) {
      EXPECT_TRUE(constant.plain) << constant.name;
      EXPECT_TRUE(constant.forms.empty()) << constant.name;
    }
    EXPECT_EQ(run(loaded.engine, 2), expected) << each.tactic;
  }
}

TEST_F(EngineFileTest, DamageToConstantsIsNoticedBeforeAnEngineIsGiven) {
  std::string content = content_of(saved());
  content.back() = static_cast<char>(content.back() ^ 1);
  write(content);
  try {
    load_engine(path("other"));
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("does not match its hash"), std::string::npos) << error.what();
  }
}

TEST_F(EngineFileTest, TheSameBuildGivesTheSameBytes) {
  save_engine(*small_engine(), path("a"), {});
  save_engine(*small_engine(), path("b"), {});
  EXPECT_EQ(content_of(path("a")), content_of(path("b")));
}

TEST_F(EngineFileTest, TheSameTimingsGiveTheSameBytes) {
  BuildOptions options;
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  for (const char* name : {"a", "b", "c"}) {
    const auto engine = Engine::build(small_model(), options);
    engine->prepare(batch(2));
    save_engine(*engine, path(name), {});
    EXPECT_EQ(run(load_engine(path(name)).engine, 2), run(engine, 2));
  }
  EXPECT_EQ(content_of(path("a")), content_of(path("b")));
  EXPECT_EQ(content_of(path("a")), content_of(path("c")));
}

TEST_F(EngineFileTest, AnyBitThatIsFlippedIsNoticed) {
  std::string content = content_of(saved());
  for (size_t bit = 0; bit < content.size() * 8; ++bit) {
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << bit % 8));
    ASSERT_NE(refusal(content), "") << "bit " << bit;
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << bit % 8));
    if (bit > 60000) bit += 1000;  // all of header, table and manifest; a sample of the weights
  }
  EXPECT_EQ(refusal(content), "");
}

TEST_F(EngineFileTest, AnyLengthButItsOwnIsNoticed) {
  const std::string content = content_of(saved());
  const auto file = EngineFile::open(path());
  std::vector<size_t> lengths{0, 1, 7, 8, 63, 64, 65, content.size() - 1};
  const auto* begin = static_cast<const std::byte*>(file.sections()[0].bytes.data());
  for (const Section& section : file.sections()) {
    const auto at = 256 + static_cast<size_t>(section.bytes.data() - begin);
    for (const size_t length : {at - 1, at, at + section.bytes.size() / 2}) lengths.push_back(length);
  }
  for (const size_t length : lengths) {
    if (length < content.size()) {
      EXPECT_NE(refusal(content.substr(0, length)), "") << length;
    }
  }
  EXPECT_NE(refusal(content + '\0'), "");
  EXPECT_NE(refusal(content + content), "");
}

TEST_F(EngineFileTest, WhatIsNoEngineSaysSo) {
  EXPECT_NE(refusal("").find("no engine file"), std::string::npos);
  EXPECT_NE(refusal("\x08\x09onnx").find("no engine file"), std::string::npos);
  write("PK");
  EXPECT_FALSE(is_engine_file(path("other")));
  EXPECT_FALSE(is_engine_file(path("missing")));
  EXPECT_TRUE(is_engine_file(saved()));
}

// The file with its manifest changed, and its hashes right.
void rewrite(const fs::path& from, const fs::path& to,
             const std::function<void(Manifest& manifest)>& change) {
  const auto file = EngineFile::open(from);
  Manifest manifest = Manifest::parse(file.text(SectionKind::kManifest));
  change(manifest);
  const std::string json = manifest.json();
  auto sections = file.sections();
  sections[0].bytes = std::as_bytes(std::span(json));
  write_engine_file(to, sections);
}

TEST_F(EngineFileTest, AnotherPlaceIsRefusedWithWhatDiffers) {
  saved();
  const auto refused = [&](const std::function<void(Manifest & manifest)>& change) -> std::string {
    rewrite(path(), path("other"), change);
    try {
      load_engine(path("other"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_EQ(error.file(), path("other"));
      return error.what();
    }
    return "loaded";
  };
  EXPECT_NE(refused([](Manifest& m) { m.fingerprint.cpu = "z80"; }).find("processor 'z80'"),
            std::string::npos);
  EXPECT_NE(refused([](Manifest& m) { m.fingerprint.libraries = "oneDNN 1.0.0"; }).find("oneDNN 1.0.0"),
            std::string::npos);
  EXPECT_NE(refused([](Manifest& m) { m.fingerprint.vernier = "0.0.1"; }).find("0.0.1"), std::string::npos);
  EXPECT_NE(refused([](Manifest& m) { m.plans[0].steps[0].kernel = "cpu:other"; }).find("cpu:other"),
            std::string::npos);
  EXPECT_NE(refused([](Manifest& m) { m.plans[0].steps.pop_back(); }).find("steps"), std::string::npos);
}

TEST_F(EngineFileTest, ConstantsThatDoNotFitAreRefused) {
  saved();
  const auto change = [&](const std::function<void(Manifest & manifest)>& change) {
    rewrite(path(), path("other"), change);
    EXPECT_THROW(load_engine(path("other")), Error);
  };
  change([](Manifest& m) { m.constants.pop_back(); });
  change([](Manifest& m) { m.constants[0].type = "f32[1]"; });
  change([](Manifest& m) { m.constants[0].name = "x"; });
  change([](Manifest& m) { m.plans[0].images = "sideways"; });
}

TEST_F(EngineFileTest, StrippedFilesTakeTheWeightsOfAModel) {
  SaveOptions options;
  options.strip_weights = true;
  save_engine(*small_engine(), path("full"), {});
  saved(options);
  EXPECT_LT(fs::file_size(path()) + 16000, fs::file_size(path("full")));
  EXPECT_THROW(load_engine(path()), Error);
  const auto refitted = refit_engine(path(), small_model(1), {});
  save_engine(*refitted, path("again"), {});
  EXPECT_EQ(content_of(path("again")), content_of(path("full")));
  // Other weights of the same structure.
  EXPECT_EQ(run(refit_engine(path(), small_model(5), {}), 1), run(small_engine(5), 1));
  EXPECT_THROW(refit_engine(path(), parse_graph(R"(graph "g" (%x: f32[1, 16, 6, 6]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"e" from ["e"]
  })"),
                            {}),
               Error);
}

// Limits what a file may grow to, in a child process: as a full disk, or as a death while writing.
int save_limited(const fs::path& path, bool dies) {
  const auto engine = small_engine(9);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, dies ? SIG_DFL : SIG_IGN);
    const rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      save_engine(*engine, path, {});
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("cannot write") != std::string::npos ? 42 : 43);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(EngineFileTest, AWriteThatFailsLeavesTheOldFile) {
  const std::string before = content_of(saved());
  EXPECT_EQ(save_limited(path(), false), 42);
  EXPECT_EQ(content_of(path()), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
  EXPECT_EQ(save_limited(path(), true), -1);
  EXPECT_EQ(content_of(path()), before);
}

}  // namespace
}  // namespace vernier
