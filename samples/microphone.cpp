#include "microphone.hpp"

#include <heed/speech.hpp>

#ifdef SAMPLES_SDL
#define SDL_MAIN_HANDLED
#include <SDL.h>
#endif

namespace samples {

#ifdef SAMPLES_SDL

Microphone::~Microphone() {
  if (device_ != 0) SDL_CloseAudioDevice(device_);
  if (SDL_WasInit(SDL_INIT_AUDIO) != 0) SDL_Quit();
}

bool Microphone::open() {
  SDL_SetMainReady();
  SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");  // leaves Ctrl-C to the program
  SDL_AudioSpec wanted = {};
  wanted.freq = heed::kSpeechRate;
  wanted.format = AUDIO_F32SYS;
  wanted.channels = 1;
  wanted.samples = 1024;
  if (SDL_Init(SDL_INIT_AUDIO) == 0) device_ = SDL_OpenAudioDevice(nullptr, 1, &wanted, nullptr, 0);
  if (device_ == 0) {
    error_ = std::string("there is no microphone: ") + SDL_GetError();
    return false;
  }
  SDL_PauseAudioDevice(device_, 0);
  return true;
}

void Microphone::read(std::vector<float>* samples) {
  constexpr Uint32 kWaitMs = 10;
  Uint32 bytes = SDL_GetQueuedAudioSize(device_);
  if (bytes == 0) SDL_Delay(kWaitMs);
  if (bytes == 0) bytes = SDL_GetQueuedAudioSize(device_);
  samples->resize(bytes / sizeof(float));
  const Uint32 got = SDL_DequeueAudio(device_, samples->data(), static_cast<Uint32>(samples->size() * sizeof(float)));
  samples->resize(got / sizeof(float));
}

void Microphone::skip() { SDL_ClearQueuedAudio(device_); }

#else

Microphone::~Microphone() = default;
bool Microphone::open() {
  error_ = "there is no microphone: the program was built without SDL2";
  return false;
}
void Microphone::read(std::vector<float>* samples) { samples->clear(); }
void Microphone::skip() {}

#endif

}  // namespace samples
