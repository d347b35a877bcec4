// The C interface: statuses instead of exceptions.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "api/models.h"
#include "vernier/element_type.h"
#include "vernier/vernier_c.h"

namespace vernier::test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct C : ::testing::Test {
  vernier_engine* engine = nullptr;
  vernier_session* session = nullptr;
  std::vector<float> x = {1, 2, 3, -1, 0.5, 4};
  const int64_t dims[2] = {2, 3};

  void SetUp() override {
    ASSERT_EQ(vernier_engine_build(dense_model().path().c_str(), &engine), VERNIER_OK)
        << vernier_last_error();
    ASSERT_EQ(vernier_session_create(engine, 1, &session), VERNIER_OK) << vernier_last_error();
  }
  void TearDown() override {
    vernier_session_release(session);
    vernier_engine_release(engine);
  }
  void bind() {
    ASSERT_EQ(vernier_session_bind_input(session, "x", VERNIER_FLOAT, dims, 2, x.data()), VERNIER_OK);
  }
  void expect_right_bits() {
    vernier_tensor y;
    ASSERT_EQ(vernier_session_output(session, "y", &y), VERNIER_OK) << vernier_last_error();
    ASSERT_EQ(y.type, VERNIER_FLOAT);
    ASSERT_EQ(y.rank, 2U);
    const auto* values = static_cast<const float*>(y.data);
    EXPECT_THAT(std::vector<float>(values, values + y.dims[0] * y.dims[1]),
                ElementsAreArray(dense_result(x)));
  }
};

TEST_F(C, TellsWhatTheModelTakes) {
  ASSERT_EQ(vernier_engine_input_count(engine), 1U);
  ASSERT_EQ(vernier_engine_output_count(engine), 1U);
  vernier_tensor_info info;
  ASSERT_EQ(vernier_engine_input(engine, 0, &info), VERNIER_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.type, VERNIER_FLOAT);
  ASSERT_EQ(info.rank, 2U);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.symbols[0], "N");
  EXPECT_EQ(info.dims[1], 3);
  EXPECT_STREQ(info.symbols[1], "");
  ASSERT_EQ(vernier_engine_output(engine, 0, &info), VERNIER_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(vernier_engine_input(engine, 1, &info), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_output(engine, 1, &info), VERNIER_ERROR_USAGE);
}

TEST_F(C, OutputsAreReadAfterTheRun) {
  vernier_tensor y;
  EXPECT_EQ(vernier_session_output(session, "y", &y), VERNIER_ERROR_NOT_READY);
  bind();
  EXPECT_EQ(vernier_session_output(session, "y", &y), VERNIER_ERROR_NOT_READY);
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK);
  EXPECT_STREQ(vernier_last_error(), "");
  expect_right_bits();
  EXPECT_EQ(vernier_session_output(session, "z", &y), VERNIER_ERROR_USAGE);
  EXPECT_THAT(vernier_last_error(), HasSubstr("'z'"));
}

TEST_F(C, OutputsAreNotReadyBeforeTheEventWasWaitedFor) {
  bind();
  vernier_tensor y;
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK);
  vernier_event* event = nullptr;
  ASSERT_EQ(vernier_session_run_async(session, &event), VERNIER_OK);
  while (vernier_event_ready(event) == 0) std::this_thread::yield();
  EXPECT_EQ(vernier_session_output(session, "y", &y), VERNIER_ERROR_NOT_READY);  // ended, but not waited for
  EXPECT_THAT(vernier_last_error(), HasSubstr("not there yet"));
  EXPECT_EQ(vernier_session_run(session), VERNIER_ERROR_BUSY);
  ASSERT_EQ(vernier_event_wait(event), VERNIER_OK);
  expect_right_bits();
  EXPECT_EQ(vernier_event_wait(event), VERNIER_ERROR_USAGE);
  vernier_event_release(event);
  expect_right_bits();
  ASSERT_EQ(vernier_session_run_async(session, &event), VERNIER_OK);
  vernier_event_release(event);
  EXPECT_EQ(vernier_session_output(session, "y", &y), VERNIER_ERROR_NOT_READY);
}

