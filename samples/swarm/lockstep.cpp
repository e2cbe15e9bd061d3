#include "lockstep.hpp"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <vector>

#include "lockstep_world.hpp"
#include "vulkan.hpp"

#if !defined(_WIN32)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
#endif

namespace swarm {
namespace {

constexpr uint32_t kUsualFrames = 10000, kReported = 1000;
constexpr char kMagic[] = "heed swarm replay 1\n";

// A simulated player who holds some keys for a while, then others.
class Player {
 public:
  explicit Player(uint32_t seed) : random_(seed) {}
  Keys press() {
    if (left_-- > 0) return keys_;
    random_ = random_ * 1664525u + 1013904223u;
    keys_ = static_cast<Keys>(random_ >> 28);
    left_ = static_cast<int>(random_ >> 20 & 31u);
    return keys_;
  }

 private:
  uint32_t random_;
  Keys keys_ = 0;
  int left_ = 0;
};

void report(uint32_t frame, const LockstepWorld& world) {
  if (frame % kReported != 0) return;
  std::printf("frame %6u  %016" PRIx64 "  %s\n", frame, world.hash(), world.device().c_str());
  std::fflush(stdout);
}

void replay(const std::string& file, const std::string& device) {
  std::ifstream in(file, std::ios::binary);
  std::string magic(sizeof kMagic - 1, '\0');
  in.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (!in || magic != kMagic) throw Failure("--replay: " + file + " is no replay");
  LockstepWorld world(device);
  uint32_t frame = 0;
  for (char keys[2]; in.read(keys, 2);) {
    world.step({static_cast<Keys>(keys[0]), static_cast<Keys>(keys[1])});
    report(++frame, world);
  }
  std::printf("%u frames replayed on %s: the world is %016" PRIx64 "\n", frame, world.device().c_str(), world.hash());
}

#if !defined(_WIN32)

// The message of a frame: the pressed keys, and the hash of the world before.
struct Message {
  uint32_t frame = 0;
  uint32_t keys = 0;
  uint64_t hash = 0;
};

class Socket {
 public:
  explicit Socket(int handle) : handle_(handle) {
    if (handle < 0) throw Failure("--lockstep: the system provides no socket");
  }
  ~Socket() { close(handle_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int handle() const { return handle_; }

  void at_once() const {
    const int on = 1;
    setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  void send_all(const Message& message) const {
    if (send(handle_, &message, sizeof message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message))
      throw Failure("--lockstep: the other process has ended");
  }
  Message receive() const {
    Message message;
    if (recv(handle_, &message, sizeof message, MSG_WAITALL) != static_cast<ssize_t>(sizeof message))
      throw Failure("--lockstep: the other process has ended");
    return message;
  }

 private:
  int handle_;
};

sockaddr_in loopback(uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Plays all frames; `team` is 0 for the process that was started first. Returns the pressed keys.
std::vector<PressedKeys> play(const Socket& other, LockstepWorld& world, uint32_t frames, size_t team) {
  std::vector<PressedKeys> all;
  Player player(static_cast<uint32_t>(team) * 77 + 5);
  for (uint32_t frame = 1; frame <= frames + 1; ++frame) {
    const Message mine = {frame, frame > frames ? 0u : player.press(), world.hash()};
    other.send_all(mine);
    const Message theirs = other.receive();
    if (theirs.frame != frame || theirs.hash != mine.hash) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "--lockstep: the worlds part at frame %u: %016" PRIx64 " here, %016" PRIx64 " there", frame - 1,
                    mine.hash, theirs.hash);
      throw Failure(text);
    }
    if (frame > frames) break;
    PressedKeys pressed = {};
    pressed[team] = static_cast<Keys>(mine.keys);
    pressed[1 - team] = static_cast<Keys>(theirs.keys);
    world.step(pressed);
    all.push_back(pressed);
    report(frame, world);
  }
  return all;
}

// Connects before the device is opened: if that fails, the host notices the closed connection.
void join(uint32_t port, const std::string& device, uint32_t frames) {
  const Socket socket_to(socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = loopback(port);
  if (connect(socket_to.handle(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Failure("--lockstep: the first process does not answer");
  socket_to.at_once();
  LockstepWorld world(device);
  play(socket_to, world, frames, 1);
}

void host(const LockstepOptions& options, const std::string& device, uint32_t frames, const char* program) {
  const Socket listening(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening.handle(), any, sizeof address) != 0 || listen(listening.handle(), 1) != 0 ||
      getsockname(listening.handle(), any, &length) != 0)
    throw Failure("--lockstep: there is no free port");
  LockstepWorld world(device);
  const std::string port = std::to_string(ntohs(address.sin_port)), count = std::to_string(frames);
  const char* arguments[] = {program,    "--lockstep",  "--join", port.c_str(), "--device", options.beside.c_str(),
                             "--frames", count.c_str(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program, nullptr, nullptr, const_cast<char* const*>(arguments), environ) != 0)
    throw Failure("--lockstep: the second process does not start");
  const Socket socket_to(accept(listening.handle(), nullptr, nullptr));
  socket_to.at_once();
  const std::vector<PressedKeys> pressed = play(socket_to, world, frames, 0);
  int code = 0;
  if (waitpid(child, &code, 0) != child || code != 0) throw Failure("--lockstep: the second process failed");
  std::printf("%u frames in lockstep, on %s and on %s: the world is %016" PRIx64 " on both\n", frames,
              world.device().c_str(), options.beside.c_str(), world.hash());
  if (options.record.empty()) return;
  std::ofstream out(options.record, std::ios::binary);
  out << kMagic;
  for (const PressedKeys& keys : pressed) out.put(static_cast<char>(keys[0])).put(static_cast<char>(keys[1]));
  out.close();
  if (!out) throw Failure("--record: cannot write " + options.record);
}

#endif

}  // namespace

void run_lockstep(const LockstepOptions& options, const std::string& device, uint32_t frames, const char* program) {
  if (!options.replay.empty()) return replay(options.replay, device);
  const uint32_t count = frames == 0 ? kUsualFrames : frames;
#if defined(_WIN32)
  static_cast<void>(program);
  throw Failure("--lockstep: on Windows only --replay works");
#else
  if (options.port != 0)
    join(options.port, device, count);
  else
    host(options, device, count, program);
#endif
}

}  // namespace swarm
