/* What a model takes and yields, and a run of it on zeros, in C: model_info MODEL.onnx */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <vernier/vernier_c.h>

static int fail(vernier_status status) {
  fprintf(stderr, "%s\n", vernier_last_error());
  return (int)status;
}

static void print_info(const char* kind, const vernier_tensor_info* info) {
  printf("%s %s: element type %d, sizes [", kind, info->name, (int)info->type);
  for (size_t i = 0; i < info->rank; ++i) {
    if (info->dims[i] >= 0)
      printf("%s%" PRId64, i == 0 ? "" : ", ", info->dims[i]);
    else
      printf("%s%s", i == 0 ? "" : ", ", info->symbols[i]);
  }
  printf("]\n");
}

/* Binds zeros to an input; sizes that the model leaves open are 1. The memory is the caller's to free. */
static vernier_status bind_zeros(vernier_session* session, const vernier_tensor_info* info, void** memory) {
  enum { kWidestElement = 16 };
  int64_t dims[16] = {0};
  size_t elements = 1;
  for (size_t i = 0; i < info->rank && i < 16; ++i) {
    dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    elements *= (size_t)dims[i];
  }
  *memory = calloc(elements + 1, kWidestElement);
  return vernier_session_bind_input(session, info->name, info->type, dims, info->rank, *memory);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.onnx\n", argv[0]);
    return 2;
  }
  vernier_engine* engine = NULL;
  vernier_session* session = NULL;
  vernier_event* event = NULL;
  vernier_tensor_info info;
  vernier_tensor tensor;
  vernier_status status = vernier_engine_build(argv[1], &engine);
  if (status == VERNIER_OK) status = vernier_session_create(engine, 0, &session);
  if (status != VERNIER_OK) return fail(status);
  const size_t inputs = vernier_engine_input_count(engine);
  void** memory = calloc(inputs + 1, sizeof *memory);
  for (size_t i = 0; i < inputs && status == VERNIER_OK; ++i) {
    status = vernier_engine_input(engine, i, &info);
    if (status != VERNIER_OK) break;
    print_info("input", &info);
    status = bind_zeros(session, &info, &memory[i]);
  }
  if (status == VERNIER_OK) status = vernier_session_run_async(session, &event);
  if (status == VERNIER_OK) status = vernier_event_wait(event);
  vernier_event_release(event);
  for (size_t i = 0; i < vernier_engine_output_count(engine) && status == VERNIER_OK; ++i) {
    status = vernier_engine_output(engine, i, &info);
    if (status == VERNIER_OK) status = vernier_session_output(session, info.name, &tensor);
    if (status != VERNIER_OK) break;
    print_info("output", &info);
    if (tensor.type == VERNIER_FLOAT) printf("  first element: %g\n", (double)*(const float*)tensor.data);
  }
  vernier_session_release(session);
  vernier_engine_release(engine);
  for (size_t i = 0; i < inputs; ++i) free(memory[i]);
  free(memory);
  return status == VERNIER_OK ? 0 : fail(status);
}
