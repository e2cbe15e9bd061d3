-- heed for xmake, from the sources that this file lies in: includes("engine/packaging/xmake"), then add_requires("heed").
package("heed")
    set_description("Transformers as Vulkan compute passes inside the program that owns the GPU, and on the CPU")
    set_license("MIT")
    set_sourcedir(path.join(os.scriptdir(), "..", "..", ".."))

    for _, part in ipairs({"cpu", "vulkan", "text", "onnx"}) do
        add_configs(part, {description = "Build with HEED_" .. part:upper(), default = true, type = "boolean"})
    end
    add_configs("system", {description = "Take the libraries of the system, none of a repository", default = false, type = "boolean"})
    add_configs("objects_of", {description = "HEED_OBJECTS_OF, for tests", default = "", type = "string"})

    on_load(function (package)
        if not package:config("system") then
            package:add("deps", "nlohmann_json")
            if package:config("cpu") then package:add("deps", "highway") end
            if package:config("vulkan") then package:add("deps", "vulkan-headers", "zlib") end
            if package:config("text") then package:add("deps", "utf8proc") end
            if package:config("onnx") then package:add("deps", "protozero") end
        elseif not package:config("shared") then
            if package:config("text") then package:add("syslinks", "utf8proc") end
            if package:config("vulkan") then package:add("syslinks", "z") end
        end
        if package:config("shared") then package:add("defines", "HEED_SHARED") end
        if package:is_plat("linux", "bsd") then package:add("syslinks", "dl", "pthread", "m") end
        package:add("links", "heed")
    end)

    on_install(function (package)
        local configs = {"-DHEED_BUILD_TESTS=OFF", "-DHEED_BUILD_SAMPLES=OFF", "-DHEED_BUILD_BENCH=OFF", "-DHEED_WERROR=OFF",
                         "-DHEED_CCACHE=OFF", "-DHEED_OBJECTS_OF=" .. package:config("objects_of")}
        for _, part in ipairs({"cpu", "vulkan", "text", "onnx"}) do
            table.insert(configs, "-DHEED_" .. part:upper() .. "=" .. (package:config(part) and "ON" or "OFF"))
        end
        table.insert(configs, "-DCMAKE_BUILD_TYPE=" .. (package:is_debug() and "Debug" or "Release"))
        table.insert(configs, "-DBUILD_SHARED_LIBS=" .. (package:config("shared") and "ON" or "OFF"))
        import("package.tools.cmake").install(package, configs)
    end)

    on_test(function (package)
        assert(package:check_cxxsnippets({test = [[
            void test() {
                heed::Graph graph;
                graph.output("y", graph.input("x", {1, 8}));
            }
        ]]}, {configs = {languages = "c++20"}, includes = "heed/heed.hpp"}))
    end)
package_end()
