#include <stdio.h>
#include <stdlib.h>

#include <heed/c/heed.h>

/* Prints what went wrong, and ends the program. */
static void check(heed_status status, const char* what) {
  if (status == HEED_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, heed_status_text(status), heed_last_message());
  exit(1);
}

/* A small causal attention of `width` numbers per token over up to 512 tokens. */
static heed_graph* make_graph(int64_t width) {
  heed_graph* g = NULL;
  check(heed_graph_create(&g), "graph");
  const heed_dim tokens = heed_graph_extent(g, "tokens", 512);
  const heed_dim shape[3] = {1, tokens, width};
  heed_multi_head_options options;
  heed_multi_head_options_init(&options); /* defaults */
  options.heads = 2;
  options.bias = options.out_bias = 0;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  const heed_tensor x = heed_graph_input(g, "x", shape, 3, HEED_F32);
  check(heed_graph_output(g, "y", heed_nn_self_attention(g, x, "block", &options)), "output"); /* or the first mistake */
  return g;
}

int main(int argc, char** argv) {
  enum { kWidth = 8, kTokens = 3 };
  heed_device_options where;
  heed_device_options_init(&where);
  if (argc > 1) where.select = argv[1]; /* else the best device */
  heed_device* device = NULL;
  check(heed_device_open(&where, &device), "device");

  /* The weights: here every number is the same; heed_checkpoint_open reads them from files. */
  float qkv[3 * kWidth * kWidth], out[kWidth * kWidth];
  for (int i = 0; i < 3 * kWidth * kWidth; ++i) qkv[i] = 0.01f;
  for (int i = 0; i < kWidth * kWidth; ++i) out[i] = 0.02f;
  const int64_t qkv_shape[2] = {3 * kWidth, kWidth}, out_shape[2] = {kWidth, kWidth};
  const heed_host_tensor tensors[2] = {{"block.wqkv.weight", qkv_shape, 2, qkv, sizeof(qkv), HEED_F32, 0},
                                       {"block.wo.weight", out_shape, 2, out, sizeof(out), HEED_F32, 0}};
  heed_weights* weights = NULL;
  check(heed_device_upload(device, tensors, 2, NULL, &weights), "weights");
  heed_graph* graph = make_graph(kWidth);
  heed_plan* plan = NULL;
  check(heed_device_compile(device, graph, weights, NULL, &plan), "plan");

  float x[kTokens * kWidth], y[kTokens * kWidth];
  for (int i = 0; i < kTokens * kWidth; ++i) x[i] = 0.5f;
  const heed_input input = {"x", x, sizeof(x), HEED_F32, 0};
  const heed_output output = {"y", y, sizeof(y), HEED_F32, 0};
  const heed_extent_value tokens = {"tokens", kTokens};
  const heed_run_info run = {sizeof(run), &input, 1, &output, 1, &tokens, 1, NULL, 0, 0};
  check(heed_plan_run(plan, &run), "run");
  for (int i = 0; i < kTokens; ++i) printf("token %d: %.4f\n", i, y[i * kWidth]);

  heed_plan_destroy(plan); /* in any order */
  heed_graph_destroy(graph);
  heed_weights_destroy(weights);
  return heed_device_destroy(device) == HEED_OK ? 0 : 1;
}
