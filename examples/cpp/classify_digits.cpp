// Classifies handwritten digits, a batch in the background while the next one is prepared:
//   classify_digits digits.onnx held_out.npz labels.npy
#include <vernier/vernier.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int64_t kBatch = 64, kPixels = 8 * 8;
constexpr size_t kClasses = 10;

// The numbers of the first NumPy array in a file, be it an .npy or an .npz, which keeps arrays uncompressed.
template <class T>
std::vector<T> read_array(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t start = bytes.find("\x93NUMPY");
  if (start == std::string::npos) throw std::runtime_error(std::string(path) + " holds no NumPy array");
  const size_t header = static_cast<unsigned char>(bytes.at(start + 8)) +
                        256 * static_cast<size_t>(static_cast<unsigned char>(bytes.at(start + 9)));
  const std::string description = bytes.substr(start + 10, header);
  size_t count = 1;
  for (size_t at = description.find("'shape': (") + 10; description.at(at) != ')';) {
    size_t used = 0;
    count *= std::stoul(description.substr(at), &used);
    at = description.find_first_not_of(", ", at + used);
  }
  std::vector<T> values(count);
  const size_t data = start + 10 + header;
  if (data + count * sizeof(T) > bytes.size()) throw std::runtime_error(std::string(path) + " is cut off");
  std::memcpy(values.data(), bytes.data() + data, count * sizeof(T));
  return values;
}

int classify(const char* model, const char* images_file, const char* labels_file) {
  const auto images = read_array<float>(images_file);
  const auto labels = read_array<int64_t>(labels_file);
  const vernier::Engine engine = vernier::Engine::build(model);
  vernier::Session session(engine);
  const std::string input = engine.inputs()[0].name;

  size_t right = 0;
  for (size_t first = 0; first < labels.size(); first += kBatch) {
    const size_t count = std::min<size_t>(kBatch, labels.size() - first);
    const std::span<const float> batch(images.data() + first * kPixels, count * kPixels);
    session.bind_input(input, batch, {static_cast<int64_t>(count), 1, 8, 8});
    vernier::Event event = session.run_async();
    // … here an application reads the next batch …
    const vernier::Outputs outputs = event.wait();
    const auto scores = outputs.at(0).values<float>();
    for (size_t i = 0; i < count; ++i) {
      const auto best = std::max_element(scores.begin() + i * kClasses, scores.begin() + (i + 1) * kClasses);
      const auto digit = (best - scores.begin()) % static_cast<std::ptrdiff_t>(kClasses);
      right += digit == labels[first + i] ? 1 : 0;
    }
  }
  std::cout << right << " of " << labels.size() << " digits are right\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " MODEL.onnx IMAGES.npz LABELS.npy\n";
    return 2;
  }
  try {
    return classify(argv[1], argv[2], argv[3]);
  } catch (const vernier::Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
}
