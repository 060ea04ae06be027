# All test programs in C++.
add_custom_target(unit_tests)
# Tests of code that more than one thread runs: what the thread sanitizer is for. Built by this target, and run
# by the label `threads`.
add_custom_target(threaded_tests)
function(casemate_threaded_test program test)
  add_dependencies(threaded_tests ${program})
  set_property(TEST ${test} APPEND PROPERTY LABELS threads)
endfunction()

# casemate_library(NAME [THREADS] [SOURCES x.cc ...] [USES lib ...] [LINKS target ...] [PUBLIC_LINKS target ...])
#
# Makes the library casemate_NAME from src/NAME/*.cc and the test program NAME_test from
# src/NAME/*_test.cc. USES names libraries of ours whose headers its headers may include; THREADS says that more
# than one thread is in it.
function(casemate_library name)
  cmake_parse_arguments(ARG "THREADS" "" "SOURCES;USES;LINKS;PUBLIC_LINKS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${dir}/*.cc)
    list(FILTER ARG_SOURCES EXCLUDE REGEX "_test\\.cc$")
  endif()
  add_library(casemate_${name} STATIC ${ARG_SOURCES})
  target_include_directories(casemate_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(used ${ARG_USES})
    target_link_libraries(casemate_${name} PUBLIC casemate_${used})
  endforeach()
  target_link_libraries(casemate_${name} PUBLIC ${ARG_PUBLIC_LINKS} PRIVATE ${ARG_LINKS})

  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE casemate_${name} GTest::gtest_main)
    add_dependencies(unit_tests ${name}_test)
    add_test(NAME unit_${name} COMMAND ${name}_test)
    set_tests_properties(unit_${name} PROPERTIES LABELS unit TIMEOUT 300)
    if(ARG_THREADS)
      casemate_threaded_test(${name}_test unit_${name})
    endif()
  endif()
endfunction()
