#!/usr/bin/env python3
"""Checks the recipes of engine/packaging and builds those whose tool is installed, offline, with the system's libraries.

    recipes.py BUILD WORK    BUILD: heed's build, whose objects are reused; WORK: a folder for the results, emptied first

Prints "ok ..." or "FAIL ..." for each check, and "SKIPPED: ..." if a tool is not available.
"""
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
RECIPES = os.path.join(ROOT, "engine", "packaging")
# heed's CMake finds these, under each tool's names.
NEEDS = {
    "vcpkg": {"cpu": {"highway"}, "onnx": {"protozero"}, "text": {"utf8proc"}, "vulkan": {"vulkan-headers", "zlib"},
              "": {"nlohmann-json"}},
    "conan": {"cpu": {"highway"}, "onnx": {"protozero"}, "text": {"utf8proc"}, "vulkan": {"vulkan-headers", "zlib"},
              "": {"nlohmann_json"}},
    "xmake": {"cpu": {"highway"}, "onnx": {"protozero"}, "text": {"utf8proc"}, "vulkan": {"vulkan-headers", "zlib"},
              "": {"nlohmann_json"}},
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def check(name, problem):
    """problem: "" if there is none."""
    print(f"FAIL {name}: {problem}" if problem else f"ok {name}", flush=True)
    return not problem


def run(*command, folder=None, **variables):
    """Runs a command; returns "" or what went wrong."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout)  # for the log
    return "" if done.returncode == 0 else f"{' '.join(command[:3])} ended with {done.returncode}"


# --- What the recipes say.

def cmake_options():
    return set(re.findall(r"^option\((\w+)", read(ROOT, "CMakeLists.txt") + read(ROOT, "engine", "build_time.cmake"), re.M))


def version():
    return re.search(r"project\(heed VERSION ([0-9.]+)", read(ROOT, "CMakeLists.txt")).group(1)


def differences(kind, told, want):
    return "" if told == want else f"{kind} {sorted(told)}, and should be {sorted(want)}"


def check_vcpkg():
    manifest = json.loads(read(RECIPES, "vcpkg", "heed", "vcpkg.json"))
    names = lambda items: {item if isinstance(item, str) else item["name"] for item in items
                           if not (isinstance(item, dict) and item.get("host"))}
    told = {feature: names(what.get("dependencies", [])) for feature, what in manifest["features"].items()}
    told[""] = names(manifest["dependencies"])
    port = read(RECIPES, "vcpkg", "heed", "portfile.cmake")
    parts = dict(re.findall(r"^  (\w+) (HEED_\w+)", port, re.M))
    problem = ""
    if manifest["name"] != "heed" or manifest["version"] != version():
        problem = f"{manifest['name']} {manifest['version']}, and should be heed {version()}"
    elif told != NEEDS["vcpkg"]:
        problem = f"it depends on {told}"
    elif set(manifest["default-features"]) != set(manifest["features"]) or set(parts) != set(manifest["features"]):
        problem = f"features {sorted(manifest['features'])}, and the port's {sorted(parts)}"
    check("vcpkg: manifest", problem)
    given = set(parts.values()) | set(re.findall(r"-D(HEED_\w+)", port))
    check("vcpkg: options of CMake", differences("options", given & cmake_options(), given))


def check_conan():
    text = read(RECIPES, "conan", "conanfile.py")
    compile(text, "conanfile.py", "exec")
    told = {"": set()}
    part = ""  # the option of the block
    for line in text.splitlines():
        condition = re.match(r"        if self\.options\.(\w+):$", line)
        if condition or not line.startswith(" " * 12):
            part = condition.group(1) if condition else ""
        asked = re.search(r"self\.requires\(\"([\w-]+)/", line)
        if asked:
            told.setdefault(part, set()).add(asked.group(1))
    check("conan: what it requires", "" if told == NEEDS["conan"] else f"{told}")
    given = set(re.findall(r"\"(HEED_\w+)\"", text)) - {"HEED_SHARED"}
    check("conan: options of CMake", differences("options", given & cmake_options(), given))


def check_xmake():
    text = read(RECIPES, "xmake", "xmake.lua")
    told = {"": set()}
    for line in text.splitlines():
        found = re.match(r"\s+(?:if package:config\(\"(\w+)\"\) then )?package:add\(\"deps\", ([\w\", -]+)\)", line)
        if found:
            told.setdefault(found.group(1) or "", set()).update(re.findall(r"[\w-]+", found.group(2)))
    check("xmake: what it depends on", "" if told == NEEDS["xmake"] else f"{told}")
    given = set(re.findall(r"-D(HEED_[A-Z]\w+)=", text)) - {"HEED_OBJECTS_OF"}
    check("xmake: options of CMake", differences("options", given & cmake_options(), given))


# --- What they build.

def objects_of(build):
    """The build, if its objects can be reused: a Release build of a static library."""
    cache = read(build, "CMakeCache.txt")
    return build if "CMAKE_BUILD_TYPE:STRING=Release" in cache and "BUILD_SHARED_LIBS:BOOL=ON" not in cache else ""


def build_vcpkg(build, work):
    compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", read(build, "CMakeCache.txt")).group(1)
    settings = {"FEATURES": "cpu;onnx;text;vulkan", "SOURCE": ROOT, "BUILD": objects_of(build), "WORK": os.path.join(work, "vcpkg"),
                "COMPILER": compiler, "GENERATOR": "Ninja"}
    check("vcpkg: the port builds, and a program with it", run(
        "cmake", *[f"-D{name}={value}" for name, value in settings.items()], "-P",
        os.path.join(ROOT, "tests", "packaging", "vcpkg_port.cmake")))


def build_conan(build, work):
    home = os.path.join(work, "conan")
    venv = os.path.join(work, "conan-venv")
    conan = shutil.which("conan")
    if not conan:
        problem = run(sys.executable, "-m", "venv", venv) or run(
            os.path.join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "conan>=2,<3")
        if problem:
            print("SKIPPED: conan is not installed and cannot be had from PyPI")
            return
        conan = os.path.join(venv, "bin", "conan")
    variables = {"HEED_OBJECTS_OF": objects_of(build)}
    problem = run(conan, "profile", "detect", CONAN_HOME=home) or run(
        conan, "create", os.path.join(RECIPES, "conan"), "--build=heed*", "--no-remote", "-o", "heed/*:system=True", "-s",
        "compiler.cppstd=20", "-c", f"tools.cmake.cmaketoolchain:extra_variables={json.dumps(variables)}",
        "-c", "tools.cmake.cmaketoolchain:generator=Ninja", "-c", "tools.cmake.cmake_layout:test_folder=" + os.path.join(work, "conan-test"),
        CONAN_HOME=home)
    check("conan: the recipe builds, and a program with it", problem)


def build_xmake(build, work):
    if not shutil.which("xmake"):
        print("SKIPPED: xmake is not installed (Debian sid has it)")
        return
    project = os.path.join(work, "xmake")
    os.makedirs(project)
    with open(os.path.join(project, "xmake.lua"), "w", encoding="utf-8") as file:
        file.write(f'''includes("{RECIPES}/xmake")
add_requires("heed", {{configs = {{system = true, objects_of = "{objects_of(build)}"}}}})
target("consumer")
    set_kind("binary")
    set_languages("c++20")
    add_files("{ROOT}/tests/packaging/consumer/main.cpp")
    add_packages("heed")
''')
    places = {"XMAKE_ROOT": "y", "XMAKE_GLOBALDIR": os.path.join(work, "xmake-global"), "XMAKE_COLORTERM": "nocolor"}
    check("xmake: the package builds, and a program with it",
          run("xmake", "global", "--network=private", **places)  # nothing is fetched
          or run("xmake", "config", "--yes", "-m", "release", folder=project, **places)
          or run("xmake", "build", "--yes", folder=project, **places) or run("xmake", "run", folder=project, **places))


def main():
    build, work = (os.path.realpath(folder) for folder in sys.argv[1:3])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    for checks in (check_vcpkg, check_conan, check_xmake):
        checks()
    for builds in (build_vcpkg, build_conan, build_xmake):
        builds(build, work)


if __name__ == "__main__":
    main()
