// The program's modes; each returns an exit code.
#pragma once

#include "persona.hpp"
#include "session.hpp"

namespace talk {

int tokenize(const Options& options);                      // prints the ids of a file
int complete(const Options& options, Session& session);    // answers --prompt, or continues it
int perplexity(const Options& options, Session& session);  // of a file
#ifdef TALK_DRAWS
int look(const Options& options, Session& session);  // draws the attention of the last word of --prompt
#endif
int converse(const Options& options, Session& session);  // with one character
int crowd(const Options& options, Session& session);     // with many at once

// Begins a conversation with a character, examples included.
heed::Status meet(const Options& options, const Persona& persona, uint32_t seed, Session& session,
                  heed::TextConversation* conversation);
uint32_t seed_of(const Options& options);

}  // namespace talk
