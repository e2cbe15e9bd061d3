// Keys and values of a conversation's first tokens, from its State into bytes and back.
#pragma once

#include "text/generator/conversation.hpp"

namespace heed {

// A fingerprint of the names, types and sizes of keys and values of one token. Bytes of one State fit another with the same layout,
// whatever its context and number of rows.
uint64_t layout_of_keys(const State& state);
uint64_t key_bytes_of_token(const State& state);

// Both copy the first `count` tokens. OutOfMemory; other failures are those of State::read and write.
Status read_keys(const TextConversation::Impl& c, size_t count, std::byte* to);
Status write_keys(const TextConversation::Impl& c, size_t count, const std::byte* from);
// Writes the State's tokens: those that the repetition penalty counts, and the last one drawn.
Status write_text(const TextConversation::Impl& c);

}  // namespace heed
