// Keys and values of a conversation's first tokens, from its State into bytes and back.
#pragma once

#include "text/generator/conversation.hpp"

namespace heed {

// Tells apart what lies in States: bytes of one layout fit another State of the same layout, whatever its context and number of rows.
uint64_t layout_of_keys(const State& state);
uint64_t key_bytes_of_token(const State& state);

// These are of the first `count` tokens; OutOfMemory, or what State::read and write return.
Status read_keys(const TextConversation::Impl& c, size_t count, std::byte* to);
Status write_keys(const TextConversation::Impl& c, size_t count, const std::byte* from);
// Writes the text that lies beside them: which tokens repetition is counted of, and the one that was drawn last.
Status write_text(const TextConversation::Impl& c);

}  // namespace heed
