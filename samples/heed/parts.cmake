# Code that `heed` shares with the tests: the golden runner, byte counts of passes, and traces. heed_program_works: the rows of `heed bench` and
# the works of reports, which need the library's layers for models and the operation cases of its self-test.
if(NOT TARGET heed_program_parts)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/golden/*.cpp)
  add_library(heed_program_parts OBJECT ${parts} ${CMAKE_CURRENT_LIST_DIR}/bench/passes.cpp
                                        ${CMAKE_CURRENT_LIST_DIR}/bench/trace.cpp ${CMAKE_CURRENT_LIST_DIR}/json.cpp)
  target_include_directories(heed_program_parts PUBLIC ${CMAKE_CURRENT_LIST_DIR})
  target_link_libraries(heed_program_parts PUBLIC heed_include PRIVATE heed_warnings nlohmann_json::nlohmann_json)
  add_library(heed_program_works OBJECT ${CMAKE_CURRENT_LIST_DIR}/bench/cases.cpp ${CMAKE_CURRENT_LIST_DIR}/bench/decode.cpp
                                        ${CMAKE_CURRENT_LIST_DIR}/report/works.cpp)
  target_include_directories(heed_program_works PUBLIC ${CMAKE_CURRENT_LIST_DIR} PRIVATE ${PROJECT_BINARY_DIR}/layers/cases)
  target_link_libraries(heed_program_works PUBLIC heed_include PRIVATE heed_warnings)
endif()
