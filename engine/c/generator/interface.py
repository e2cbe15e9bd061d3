"""What the generator cannot see in the C++ headers: names that C has otherwise, and what is written by hand.

A new function of Graph or heed::nn, a new struct of options and a new enumerator need nothing here.
"""

# Read in this order. Every public enum and every struct or function of these must be generated or be named below.
HEADERS = ["types.hpp", "status.hpp", "graph.hpp", "nn.hpp", "device.hpp", "self_test.hpp", "train.hpp", "optimizer.hpp", "initial.hpp", "bert.hpp",
           "decoder.hpp", "text_encoder.hpp", "text_generator.hpp", "speech.hpp", "vulkan_memory.hpp"]

# Enums: C's type and the beginning of its enumerators, where these are not heed_NAME and HEED_NAME_.
ENUMS = {
    "DType": ("heed_dtype", "HEED_"),
    "Status": ("heed_status", "HEED_"),
    "LogLevel": ("heed_log_level", "HEED_LOG_"),
    "DeviceKind": ("heed_device_kind", "HEED_DEVICE_"),
    "PipelineCreation": ("heed_pipeline_creation", "HEED_PIPELINES_"),
    "Mask::Meaning": ("heed_mask_meaning", "HEED_MASK_"),
    "RotaryPairs": ("heed_rotary_pairs", "HEED_ROTARY_"),
    "RotaryScaling::Kind": ("heed_rotary_scaling_kind", "HEED_ROTARY_SCALING_"),
    "nn::NormPlacement": ("heed_norm_placement", "HEED_NORM_"),
    "nn::NormKind": ("heed_norm_kind", "HEED_NORM_"),
    "train::UpdateRule": ("heed_update_rule", "HEED_UPDATE_"),
    "SelfTestVerdict": ("heed_self_test_verdict", "HEED_SELF_TEST_"),
    "TextOverflow": ("heed_overflow", "HEED_OVERFLOW_"),
    "TextEnd": ("heed_text_end", "HEED_END_"),
    "vulkan::MemoryUse": ("heed_memory_use", "HEED_MEMORY_"),
}
# Names that do not fall apart at capitals.
WORDS = {"AdamW": "adamw"}

# The generator writes these enums to shaders/shared/enums.glsl, beside the elementwise functions of engine/graph/functions.inc.
SHADER_ENUMS = ["Activation"]

# Structs: C's name, where it is not heed_NAME.
STRUCTS = {"TextConversationOptions": "heed_conversation_options"}

# Structs of results, whose members are tensors.
RESULTS = ["AttentionResult", "TopKResult", "nn::CrossEntropyResult", "nn::TransformerResult"]

# Functions that have the name of another.
OVERLOADS = {"Graph::append(Tensor, Tensor, int, Tensor)": "append_at", "Graph::sum(Tensor, int)": "sum_axis"}

# Defaults that C++ has not: of tensors that may be invalid, and of what follows them.
DEFAULTS = {("Graph::layernorm", "gamma"): "{}", ("Graph::layernorm", "beta"): "{}", ("Graph::layernorm", "eps"): "1e-5f",
            ("Graph::rmsnorm", "gamma"): "{}", ("Graph::rmsnorm", "eps"): "1e-6f"}

# Members that C has in another form, (type, name, default), with their comment. Functions written by hand read them.
MEMBERS = {
    ("UploadOptions", "keep_dtype"): ([], ""),
    ("UploadOptions", "dtype"): ([("heed_dtype", "dtype", "HEED_DTYPE_DEFAULT")],
                                 "Floating-point and quantized tensors are converted to it: F32, F16 or BF16. HEED_DTYPE_DEFAULT: none are."),
    ("UploadOptions", "only_matrices"): ([("int32_t", "only_matrices", "0")],
                                         "1: only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become F32."),
    ("UploadOptions", "release"): ([("void (*)(void* user, const void* data, size_t bytes)", "release", "nullptr"),
                                    ("void*", "release_user", "nullptr")],
                                   "Tells that these bytes of a tensor were read and are not read again."),
    ("DeviceOptions", "parallel_for"): ([("const heed_parallel_for*", "parallel_for", "nullptr")],
                                        "CPU device: the host's threads instead of heed's own; copied. NULL: heed's own."),
    ("TextGeneratorOptions", "chat"): ([("const char*", "chat_template", "nullptr")],
                                       "Instead of the file's chat template: one in Jinja, of a family that heed knows. Unsupported: of another."),
    ("TextConversationOptions", "stop"): ([("const char* const*", "stop", "nullptr"), ("size_t", "stop_count", "0")],
                                          "Any of these texts ends an answer and is not part of it. UTF-8, not empty."),
}

# Names that the generator leaves out: C does not have them, or people write them in include/heed/c and engine/c. They are handles and
# their getters, callbacks, arrays and reports.
BY_HAND = {
    # Values and views
    "TypeBlock", "Dim", "Shape", "Tensor", "Mask", "HostTensor", "ParallelFor", "UploadProgress", "UploadRelease", "Log", "stderr_log", "write_to_stderr", "last_message",
    "to_string", "kDTypes", "kMaxRank",
    # Graphs
    "Graph", "CustomResult", "sample_words", "kSampleWords", "Graph::constant", "Graph::custom", "Graph::shape", "Graph::dtype",
    "Graph::status", "Graph::error", "Graph::fail", "Graph::data", "Graph::weights", "Graph::split", "WeightInfo", "nn::kMaxLayers",
    # Devices
    "Device", "Weights", "DeviceInfo", "SelfTestOptions", "KernelTest", "SelfTestReport", "self_test",
    # Training
    "train::Upstream", "train::gradients", "train::kStepWords", "train::step_words", "train::StepReport", "train::LossScale::update",
    "train::Optimizer", "train::Optimizer::Parameter", "train::initial_values",
    # Models and text
    "read_bert_config", "parse_bert_config", "BertWeights", "BertResult", "nn::bert", "decoder_families", "DecoderResult", "nn::decoder",
    "TokenBatch", "make_batch", "EncodeProgress", "TextAttention", "TextEncoder", "TextPiece", "TokenAttention", "TextGenerator",
    "TextConversation",
    # Speech
    "kSpeechRate", "SpeechSegment", "SpeechWord", "SpeechText", "SpeechPiece", "SpeechRecognizer", "SpeechStream",
    # Vulkan
    "vulkan::MemoryRequest", "vulkan::MemoryBlock", "vulkan::MemoryAllocator", "vulkan::BufferNeeds", "vulkan::BufferRange",
    "vulkan::WeightTarget", "vulkan::HeapBudget", "vulkan::scratch_needs", "vulkan::bind_scratch", "vulkan::state_needs",
    "vulkan::make_state", "vulkan::upload_needs", "vulkan::upload", "vulkan::memory_budget", "vulkan::record_reset", "vulkan::record_copy",
}

# --- Python ---------------------------------------------------------------------------------------------------------------

# Functions that do more in Python than in C, in engine/python/heed/graph.py.
PYTHON_BY_HAND = {"Graph::extent", "Graph::position", "Graph::input", "Graph::state", "Graph::output", "Graph::append", "Graph::find_weight",
                  "Graph::weight", "Graph::push_label", "Graph::pop_label"}
# What Python has of MEMBERS: (kind, of what, default).
PYTHON_MEMBERS = {("UploadOptions", "dtype"): ("optional enum", "DType", "None"), ("UploadOptions", "only_matrices"): ("bool", "bool", "False")}
