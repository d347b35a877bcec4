// Engine files: what is written comes back, and nothing else does.
#include "vernier/engine/file/engine_file.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "engine/small_engine.h"
#include "source_dir.h"
#include "vernier/compile/compiler.h"

namespace vernier {
namespace {

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
    Compiler compiler(small_model(), options);
    compiler.prepare(batch(2));
    const auto engine = compiler.engine();
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
      load_engine(path("other")).engine->prepared();
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

TEST_F(EngineFileTest, LoadingMakesNoPlan) {
  const auto built = small_engine(1, {1, 3});
  save_engine(*built, path(), {});
  const uint64_t before = Plan().id;
  const auto loaded = load_engine(path()).engine;
  EXPECT_EQ(Plan().id, before + 1);  // plans are numbered
  EXPECT_EQ(loaded->plans().largest_arena(), built->plans().largest_arena());
  run(loaded, 3);
  EXPECT_EQ(Plan().id, before + 3);  // the one that was needed
  EXPECT_EQ(loaded->prepared().size(), 2U);
  EXPECT_EQ(Plan().id, before + 5);  // and the other
}

// The plan that a run makes is checked as if it had been made before; after that, too.
TEST_F(EngineFileTest, ARunRefusesAPlanThatWasAnother) {
  saved();
  rewrite(path(), path("other"), [](Manifest& m) { m.plans[0].steps[0].kernel = "cpu:other"; });
  const auto loaded = load_engine(path("other")).engine;
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_THROW(run(loaded, 1), Error);
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

// Seeds of the fuzzer that are refused for their schema would seed nothing.
TEST_F(EngineFileTest, TheFuzzersManifestsAreOfThisSchema) {
  const fs::path corpus = test::source_dir() / "tests/fuzz/corpus/engine";
  EXPECT_FALSE(Manifest::parse(content_of(corpus / "manifest.json")).tuned.empty());
  EXPECT_FALSE(Manifest::parse(content_of(corpus / "devices.json")).devices.empty());
  EXPECT_FALSE(read_manifest(corpus / "small.engine").plans.empty());
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
