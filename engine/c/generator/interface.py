"""Facts that are not in the C++ headers: names that differ in C, and declarations that are written by hand.

New functions of Graph or heed::nn, structs of options and enumerators need no entry here.
"""

# Headers in the order in which they are read. Every public enum, struct and function in them must be generated or listed below.
HEADERS = ["types.hpp", "status.hpp", "graph.hpp", "nn.hpp", "device.hpp", "self_test.hpp", "train.hpp", "optimizer.hpp", "initial.hpp", "bert.hpp",
           "decoder.hpp", "text_encoder.hpp", "text_generator.hpp", "speech.hpp", "vulkan_memory.hpp"]

# Enums: the C type and the prefix of its enumerators, where these are not heed_NAME and HEED_NAME_.
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
# Names that are not split at capitals.
WORDS = {"AdamW": "adamw"}

# Enums that are written to shaders/shared/enums.glsl, in addition to the elementwise functions of engine/graph/functions.inc.
SHADER_ENUMS = ["Activation"]

# Structs: the C name, where it is not heed_NAME.
STRUCTS = {"TextConversationOptions": "heed_conversation_options"}

# Structs of results, whose members are tensors.
RESULTS = ["AttentionResult", "TopKResult", "nn::CrossEntropyResult", "nn::TransformerResult"]

# Overloaded functions, and their names in C.
OVERLOADS = {"Graph::append(Tensor, Tensor, int, Tensor)": "append_at", "Graph::sum(Tensor, int)": "sum_axis"}

# Defaults that C++ does not have: for tensors that may be invalid, and for the parameters after them.
DEFAULTS = {("Graph::layernorm", "gamma"): "{}", ("Graph::layernorm", "beta"): "{}", ("Graph::layernorm", "eps"): "1e-5f",
            ("Graph::rmsnorm", "gamma"): "{}", ("Graph::rmsnorm", "eps"): "1e-6f"}

# Members with another form in C: (type, name, default), and the comment. Functions written by hand read them.
MEMBERS = {
    ("UploadOptions", "keep_dtype"): ([], ""),
    ("UploadOptions", "dtype"): ([("heed_dtype", "dtype", "HEED_DTYPE_DEFAULT")],
                                 "Floating-point and quantized tensors are converted to it: F32, F16 or BF16. HEED_DTYPE_DEFAULT: they are not converted."),
    ("UploadOptions", "only_matrices"): ([("int32_t", "only_matrices", "0")],
                                         "1: only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become F32."),
    ("UploadOptions", "release"): ([("void (*)(void* user, const void* data, size_t bytes)", "release", "nullptr"),
                                    ("void*", "release_user", "nullptr")],
                                   "Called when upload has read these bytes of a tensor and will not read them again."),
    ("DeviceOptions", "parallel_for"): ([("const heed_parallel_for*", "parallel_for", "nullptr")],
                                        "CPU device: the host's threads, used instead of heed's own; copied. NULL: heed's own threads."),
    ("TextGeneratorOptions", "chat"): ([("const char*", "chat_template", "nullptr")],
                                       "Replaces the file's chat template: a Jinja template of a family that heed knows. Unsupported: of another family."),
    ("TextConversationOptions", "stop"): ([("const char* const*", "stop", "nullptr"), ("size_t", "stop_count", "0")],
                                          "Each of these texts ends an answer and is not part of it. UTF-8, not empty."),
}

# Names that the generator skips: C does not have them, or they are written by hand in include/heed/c and engine/c. These are handles and
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

# Functions that do more in Python than in C, written by hand in engine/python/heed/graph.py.
PYTHON_BY_HAND = {"Graph::extent", "Graph::position", "Graph::input", "Graph::state", "Graph::output", "Graph::append", "Graph::find_weight",
                  "Graph::weight", "Graph::push_label", "Graph::pop_label"}
# The Python form of MEMBERS: (kind, type, default).
PYTHON_MEMBERS = {("UploadOptions", "dtype"): ("optional enum", "DType", "None"), ("UploadOptions", "only_matrices"): ("bool", "bool", "False")}
