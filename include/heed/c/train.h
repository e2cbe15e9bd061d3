// Training: gradients, which are additional nodes of a graph, and optimizers, which keep weights in a state. <heed/train.hpp> and
// <heed/optimizer.hpp> have the formulas and papers.
//
//   heed_optimizer* optimizer = NULL;
//   heed_optimizer_create(NULL, &optimizer);                          // AdamW
//   heed_optimizer_add_weights(optimizer, g);                         // all weights that the model in g has named
//   const heed_tensor settings = heed_optimizer_settings(optimizer, g);
//   heed_optimizer_weights(optimizer, g, weights, capacity, &count);
//   const heed_upstream outputs[] = {{loss, 0}};
//   heed_train_gradients(g, outputs, 1, weights, count, gradients);
//   heed_graph_output(g, "step", heed_optimizer_step(optimizer, g, gradients, count, settings));
//   ...                                                               // compile, make a state
//   heed_optimizer_load(optimizer, state, tensors, tensor_count);     // and each run is a step
#ifndef HEED_C_TRAIN_H
#define HEED_C_TRAIN_H

#include <heed/c/files.h>
#include <heed/c/graph.h>
#include <heed/c/state.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Gradients -------------------------------------------------------------------------------------------------

// A result to differentiate, and the gradient that arrives at it.
typedef struct heed_upstream {
  heed_tensor output;    // F32, F16 or BF16
  heed_tensor gradient;  // has the shape and type of `output`; 0: a gradient of 1, and `output` must be one number
} heed_upstream;
// The gradient of the sum over `outputs` of sum(output * its gradient) with respect to each tensor of `of`, of its shape and type: fills
// gradients[0 .. of_count - 1], with 0 on a mistake. `of` may be any floating-point tensors of the graph; the gradient is zeros if no
// output depends on one. A pass of the host's own needs heed_custom_pass::gradient. Returns the graph's status.
HEED_API heed_status heed_train_gradients(heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                                          const heed_tensor* of, size_t of_count, heed_tensor* gradients);
// The same with options, which may be NULL.
HEED_API heed_status heed_train_gradients_with(heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                                               const heed_tensor* of, size_t of_count,
                                               const heed_gradient_options* options, heed_tensor* gradients);

// --- Optimizers ------------------------------------------------------------------------------------------------

// Makes a row of the input that heed_optimizer_settings returns. InvalidArgument: a number is outside its range. Betas are below 1 (those
// of AdamW above 0), others 0 or more, loss_scale more than 0.
enum { HEED_STEP_WORDS = 16 };
HEED_API heed_status heed_step_words(int32_t rule, const heed_step_numbers* numbers, float words[16]);

// The output of heed_optimizer_step: F32 [4].
typedef struct heed_step_report {
  float factor;  // the factor that was applied to the gradients
  float taken;   // 1: the step was taken; 0: `apply` was 0; -1: it was skipped, since the norm is infinite or NaN
  float norm;    // norm of all gradients, before clipping
  float steps;   // steps taken so far, including this one
} heed_step_report;

// Adjusts the scale to a report of heed_optimizer_step.
HEED_API heed_status heed_loss_scale_update(heed_loss_scale* loss, const heed_step_report* report);

// Fills `values`, `count` of them, row-major, for a weight of this shape, [out, in, ...]: the same bits on every machine.
// <heed/initial.hpp> has the formulas. InvalidArgument: Xavier or Kaiming with less than two axes, or a number outside its range.
// ShapeMismatch: the shape has another number of elements.
HEED_API heed_status heed_initial_values(const heed_initial_options* options, const int64_t* shape, size_t rank,
                                         float* values, size_t count);

// An optimizer without weights. `options` may be NULL.
HEED_API heed_status heed_optimizer_create(const heed_optimizer_options* options, heed_optimizer** optimizer);
HEED_API heed_status heed_optimizer_destroy(heed_optimizer* optimizer);

