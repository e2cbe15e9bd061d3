// Speech recognition: a model (Whisper) turns the samples of a file, or incoming sound, into text.
//
//   heed_speech_recognizer* model = NULL;
//   heed_speech_recognizer_open(device, "whisper-tiny.en", NULL, &model);
//   heed_speech_text* text = NULL;
//   heed_speech_recognizer_recognize(model, samples, count, NULL, &text);   // a file's worth, waited for
//
//   heed_speech_stream* ear = NULL;                                         // or as the sound comes in
//   heed_speech_stream_begin(model, NULL, &ear);
//   ... in each frame:
//   heed_speech_stream_push(ear, microphone, count);
//   heed_speech_piece piece = {sizeof piece};
//   heed_speech_stream_poll(ear, &piece);                                   // does not wait for the device
//   for (size_t i = 0; i < piece.segment_count; ++i) print(piece.segments[i].text);
//
// Samples are floats, mono, HEED_SPEECH_RATE a second, from -1 to 1. Final text does not depend on the pieces in which samples come, nor on
// when the host polls.
#ifndef HEED_C_SPEECH_H
#define HEED_C_SPEECH_H

#include <heed/c/device.h>
#include <heed/c/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HEED_SPEECH_RATE = 16000 };  // samples a second

// --- Models ---------------------------------------------------------------------------------------------------

// A speech model on a device. It and all its streams serve one thread at a time.

// Loads a model. `path` is a folder or file with a Whisper model; <heed/speech.hpp> lists the formats. NotFound: a file is missing.
// InvalidFile: one is damaged. MissingWeight, ShapeMismatch, Unsupported: the tensors do not fit the network.
HEED_API heed_status heed_speech_recognizer_open(heed_device* device, const char* path,
                                                 const heed_speech_recognizer_options* options,
                                                 heed_speech_recognizer** recognizer);
HEED_API heed_status heed_speech_recognizer_destroy(heed_speech_recognizer* recognizer);

// The model's properties.
typedef struct heed_speech_recognizer_info {
  size_t size;
  int64_t window_samples;        // length of the windows in which sound is processed
  uint64_t stream_bytes;         // device memory of a stream
  const char* const* languages;  // "en", "de", ...; valid until the recognizer is destroyed
  size_t language_count;         // 0: the model knows English only
} heed_speech_recognizer_info;
HEED_API heed_status heed_speech_recognizer_get_info(heed_speech_recognizer* recognizer,
                                                     heed_speech_recognizer_info* info);
// Handles of its parts; destroy them like others. The tokenizer decodes ids to text and cannot encode. The encoder's plan processes a
// window, the decoder's draws a token.
HEED_API heed_status heed_speech_recognizer_tokenizer(heed_speech_recognizer* recognizer, heed_tokenizer** tokenizer);
HEED_API heed_status heed_speech_recognizer_encoder(heed_speech_recognizer* recognizer, heed_plan** plan);
HEED_API heed_status heed_speech_recognizer_decoder(heed_speech_recognizer* recognizer, heed_plan** plan);
HEED_API heed_status heed_speech_recognizer_weights(heed_speech_recognizer* recognizer, heed_weights** weights);

// --- Text -----------------------------------------------------------------------------------------------------

// A word, with the punctuation around it.
typedef struct heed_speech_word {
  const char* text;  // the concatenated texts of a segment's words are its text
  size_t text_bytes;
  double begin, end;  // seconds since the stream began
  // How much the alignment heads attended to each 0.02 s from the segment's window_begin on; sums to 1.
  const float* attention;
  size_t attention_count;
  float probability;  // mean over its tokens
  int32_t reserved;
} heed_speech_word;

// A stretch of speech, such as a sentence.
typedef struct heed_speech_segment {
  double begin, end;   // seconds since the stream began
  const char* text;    // usually with a space at its front
  size_t text_bytes;   // without the final 0
  const int32_t* ids;  // tokens of the text and its times
  size_t id_count;
  const char* language;  // the spoken language, from models of several languages; else ""
  // Of the segment's window: the mean of log(probability) of its tokens, the probability that there is no speech, and the temperature.
  float log_probability, no_speech, temperature;
  int32_t reserved;
  double window_begin;            // where the sound of the window begins, in seconds since the stream began
  const heed_speech_word* words;  // if heed_speech_options::words
  size_t word_count;
} heed_speech_segment;

// The text of these samples; waits for it. InvalidArgument: a sample is NaN or far outside -1 .. 1, or an option is outside its range.
// Unsupported: the model lacks this language or task. InvalidFile: the model's logits are NaN or infinite.
HEED_API heed_status heed_speech_recognizer_recognize(heed_speech_recognizer* recognizer, const float* samples,
                                                      size_t count, const heed_speech_options* options,
                                                      heed_speech_text** text);
HEED_API heed_status heed_speech_text_destroy(heed_speech_text* text);

// Pointers are valid until the text is destroyed.
typedef struct heed_speech_text_info {
  size_t size;
  const heed_speech_segment* segments;
  size_t segment_count;
  const char* text;  // texts of all segments, concatenated
  size_t text_bytes;
} heed_speech_text_info;
HEED_API heed_status heed_speech_text_get_info(heed_speech_text* text, heed_speech_text_info* info);

// --- Streams --------------------------------------------------------------------------------------------------

// Begins a stream, and compiles plans that no earlier one needed. Errors are those of recognize.
HEED_API heed_status heed_speech_stream_begin(heed_speech_recognizer* recognizer, const heed_speech_options* options,
                                              heed_speech_stream** stream);
// Waits for the step that poll began, if any.
HEED_API heed_status heed_speech_stream_destroy(heed_speech_stream* stream);

// Adds samples, which are copied; those that have become text are released. InvalidArgument: finish was called, or a sample is NaN or far
// outside -1 .. 1; nothing is added then.
HEED_API heed_status heed_speech_stream_push(heed_speech_stream* stream, const float* samples, size_t count);
// Tells the end of the sound: the rest of it becomes text, too.
HEED_API heed_status heed_speech_stream_finish(heed_speech_stream* stream);
// *busy becomes 1 if a step has work before more sound arrives.
HEED_API heed_status heed_speech_stream_busy(heed_speech_stream* stream, int32_t* busy);
// *seconds becomes the length of all pushed samples.
HEED_API heed_status heed_speech_stream_seconds(heed_speech_stream* stream, double* seconds);

// The result of a step. Pointers are valid until the next call for the stream.
typedef struct heed_speech_piece {
  size_t size;
  const heed_speech_segment* segments;  // those that became final
  size_t segment_count;
  // The text of the incomplete window so far, if heed_speech_options::partial_seconds is set; it may change.
  const char* partial;
  size_t partial_bytes;
  int32_t token;  // the token that the step drew; -1: none
  int32_t done;   // 1: a step has ended
} heed_speech_piece;
// Encodes a window, or decodes one or several tokens, and waits for it. Does nothing if there is nothing to do.
HEED_API heed_status heed_speech_stream_step(heed_speech_stream* stream, heed_speech_piece* piece);
// The same without waiting: begins a step, or returns the last one's result and begins the next. With heed_speech_options::words the times of
// a window's words are computed over several calls. After a failure of step or poll, the current window is lost, and the stream continues
// after it.
HEED_API heed_status heed_speech_stream_poll(heed_speech_stream* stream, heed_speech_piece* piece);
// Discards all sound that has not become text. Time goes on.
HEED_API heed_status heed_speech_stream_cancel(heed_speech_stream* stream);

#ifdef __cplusplus
}
#endif

#endif
