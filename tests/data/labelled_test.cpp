// Labelled data: lists, arrays, folders.
#include <gmock/gmock.h>

#include "data/small_models.h"
#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/labelled/label_list.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A grey picture of 2 x 2 pixels.
std::string picture(const std::string& pixels) {
  return "P5 2 2 255\n" + pixels;
}

class Labelled : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    write_file(path, content);
    return path;
  }
  fs::path array(const std::string& name, Dims dims, const std::vector<double>& values,
                 ElementType type = ElementType::kFloat) const {
    return write(name, write_npy(Tensor::from_doubles(type, std::move(dims), values)));
  }
  std::unique_ptr<LabelledSource> open(const fs::path& data, const fs::path& labels = {},
                                       const fs::path& classes = {}) const {
    LabelledDataOptions options;
    options.data = {data.string()};
    options.labels = labels.string();
    options.classes = classes.string();
    options.preprocess = parse_preprocess("none");
    options.target_output = target_;
    options.target_preprocess = options.preprocess;
    return open_labelled_data(model_, options);
  }
  static std::vector<LabelledSample> all(LabelledSource& source) {
    std::vector<LabelledSample> samples;
    while (auto sample = source.next()) samples.push_back(std::move(*sample));
    return samples;
  }
  std::string refusal(const fs::path& data, const fs::path& labels = {}, const fs::path& classes = {}) const {
    try {
      all(*open(data, labels, classes));
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  }
  static std::vector<int64_t> classes(LabelledSource& source) {
    std::vector<int64_t> found;
    for (const LabelledSample& each : all(source)) found.push_back(each.label.values.to_ints().at(0));
    return found;
  }

  TemporaryFolder folder_;
  Model model_ = small_model("%x: f32[1, 1, 2, 2]", {"%y: f32[1, 1, 2, 2] = Relu(%x)"}, "%y");
  std::string target_;
};

TEST_F(Labelled, AFolderForEachClass) {
  write("d/cat/1.pgm", picture("abcd"));
  write("d/cat/notes.txt", "no data");
  write("d/ant/1.pgm", picture("abcd"));
  write("d/ant/2.pgm", picture("abcd"));
  const auto source = open(folder_.path() / "d");
  EXPECT_EQ(source->size(), 3);
  EXPECT_THAT(source->classes(), ElementsAre("ant", "cat"));
  EXPECT_THAT(classes(*source), ElementsAre(0, 0, 1));
  const fs::path names = write("names.txt", "cat\ndog\nant\n");
  EXPECT_THAT(classes(*open(folder_.path() / "d", "", names)), ElementsAre(2, 2, 0));
  EXPECT_THAT(refusal(folder_.path() / "d", "", write("few.txt", "cat\n")), HasSubstr("'ant'"));
  fs::create_directory(folder_.path() / "d/empty");
  EXPECT_THAT(refusal(folder_.path() / "d"), HasSubstr("no data of its class"));
}

