"""Conan 2 recipe of heed, which builds the sources around this file."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

SOURCES = os.path.join("..", "..", "..")


class Heed(ConanFile):
    name = "heed"
    description = "Transformers as Vulkan compute passes inside the program that owns the GPU, and on the CPU"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    # system: use the libraries installed on the system instead of Conan packages.
    options = {"shared": [True, False], "fPIC": [True, False], "cpu": [True, False], "vulkan": [True, False],
               "text": [True, False], "onnx": [True, False], "system": [True, False]}
    default_options = {"shared": False, "fPIC": True, "cpu": True, "vulkan": True, "text": True, "onnx": True,
                       "system": False}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, SOURCES, "CMakeLists.txt"))
        self.version = re.search(r"project\(heed VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, SOURCES)
        for pattern in ("CMakeLists.txt", "LICENSE", "engine/*", "include/*", "shaders/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def requirements(self):
        if self.options.system:
            return
        self.requires("nlohmann_json/[>=3.7]")
        if self.options.cpu:
            self.requires("highway/[>=1.0.3]")
        if self.options.vulkan:
            self.requires("vulkan-headers/[>=1.3]", transitive_headers=True)
            self.requires("zlib/[>=1.2.11]")
        if self.options.text:
            self.requires("utf8proc/[>=2.8]")
        if self.options.onnx:
            self.requires("protozero/[>=1.7]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("cpu", "vulkan", "text", "onnx"):
            toolchain.cache_variables[f"HEED_{option.upper()}"] = bool(self.options.get_safe(option))
        for off in ("HEED_BUILD_TESTS", "HEED_BUILD_SAMPLES", "HEED_BUILD_BENCH", "HEED_WERROR", "HEED_CCACHE"):
            toolchain.cache_variables[off] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # find_package(heed) uses the files that CMakeDeps generates from this and from the recipes of the libraries that heed links.
        self.cpp_info.set_property("cmake_file_name", "heed")
        self.cpp_info.set_property("cmake_target_name", "heed::heed")
        self.cpp_info.libs = ["heed"]
        if self.options.shared:
            self.cpp_info.defines = ["HEED_SHARED"]
        elif self.options.system:
            parts = {"utf8proc": self.options.text, "z": self.options.vulkan}
            self.cpp_info.system_libs += [library for library, wanted in parts.items() if wanted]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs += ["dl", "pthread", "m"]