TEST_F(C, AnEventOutlivesItsSession) {
  bind();
  vernier_event* event = nullptr;
  ASSERT_EQ(vernier_session_run_async(session, &event), VERNIER_OK);
  vernier_session_release(session);
  session = nullptr;
  EXPECT_EQ(vernier_event_wait(event), VERNIER_OK);
  vernier_event_release(event);
}

TEST_F(C, WritesIntoBoundMemory) {
  bind();
  std::vector<float> y(4);
  const int64_t sizes[2] = {2, 2};
  ASSERT_EQ(vernier_session_bind_output(session, "y", VERNIER_FLOAT, sizes, 2, y.data()), VERNIER_OK);
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK);
  EXPECT_THAT(y, ElementsAreArray(dense_result(x)));
  ASSERT_EQ(vernier_session_unbind(session, "y"), VERNIER_OK);
  y.assign(4, -1);
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK);
  EXPECT_THAT(y, ElementsAreArray({-1, -1, -1, -1}));
}

TEST_F(C, RanksThatNoTensorHasAreRefused) {
  for (const size_t rank : {size_t{256}, size_t{1} << 60, SIZE_MAX}) {
    EXPECT_EQ(vernier_session_bind_input(session, "x", VERNIER_FLOAT, dims, rank, x.data()),
              VERNIER_ERROR_BAD_INPUT);
    EXPECT_THAT(vernier_last_error(), HasSubstr(std::to_string(rank)));
    EXPECT_EQ(vernier_session_bind_output(session, "y", VERNIER_FLOAT, dims, rank, x.data()),
              VERNIER_ERROR_BAD_INPUT);
  }
  bind();
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK);
}

TEST_F(C, ErrorsBelongToTheirThread) {
  EXPECT_EQ(vernier_session_bind_input(session, "z", VERNIER_FLOAT, dims, 2, x.data()),
            VERNIER_ERROR_BAD_INPUT);
  std::jthread([] { EXPECT_STREQ(vernier_last_error(), ""); }).join();
  EXPECT_THAT(vernier_last_error(), HasSubstr("'z'"));
  EXPECT_EQ(vernier_session_bind_input(session, "x", VERNIER_STRING, dims, 2, x.data()),
            VERNIER_ERROR_UNSUPPORTED);
  EXPECT_EQ(vernier_session_run(session), VERNIER_ERROR_BAD_INPUT);
  EXPECT_THAT(vernier_last_error(), HasSubstr("input 'x'"));
  bind();
  EXPECT_EQ(vernier_session_run(session), VERNIER_OK);
  expect_right_bits();
}

