// Indices in a row of an optimizer's settings, and in its factors; see engine/base/update.hpp.
#ifndef HEED_SHADERS_UPDATE_WORDS_H
#define HEED_SHADERS_UPDATE_WORDS_H

#define HEED_UPDATE_RATE 0u
#define HEED_UPDATE_DECAY 1u
#define HEED_UPDATE_FIRST 2u
#define HEED_UPDATE_FIRST_REST 3u
#define HEED_UPDATE_SECOND 4u
#define HEED_UPDATE_SECOND_REST 5u
#define HEED_UPDATE_EPS 6u
#define HEED_UPDATE_LOG_FIRST 7u
#define HEED_UPDATE_LOG_SECOND 8u
#define HEED_UPDATE_GRADIENT 9u
#define HEED_UPDATE_MOST_NORM 10u
#define HEED_UPDATE_APPLIES 11u

#define HEED_FACTOR_GRADIENT 0u
#define HEED_FACTOR_TAKEN 1u
#define HEED_FACTOR_NORM 2u
#define HEED_FACTOR_STEP 3u

#define HEED_SQUARES_BLOCK 4096u

#endif
