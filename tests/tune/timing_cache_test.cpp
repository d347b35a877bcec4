#include "vernier/tune/timing_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/tune/shared_timing_cache.h"

namespace vernier {
namespace {

TEST(TimingCache, KeepsWhatOtherDevicesTook) {
  TemporaryFolder folder;
  const auto path = folder.path() / "times.json";
  TimingCache a("a");
  a.load(path);  // nothing there yet
  a.put("conv", {{"", {0.5, 1e-7, ""}}, {"winograd", {0, 1, "far off"}}});
  a.save(path);
  TimingCache b("b");
  b.load(path);
  EXPECT_EQ(b.find("conv"), nullptr);
  b.put("conv", {{"", {2, 0, ""}}});
  b.save(path);
  TimingCache again("a");
  again.load(path);
  ASSERT_NE(again.find("conv"), nullptr);
  EXPECT_EQ(again.find("conv")->at("").seconds, 0.5);
  EXPECT_EQ(again.find("conv")->at("winograd").quarantine, "far off");
  EXPECT_EQ(again.size(), 1U);
}

// Builds at the same time share one.
TEST(TimingCache, WhatWasFoundStaysWhateverIsPut) {
  const auto cache = shared_timing_cache("a");
  cache->put("conv", {{"", {1, 0, ""}}});
  const auto* found = shared_timing_cache("a")->find("conv");
  ASSERT_NE(found, nullptr);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        cache->put("conv", {{"", {2, 0, ""}}});
        cache->find("conv");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(found->at("").seconds, 1);
  EXPECT_EQ(cache->find("conv")->at("").seconds, 2);
  EXPECT_EQ(shared_timing_cache("b")->find("conv"), nullptr);
}

TEST(TimingCache, AnotherFileIsRefusedByName) {
  TemporaryFolder folder;
  const auto path = folder.path() / "times.json";
  for (const char* content : {"", "{", "[]", "{}", R"({"schema": "other", "devices": {}})",
                              R"({"schema": "vernier-timing/1", "devices": {"a": {"b": {"c": 1}}}})"}) {
    std::ofstream(path) << content;
    try {
      TimingCache("a").load(path);
      ADD_FAILURE() << content;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_EQ(error.file(), path);
    }
  }
}

}  // namespace
}  // namespace vernier