TEST_F(Labelled, SamplesMayBeLeftOut) {
  for (int i = 0; i < 5; ++i) write(fmt::format("d/{}/1.pgm", i), picture("abcd"));
  const auto source = open(folder_.path() / "d");
  EXPECT_TRUE(source->skip());
  EXPECT_EQ(source->next()->label.values.to_ints()[0], 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(source->skip());
  EXPECT_FALSE(source->skip());
}

TEST_F(Labelled, AListInCsv) {
  write("d/a b.pgm", picture("abcd"));
  write("d/c.pgm", picture("abcd"));
  const fs::path list = write("d/list.csv",
                              "\xef\xbb\xbf"
                              "extra,file,label\r\n1,\"a b.pgm\",7\r\n2,c.pgm,3\n");
  EXPECT_THAT(classes(*open(list)), ElementsAre(7, 3));
  EXPECT_THAT(classes(*open(folder_.path() / "d", list)), ElementsAre(7, 3));
  const auto named = open(write("d/names.csv", "file,label\nc.pgm,zebra\nc.pgm,\"ant, \"\"red\"\"\"\n"));
  EXPECT_THAT(named->classes(), ElementsAre("ant, \"red\"", "zebra"));
  EXPECT_THAT(classes(*named), ElementsAre(1, 0));
  auto numbers = open(write("d/numbers.csv", "file,label\nc.pgm,0.5\nc.pgm,2\n"));
  EXPECT_EQ(all(*numbers)[1].label.values.to_doubles()[0], 2);
  auto words = open(write("d/words.csv", "file,text\nc.pgm,hello \"\"\n"));
  EXPECT_EQ(all(*words)[0].label.json, R"("hello \"\"")");
  EXPECT_THAT(refusal(write("d/1.csv", "name,label\nc.pgm,1\n")), HasSubstr("no columns"));
  EXPECT_THAT(refusal(write("d/2.csv", "file,label\nc.pgm\n")), HasSubstr("row 1 has 1 fields"));
  EXPECT_THAT(refusal(write("d/3.csv", "file,label\n\"c.pgm,1\n")), HasSubstr("quotes"));
  EXPECT_THAT(refusal(write("d/4.csv", "file,label\n")), HasSubstr("no line"));
  EXPECT_THAT(refusal(write("d/5.csv", "file,label\nno.pgm,1\n")), HasSubstr("no.pgm"));
}

TEST_F(Labelled, LinesOfJson) {
  write("c.pgm", picture("abcd"));
  EXPECT_THAT(classes(*open(
                  write("1.jsonl", "{\"file\":\"c.pgm\",\"label\":4}\n\n{\"file\":\"c.pgm\",\"label\":2}"))),
              ElementsAre(4, 2));
  auto others = open(write("2.jsonl",
                           "{\"file\":\"c.pgm\",\"label\":[1,2.5]}\n{\"file\":\"c.pgm\",\"label\":{\"a\":[]}}"
                           "\n{\"file\":\"c.pgm\",\"text\":\"hi\"}\n"));
  const auto samples = all(*others);
  EXPECT_EQ(samples[0].label.values.dims(), (Dims{1, 2}));
  EXPECT_EQ(samples[1].label.json, R"({"a":[]})");
  EXPECT_EQ(samples[2].label.json, R"("hi")");
  for (const char* line : {"{\"file\":1,\"label\":4}", "{\"label\":4}", "[]", "{", "{\"file\":\"c.pgm\"}"})
    EXPECT_THAT(refusal(write("bad.jsonl", line)), HasSubstr("line 1")) << line;
}

TEST_F(Labelled, AnnotationsOfCoco) {
  write("images/c.pgm", picture("abcd"));
  const fs::path list = write(
      "coco.json",
      R"({"images":[{"id":5,"file_name":"c.pgm"}],"annotations":[{"image_id":5,"bbox":[1,2,3,4]}],"categories":[]})");
  const auto samples = all(*open(folder_.path() / "images", list));
  ASSERT_EQ(samples.size(), 1);
  EXPECT_THAT(samples[0].label.json, HasSubstr(R"("bbox":[1,2,3,4])"));
  EXPECT_THAT(refusal(folder_.path() / "images", write("bad.json", "{\"images\":[{}],\"annotations\":[]}")),
              HasSubstr("COCO"));
}

TEST_F(Labelled, LabelsBesideImages) {
  write("images/c.pgm", picture("abcd"));
  write("masks/c.pgm", picture(std::string("\0\1\1\xff", 4)));
  EXPECT_THAT(all(*open(folder_.path() / "images", folder_.path() / "masks"))[0].label.values.to_ints(),
              ElementsAre(0, 1, 1, 255));
  write("voc/c.xml", "<annotation/>");
  EXPECT_EQ(all(*open(folder_.path() / "images", folder_.path() / "voc"))[0].label.json,
            R"({"classes":[],"xml":"<annotation/>","input_size":[2,2]})");
  target_ = "y";
  EXPECT_EQ(all(*open(folder_.path() / "images", folder_.path() / "masks"))[0].label.values.dims(),
            (Dims{1, 1, 2, 2}));
  target_ = "";
  write("images/d.pgm", picture("abcd"));
  EXPECT_THAT(refusal(folder_.path() / "images", folder_.path() / "masks"),
              HasSubstr("no label of its name"));
  write("one/c.pgm", picture("abcd"));
  write("one/c_mask.pgm", picture(std::string("\0\1\1\2", 4)));
  EXPECT_THAT(all(*open(folder_.path() / "one", folder_.path() / "one"))[0].label.values.to_ints(),
              ElementsAre(0, 1, 1, 2));
  write("colours/c.ppm", "P6 2 2 255\nabcdefabcdef");
  write("grey/c.pgm", picture("abcd"));
  EXPECT_THAT(refusal(folder_.path() / "grey", folder_.path() / "colours"), HasSubstr("colours"));
}

TEST_F(Labelled, RowsOfArraysAreSamples) {
  const fs::path data = folder_.path() / "d.npz";
  write_file(
      data,
      write_npz({{"x", Tensor::from_doubles(ElementType::kFloat, {3, 1, 2, 2},
                                            std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}}));
  const fs::path labels = array("l.npy", {3}, {5, 6, 7}, ElementType::kInt64);
  const auto samples = all(*open(data, labels));
  ASSERT_EQ(samples.size(), 3);
  EXPECT_THAT(samples[2].sample.inputs.at("x").tensor.to_doubles(), ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(samples[2].label.values.to_ints()[0], 7);
  EXPECT_EQ(samples[2].label.first_row, 2);
  EXPECT_THAT(refusal(data, array("few.npy", {2}, {5, 6}, ElementType::kInt64)), HasSubstr("2 labels"));
  EXPECT_THAT(refusal(data, folder_.path() / "none.npy"), HasSubstr("does not exist"));
}

std::string idx(const std::string& head, const std::string& content) {
  return std::string("\0\0", 2) + head + content;
}

TEST_F(Labelled, TheFormatOfMnist) {
  const fs::path data =
      write("t-images-idx3-ubyte", idx(std::string("\x08\3\0\0\0\2\0\0\0\2\0\0\0\2", 14), "abcdefgh"));
  const fs::path labels =
      write("t-labels-idx1-ubyte", idx(std::string("\x08\1\0\0\0\2", 6), std::string("\4\11", 2)));
  const auto samples = all(*open(data, labels));
  ASSERT_EQ(samples.size(), 2);
  EXPECT_THAT(samples[1].sample.inputs.at("x").tensor.to_doubles(), ElementsAre('e', 'f', 'g', 'h'));
  EXPECT_EQ(samples[1].label.values.to_ints()[0], 9);
  const auto bad = [&](const std::string& content) { return refusal(write("bad-ubyte", content), labels); };
  EXPECT_THAT(bad("\1\0"), HasSubstr("two zeros"));
  EXPECT_THAT(bad(idx(std::string("\x0d\1\0\0\0\1", 6), "a")), HasSubstr("0x0d"));
  EXPECT_THAT(bad(idx(std::string("\x08\3\0\0", 4), "")), HasSubstr("header"));
  EXPECT_THAT(bad(idx(std::string("\x08\1\0\0\0\2", 6), "a")), HasSubstr("has 1 bytes"));
  EXPECT_THAT(bad(idx(std::string("\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 14), "a")),
              HasSubstr("bad-ubyte"));
  EXPECT_THAT(bad(idx(std::string("\x08\3\0\0\0\1\0\0\0\2\0\0\0\2", 14), "abcd")),
              HasSubstr("2 labels, and 1 images"));
}

TEST_F(Labelled, OtherDataHaveLabelsInTheirOrder) {
  const fs::path folder = folder_.path() / "d";
  for (int i = 0; i < 2; ++i) {
    fs::create_directories(folder);
    write_file(folder / fmt::format("{}.npz", i),
               write_npz({{"x", Tensor::from_doubles(ElementType::kFloat, {1, 1, 2, 2},
                                                     std::vector<double>{1, 2, 3, 4})}}));
  }
  EXPECT_THAT(classes(*open(folder, array("l.npy", {2}, {5, 6}, ElementType::kInt64))), ElementsAre(5, 6));
  EXPECT_THAT(refusal(folder, array("l3.npy", {3}, {5, 6, 7}, ElementType::kInt64)), HasSubstr("3 labels"));
  const auto bare = open(folder);
  EXPECT_FALSE(bare->has_labels());
  EXPECT_EQ(all(*bare).size(), 2);
}

}  // namespace
}  // namespace vernier
