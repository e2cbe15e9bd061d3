# Code that `heed` shares with the tests: the golden runner, byte counts of passes, traces, and the works of reports.
if(NOT TARGET heed_program_parts)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/golden/*.cpp)
  add_library(heed_program_parts OBJECT ${parts} ${CMAKE_CURRENT_LIST_DIR}/bench/passes.cpp
                                        ${CMAKE_CURRENT_LIST_DIR}/bench/trace.cpp ${CMAKE_CURRENT_LIST_DIR}/json.cpp
                                        ${CMAKE_CURRENT_LIST_DIR}/bench/cases.cpp ${CMAKE_CURRENT_LIST_DIR}/bench/decode.cpp
                                        ${CMAKE_CURRENT_LIST_DIR}/report/works.cpp)
  # The operation cases of the library's self-test, which `heed bench` and reports time.
  target_include_directories(heed_program_parts PUBLIC ${CMAKE_CURRENT_LIST_DIR} PRIVATE ${PROJECT_BINARY_DIR}/layers/cases)
  target_link_libraries(heed_program_parts PUBLIC heed_include PRIVATE heed_warnings nlohmann_json::nlohmann_json)
endif()
