"""What CMake needs to find a library: `find_package(<name> CONFIG)`, and a project that builds the examples."""
from __future__ import annotations

from sdfgad.codegen.export.interface import Interface

_CONFIG = """\
# find_package({name} CONFIG PATHS <this folder>) defines the target {name}::{name}.
if(NOT TARGET {name}::{name})
  add_library({name}::{name} SHARED IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.so"
    IMPORTED_SONAME "lib{name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}")
endif()
"""
_PROJECT = """\
# cmake -S examples -B build && cmake --build build
cmake_minimum_required(VERSION 3.13)
project({name}_examples C CXX)
find_package({name} CONFIG REQUIRED PATHS "${{CMAKE_CURRENT_LIST_DIR}}/.." NO_DEFAULT_PATH)

add_executable({name}_c {name}_example.c)
target_link_libraries({name}_c {name}::{name})
add_executable({name}_cpp {name}_example.cpp)
target_link_libraries({name}_cpp {name}::{name})

include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  add_executable({name}_fortran {name}_example.f90)
  target_link_libraries({name}_fortran {name}::{name})
endif()
"""


def package(interface: Interface) -> dict[str, str]:
    """The files by their place in the folder of the library."""
    return {f"{interface.name}Config.cmake": _CONFIG.format(name=interface.name),
            "examples/CMakeLists.txt": _PROJECT.format(name=interface.name)}
