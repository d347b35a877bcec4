// Files that change under an engine: an error, neither a crash nor wrong answers.
#include <gmock/gmock.h>

#include "engine/small_engine.h"

namespace vernier {
namespace {

using testing::HasSubstr;

struct ChangedFile : EngineFileTest {
  std::shared_ptr<const Engine> engine = load_engine(saved()).engine;
  Session session{engine};
  const NamedData inputs = {{"x", noise({1, 16, 6, 6}, 7)}};

  std::string refusal_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_EQ(error.file(), path());
      return error.what();
    }
    return "";
  }
  void expect_refused(const char* text) {
    EXPECT_THAT(refusal_of([&] { session.run(inputs); }), HasSubstr(text));
    EXPECT_THAT(refusal_of([&] { Session other(engine); }), HasSubstr(text));
    EXPECT_THAT(refusal_of([&] { save_engine(*engine, path("copy"), {}); }), HasSubstr(text));
    EXPECT_FALSE(fs::exists(path("copy")));
  }
};

TEST_F(ChangedFile, CutOffBeforeTheFirstRun) {
  fs::resize_file(path(), 0);
  expect_refused("while it was in use");
}

TEST_F(ChangedFile, CutOffBetweenRuns) {
  session.run(inputs);
  fs::resize_file(path(), 300);
  expect_refused("while it was in use");
}

TEST_F(ChangedFile, OverwrittenInPlace) {
  session.run(inputs);
  std::string content = content_of(path());
  content.back() = static_cast<char>(content.back() ^ 1);
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary) << content;
  fs::last_write_time(path(), fs::last_write_time(path()) + std::chrono::seconds(1));
  expect_refused("was changed");
}

TEST_F(ChangedFile, ReplacedByAnother) {
  const auto before = session.run(inputs);
  save_engine(*small_engine(5), path(), {});
  EXPECT_TRUE(session.run(inputs).begin()->second.tensor.identical(before.begin()->second.tensor));
  EXPECT_NE(run(load_engine(path()).engine, 1), run(engine, 1));
  fs::remove(path());
  EXPECT_TRUE(Session(engine).run(inputs).begin()->second.tensor.identical(before.begin()->second.tensor));
}

// Weights of a model that lie in a file of their own.
TEST_F(ChangedFile, ConstantsThatAModelMaps) {
  const Tensor weights = noise({32, 16, 3, 3}, 3);
  {
    const auto bytes = weights.bytes();
    write_file(path("weights"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const auto file = MappedFile::open(path("weights"));
  Model model = small_model();
  for (const auto& value : model.graph->values()) {
    if (value->name == "w")
      value->constant = Tensor::borrow(ElementType::kFloat, weights.dims(), file->bytes().data(), file);
  }
  const auto built = compile(model, untuned());
  Session other(built);
  EXPECT_NO_THROW(other.run(inputs));
  fs::resize_file(path("weights"), 10);
  EXPECT_THROW(other.run(inputs), Error);
  EXPECT_THROW(Session{built}, Error);
  EXPECT_THROW(compile(model, untuned()), Error);
}

}  // namespace
}  // namespace vernier