// Declares a weight, before any call below. Groups are 0 to 7. InvalidArgument: the name is already declared, the shape has no elements, or
// there is no such group.
HEED_API heed_status heed_optimizer_add(heed_optimizer* optimizer, const char* name, const int64_t* shape, size_t rank,
                                        int32_t group);
// Declares all weights of F32 that the graph has so far: those of rank 2 and more in group 0, others, which are commonly not
// decayed, in group 1.
HEED_API heed_status heed_optimizer_add_weights(heed_optimizer* optimizer, heed_graph* graph);

// A declared weight. Texts and shapes are valid until the next weight is declared, or the optimizer is destroyed.
typedef struct heed_parameter {
  size_t size;
  const char* name;
  const int64_t* shape;
  size_t rank;
  int32_t group;
  int32_t reserved;
} heed_parameter;
HEED_API size_t heed_optimizer_count(heed_optimizer* optimizer);  // 0 if the handle is invalid
HEED_API heed_status heed_optimizer_parameter(heed_optimizer* optimizer, size_t index, heed_parameter* parameter);
// The largest group plus 1: the number of rows of the settings. 0 if the handle is invalid.
HEED_API size_t heed_optimizer_group_count(heed_optimizer* optimizer);

// Calls on graphs; their mistakes are the graph's.
//
// Rebinds each declared weight in the graph to a view of its state, for operations that were already built, too. An inference graph thus
// reads the weights that a training graph updates. heed_optimizer_step also does this.
HEED_API heed_status heed_optimizer_keep(heed_optimizer* optimizer, heed_graph* graph);
// The declared weights in their order, all of which the graph must have.
HEED_API heed_status heed_optimizer_weights(heed_optimizer* optimizer, heed_graph* graph, heed_tensor* weights,
                                            size_t capacity, size_t* count);
// The input "PREFIX.settings", F32 [groups, HEED_STEP_WORDS].
HEED_API heed_tensor heed_optimizer_settings(heed_optimizer* optimizer, heed_graph* graph);
// F32 [1], to multiply the loss by.
HEED_API heed_tensor heed_optimizer_loss_scale(heed_optimizer* optimizer, heed_graph* graph, heed_tensor settings);
// Adds the optimizer step. `gradients` are those of the declared weights in their order, each of its weight's shape. The step runs after
// everything that reads the weights. Returns F32 [4], a heed_step_report.
HEED_API heed_tensor heed_optimizer_step(heed_optimizer* optimizer, heed_graph* graph, const heed_tensor* gradients,
                                         size_t gradient_count, heed_tensor settings);

// Calls on a state that a plan with the step has made. They read and write all weights, or nothing.
//
// Reads weights from tensors of F32, F16 or BF16 by their names, and moments and the count of steps by the names that heed_optimizer_save
// gives. Missing moments and counts become zero; other tensors are ignored. MissingWeight, ShapeMismatch, DTypeMismatch: nothing was
// written.
HEED_API heed_status heed_optimizer_load(heed_optimizer* optimizer, heed_state* state, const heed_host_tensor* tensors,
                                         size_t count);
HEED_API heed_status heed_optimizer_load_checkpoint(heed_optimizer* optimizer, heed_state* state,
                                                    heed_checkpoint* checkpoint);
// Writes a file of safetensors: weights by their names, moments as "PREFIX.NAME.exp_avg" and "PREFIX.NAME.exp_avg_sq" (SGD:
// "PREFIX.NAME.momentum_buffer"), the count of steps as "PREFIX.step", F32 [1]. The file is written as a whole or not at all (FileError);
// an existing file is replaced.
HEED_API heed_status heed_optimizer_save(heed_optimizer* optimizer, heed_state* state, const char* path);
// Reads one weight of `count` elements (ShapeMismatch) from the state. NotFound: no such weight.
HEED_API heed_status heed_optimizer_read(heed_optimizer* optimizer, heed_state* state, const char* name, float* values,
                                         size_t count);

#ifdef __cplusplus
}
#endif

#endif
