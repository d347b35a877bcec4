// The program of a wheel, which is in libvernier (python/CMakeLists.txt).
extern "C" int vernier_program(int argc, char** argv);

int main(int argc, char** argv) {
  return vernier_program(argc, argv);
}
