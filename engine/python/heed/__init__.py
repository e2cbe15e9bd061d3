"""heed: attention and transformers on GPUs by Vulkan, and on the CPU.

    device = heed.Device()                                    # the best GPU, else the CPU
    g = heed.Graph()
    x = g.input("x", [1, g.extent("tokens", 512), 768])
    g.output("y", heed.nn.encoder_layer(x, "layers.0", attention=heed.nn.MultiHeadOptions(heads=12)))
    plan = device.compile(g, device.upload(module.state_dict()))
    y = plan.run({"x": array})["y"]

heed.onnx.load reads networks from ONNX files, as PyTorch exports them, and calls them with arrays. heed.nn has layers: self_attention,
cross_attention, encoder_layer, encoder_stack, decoder_stack, transformer and others; heed.train has gradients and optimizers. See
help(heed.nn) and help(heed.train).

Failures raise heed.Error with a status; wrong types and words raise TypeError or ValueError. After a fork the child must create its own
devices, graphs and plans.
"""

from . import nn, onnx, train
from ._c import Error, Status, version
from ._options import (AttentionResult, CompileOptions, DeviceOptions, SpeechOptions, SpeechRecognizerOptions, TextConversationOptions,
                       TextEncoderOptions, TextGeneratorOptions, TopKResult, UploadOptions, WindowOptions)
from .device import Device, DeviceInfo, Weights, devices
from .files import Checkpoint
from .graph import Graph
from .models import BertConfig, DecoderConfig, DecoderModel
from .plan import PassInfo, Plan, Run
from .speech import SPEECH_RATE, SpeechPiece, SpeechRecognizer, SpeechSegment, SpeechStream, SpeechWord
from .state import State
from .tensor import Dim, Mask, Tensor, exclude, keep
from .text import (AttentionMap, Conversation, TextEncoder, TextGenerator, TextPiece, TextSampling, TextSaveOptions, Tokenizer,
                   grammar_of_json_schema)

__version__ = version()
__all__ = ["AttentionMap", "AttentionResult", "BertConfig", "Checkpoint", "CompileOptions", "Conversation", "DecoderConfig",
           "DecoderModel", "Device", "DeviceInfo", "DeviceOptions", "Dim", "Error", "Graph", "Mask", "PassInfo", "Plan", "Run",
           "SPEECH_RATE", "SpeechOptions", "SpeechPiece", "SpeechRecognizer", "SpeechRecognizerOptions", "SpeechSegment",
           "SpeechStream", "SpeechWord", "State", "Status", "Tensor", "TextConversationOptions", "TextEncoder", "TextEncoderOptions",
           "TextGenerator", "TextGeneratorOptions", "TextPiece", "TextSampling", "TextSaveOptions", "Tokenizer", "TopKResult",
           "UploadOptions", "Weights", "WindowOptions", "devices", "exclude", "grammar_of_json_schema", "keep", "nn", "onnx", "train", "version"]