TEST_F(C, BadModelsAreNamed) {
  vernier_engine* none = nullptr;
  EXPECT_EQ(vernier_engine_build("/nowhere/model.onnx", &none), VERNIER_ERROR_BAD_INPUT);
  EXPECT_STREQ(vernier_last_error_file(), "/nowhere/model.onnx");
  EXPECT_STREQ(vernier_last_error_node(), "");
  EXPECT_STREQ(vernier_last_error_advice(), "");
  EXPECT_EQ(vernier_engine_build_from_memory("noise", 5, &none), VERNIER_ERROR_BAD_INPUT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(C, LoadsAnEngineFile) {
  const auto file = dense_engine();
  vernier_session_release(session);
  vernier_engine_release(engine);
  ASSERT_EQ(vernier_engine_load(file.path().c_str(), &engine), VERNIER_OK) << vernier_last_error();
  ASSERT_EQ(vernier_session_create(engine, 1, &session), VERNIER_OK);
  bind();
  ASSERT_EQ(vernier_session_run(session), VERNIER_OK) << vernier_last_error();
  expect_right_bits();
  vernier_engine* none = nullptr;
  EXPECT_EQ(vernier_engine_load("/nowhere/x.engine", &none), VERNIER_ERROR_BAD_INPUT);
  EXPECT_EQ(vernier_engine_load(nullptr, &none), VERNIER_ERROR_USAGE);
}

TEST_F(C, TheNodeThatFailsIsNamed) {
  vernier_engine* gather = nullptr;
  vernier_session* runs = nullptr;
  const ModelFile model(R"(graph "g" (%x: f32[4], %i: i64[1]) -> (%y) {
    %y: f32[*] = Gather(%x, %i) version 24 @"the_gather" from ["the_gather"]
  })");
  ASSERT_EQ(vernier_engine_build(model.path().c_str(), &gather), VERNIER_OK);
  ASSERT_EQ(vernier_session_create(gather, 1, &runs), VERNIER_OK);
  const int64_t four = 4, one = 1, beyond = 7, good = 3;
  ASSERT_EQ(vernier_session_bind_input(runs, "x", VERNIER_FLOAT, &four, 1, x.data()), VERNIER_OK);
  ASSERT_EQ(vernier_session_bind_input(runs, "i", VERNIER_INT64, &one, 1, &beyond), VERNIER_OK);
  EXPECT_EQ(vernier_session_run(runs), VERNIER_ERROR_BAD_INPUT);
  EXPECT_STREQ(vernier_last_error_node(), "the_gather") << vernier_last_error();
  ASSERT_EQ(vernier_session_bind_input(runs, "i", VERNIER_INT64, &one, 1, &good), VERNIER_OK);
  ASSERT_EQ(vernier_session_run(runs), VERNIER_OK);
  vernier_tensor y;
  ASSERT_EQ(vernier_session_output(runs, "y", &y), VERNIER_OK);
  EXPECT_EQ(*static_cast<const float*>(y.data), x[3]);
  vernier_engine_release(gather);
  vernier_session_release(runs);
}

TEST_F(C, NullPointersAreRefused) {
  vernier_tensor y;
  vernier_event* event = nullptr;
  EXPECT_EQ(vernier_engine_build(nullptr, &engine), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_build("x", nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_build_from_memory(nullptr, 0, &engine), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_input(nullptr, 0, nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_engine_input_count(nullptr), 0U);
  EXPECT_EQ(vernier_engine_output_count(nullptr), 0U);
  EXPECT_EQ(vernier_session_create(nullptr, 1, &session), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_bind_input(session, nullptr, VERNIER_FLOAT, dims, 2, x.data()),
            VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_bind_input(session, "x", VERNIER_FLOAT, nullptr, 2, x.data()),
            VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_bind_output(nullptr, "y", VERNIER_FLOAT, dims, 2, x.data()), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_run(nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_run_async(session, nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_run_async(nullptr, &event), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_output(session, "y", nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_output(nullptr, "y", &y), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_profile(session, 1, nullptr, nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_event_wait(nullptr), VERNIER_ERROR_USAGE);
  EXPECT_EQ(vernier_session_memory_bytes(nullptr), 0U);
  EXPECT_EQ(vernier_event_ready(nullptr), 1);
  vernier_session_cancel(nullptr);
  vernier_engine_release(nullptr);
  vernier_session_release(nullptr);
  vernier_event_release(nullptr);
}

TEST_F(C, Profiles) {
  bind();
  std::string nodes;
  const auto collect = [](const vernier_layer_time* layer, void* user) {
    for (size_t i = 0; i < layer->node_count; ++i) *static_cast<std::string*>(user) += layer->nodes[i];
  };
  ASSERT_EQ(vernier_session_profile(session, 2, collect, &nodes), VERNIER_OK);
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, "pr");
}

TEST(CTypes, AreThoseOfCpp) {
  EXPECT_EQ(VERNIER_FLOAT, static_cast<int>(v1::ElementType::kFloat));
  EXPECT_EQ(VERNIER_STRING, static_cast<int>(v1::ElementType::kString));
  EXPECT_EQ(VERNIER_FLOAT16, static_cast<int>(v1::ElementType::kFloat16));
  EXPECT_EQ(VERNIER_BFLOAT16, static_cast<int>(v1::ElementType::kBFloat16));
  EXPECT_EQ(VERNIER_FLOAT8E4M3FN, static_cast<int>(v1::ElementType::kFloat8E4M3FN));
  EXPECT_EQ(VERNIER_FLOAT8E8M0, static_cast<int>(v1::ElementType::kFloat8E8M0));
  EXPECT_EQ(VERNIER_INT2, static_cast<int>(v1::ElementType::kInt2));
  EXPECT_STREQ(vernier_version(), VERNIER_TEST_VERSION);
}

}  // namespace
}  // namespace vernier::test
