# Results on the CPU device and on each driver: operations, goldens, random graphs, hosts, failures.

# The system's lavapipe must start. The other drivers are fetched, and their tests are skipped if that fails.
heed_test(driver.lavapipe LABELS all driver MAKES driver.lavapipe COMMAND sh -c "\"${with}\" lavapipe true || exit 1")
heed_test(driver.lavapipe-26 LABELS all driver COST 30 MAKES driver.lavapipe-26 COMMAND ${with} lavapipe-26 true)
# This test reads apt's lists, which no other test may change meanwhile.
heed_test(driver.swiftshader LABELS all driver COST 30 MAKES driver.swiftshader ALONE_WITH apt COMMAND ${with} swiftshader true)

# The CPU device with every instruction set of this processor, and all tests without a Vulkan device. Also finds programs that need a Vulkan
# loader to start. samples.cmake has tests of real models; those of the interpreter and of reproducible plans are below.
set(no_models "~[.]~[model]~[language_model]~[speech_model]")
heed_catch_test(cpu.tests none "${no_models}~[interpreter]~[reproducible]" LABELS all cpu COST 70)
heed_catch_test(cpu.quick none "${no_models}~[slow]" LABELS quick COST 50)
heed_test(cpu.goldens LABELS quick all cpu COST 10 COUNTED
  COMMAND ${tests}/goldens/all_on.sh cpu ${with} none $<TARGET_FILE:heed_program> verify --device all ${tests}/goldens
          ${tests}/goldens-gradients)

# The system's lavapipe with subgroups of 8, and the layers that detect missing barriers: goldens, gradients of one golden of each system,
# and tables; one golden file of each system without subgroup operations. This test, widths, swiftshader and interpreter run different
# shares of each table, and the CPU runs all of it. The driver's compiler takes nearly all of the time: four times as long on Debian 13 as
# on Debian 12, and a third less without LLVM's optimizations. The quick tests leave gradients, sampling and decoders to the CPU.
set(lavapipe SET HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt)
heed_catch_test(lavapipe-256.tables lavapipe-256 "[ops],[random],[drivers]~[slow]" LABELS all lavapipe COST 130
  ${lavapipe} HEED_TEST_EVERY=48 DEFAULTS HEED_RANDOM_CASES=75)
heed_catch_test(lavapipe-256.goldens lavapipe-256 "goldens: pass*,goldens: gradients of one*" LABELS all lavapipe COST 50
  ${lavapipe})
heed_catch_test(lavapipe-256.goldens-no-subgroups lavapipe-256 "goldens: one of each system passes*" LABELS all lavapipe COST 30
  ${lavapipe} HEED_SUBGROUPS=never)
heed_catch_test(lavapipe-256.quick lavapipe-256
  [[[ops]~[random]~[model_files]~[slow]~"sample:*"~"decoders*",goldens: one of each system passes*]] LABELS quick COST 90
  ${lavapipe} HEED_TEST_EVERY=240)

# Finds kernels that are wrong with small or large subgroups: a 64th of each table, one golden file of each system, and random graphs until
# each kernel variant has run. Tests of hosts do not depend on subgroups. Long tests of quantized weights, sampling and decoders are left
# out, since other cases run their kernels.
foreach(width IN ITEMS 128 512)
  set(every 64)
  if(width EQUAL 512)
    set(every 64+32)
  endif()
  heed_catch_test(lavapipe-${width}.tables lavapipe-${width}
    [=[[ops]~"quantized weights*"~"projections by quantized*"~"sample: every*"~"rounded rows*"~"decoders say*"~"models in GGUF*",goldens: one of each system*,[random],[drivers]~[slow]]=]
    LABELS all widths COST 40 ${lavapipe} HEED_TEST_EVERY=${every} DEFAULTS HEED_RANDOM_CASES=40)
endforeach()

# Kernels on matrix units, and calls that only the newest Mesa and validation layer reject. This compiler takes seconds for each attention
# kernel on matrix units. Tests whose kernels run elsewhere are left out, since they take minutes: training, gradients of goldens, decoders,
# matmul of exact multiples, and split attention.
heed_catch_test(lavapipe-26.tables lavapipe-26
  [=["*on every device"~"goldens*"~"attention*"~"decoder*"~"models in GGUF*"~[train]~[reproducible]~"quantized weights by multiples*",[one_golden_each]~"goldens: gradients*",[random]~"gradients are what*",[matrix],[drivers]~[slow],adopt*]=]
  LABELS all lavapipe-26 COST 100 ${lavapipe} HEED_TEST_EVERY=192 DEFAULTS HEED_RANDOM_CASES=40)
heed_catch_test(lavapipe-26.attention lavapipe-26
  "attention on every*,attention beside*,attention with biases*,attention_backward on*"
  LABELS all lavapipe-26 COST 50 ${lavapipe} HEED_TEST_EVERY=384 DEFAULTS HEED_RANDOM_CASES=40)

# A driver that shares no code with Mesa: a device without 16-bit storage and with 256 invocations. SwiftShader is slow and compiles kernels
# again for each device. So slow tests that do not depend on the driver are left to lavapipe and the CPU: checks by the layers or by heed
# itself, and all but one test of frames that are recorded in parts.
string(JOIN "" not_on_swiftshader
  ~[.]~[model]~[language_model]~[speech_model]~[speech]~[cpu]~[base]~[graph]~[interpreter]~[io]~[text]~[bpe]~[tokenizer]~[bert]~[talk]~[chat]~[grammar]~[decoder]
  ~[hostile]~[curve]~[train]~[reproducible]~[async]~[readme]~[tuning] [[~"goldens: pass*"~"goldens: gradients*"~"*whatever call fails*"]]
  [[~"self-test: *"~"sample: every*"~"pipelines: many*"~"weights of f16*"~"models in GGUF*"~"started: runs of several*"]]
  [[~"state: more than one piece*"~"rounded rows: results*"~"adopt: nothing*"~"Every layer of nn*"~"record: 1*"~"sync_needs: *"]]
  [[~"allocator: each request*"~"custom: a host's pass between*"~"failures: run copies*"~"record_some: a pass is cut*"]]
  [[~"record_some: learns*"~"record_some: parts in flight*"~"record_some: without*"~"record_some: what changes*"]]
  [[~"record: the first*"~"started: a run that takes*"~"pipelines: made in*"~"open: a pipeline cache*"]])
heed_catch_test(swiftshader.tests swiftshader "${not_on_swiftshader}" LABELS all swiftshader COST 140
  SET HEED_TEST_DEVICES=swiftshader HEED_TEST_EVERY=96+1 DEFAULTS HEED_RANDOM_CASES=40)

# Calls that the validation layers reject, failures that heed does not report, and mistakes inside a host. The quick tests leave out
# self-tests of whole devices, language models, text encoders, nearly all training, and other slow tests. Of the tests in which each call
# fails once they keep one.
set(not_in_vulkan
  [=[~[.]~[model]~[language_model]~[speech_model]~[speech]~[ops]~[goldens]~[random]~[cpu]~[base]~[graph]~[interpreter]~[io]~[bpe]~[tokenizer]~[text]~[hostile]~[reproducible]~"self-test: *"]=])
heed_catch_test(vulkan.tests lavapipe-256 "${not_in_vulkan}" LABELS all vulkan COST 140 ${lavapipe})
heed_catch_test(vulkan.self-tests lavapipe-256 [["self-test: *"]] LABELS all vulkan COST 220 ${lavapipe})
heed_catch_test(vulkan.quick lavapipe-256
  "${not_in_vulkan}~[talk]~[chat]~[grammar]~[bert]~[narrow]~[decoder]~[curve]~\"gradients: *\"~\"a training step*\"~\"lora: *\"~[slow]"
  LABELS quick COST 100 ${lavapipe})

# Kernels for other GPUs, on machines with different subgroups and matrix units (interpreter/device.hpp): races, accesses outside of
# bindings, reads of unwritten memory and missing barriers. The quick tests run tables from their second case on, which skips the large
# matmul in each 60 cases. These commands run everything on one machine, and list barriers whose removal no test detects:
#   HEED_TEST_DEVICES=spirv:nvidia tests/drivers/with.sh none build/tests/heed_tests "[ops],[goldens],[random]"
#   HEED_MUTATIONS=100 tests/drivers/with.sh none build/tests/heed_tests "interpreter: kernels without*"
set(machines SET HEED_TEST_DEVICES=spirv HEED_RANDOM_CASES=100 HEED_COMPOSITIONS=20)
heed_catch_test(interpreter.faults none "[interpreter]" LABELS all interpreter COST 35 ${machines})
heed_catch_test(interpreter.goldens none
  "goldens: one of each system passes*,goldens: pass with*,random graphs on every*,compositions of operations*"
  LABELS all interpreter COST 55 ${machines})
# Only language models with f32 caches: 16-bit caches and GGUF files use kernels that other tables test.
heed_catch_test(interpreter.tables none
  [=["*on every device"~"goldens*"~"compositions*"~[reproducible]~"decoder: keys*"~"models in GGUF*"]=]
  LABELS all interpreter COST 80 ${machines} HEED_TEST_EVERY=16+2)
heed_catch_test(interpreter.quick none
  [=["*on every device"~"goldens*"~"compositions*"~"gradients are what*"~"remat*"~"decoder*"~"models in*"~[reproducible]]=]
  LABELS quick COST 30 ${machines} HEED_TEST_EVERY=60+1)

# The validation layer checks each memory access on the device; the first test shows that it reports a wrong access. The interpreter checks
# the accesses of every kernel variant. This test checks what the interpreter assumes: that heed binds the same ranges on a driver. This
# command runs every variant here, too, and takes ten minutes:
#   HEED_CHECK_BOUNDS=1 HEED_RANDOM_CASES=0 tests/drivers/with.sh lavapipe-26 build/tests/heed_tests "random graphs on every*"
set(checked SET GALLIVM_PERF=nopt HEED_TEST_EVERY=24 HEED_CHECK_BOUNDS=1 HEED_TEST_DEVICES=vulkan HEED_COMPOSITIONS=2)
heed_catch_test(bounds.reported lavapipe-26 "[bounds]" LABELS all bounds COST 3 ${checked})
heed_catch_test(bounds.tests lavapipe-26
  "compositions*,[custom],record:*,concat*,cast*,embedding*,mean on*,elementwise on*,softmax on*" LABELS all bounds COST 15 ${checked})

# Results that depend on uninitialized memory, which no sanitizer detects. Valgrind supports instructions up to AVX2. Reproducible plans
# access memory in the same loops, and are left to the sanitizers.
heed_catch_test(memcheck none [=["*on every device"~"goldens*"~[reproducible],random graphs on the CPU*]=] LABELS all COST 49
  SET HEED_TEST_EVERY=18 HEED_TEST_DEVICES=cpu RUN_BY valgrind -q --error-exitcode=9)

# Devices whose reproducible plans have other bits than this version of heed must give, and accidental changes of the canon. Interpreted
# kernels have no fingerprints and few random graphs, which would take minutes. Emulated matmul is left out, since reproducible plans do not
# emulate.
set(canon SET GALLIVM_PERF=nopt HEED_COMPOSITIONS=2)
set(canon_of_devices
  "reproducible: every operation*,reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*,reproducible: training*")
heed_catch_test(reproducible.cpu none "[reproducible]~[language_model]" LABELS all reproducible COST 8
  SET HEED_TEST_DEVICES=cpu)
heed_catch_test(reproducible.interpreter none
  "reproducible: devices compute*,reproducible: losses*,reproducible: steps*,reproducible: f16*,reproducible: random*,reproducible: compositions*"
  LABELS all reproducible COST 20 ${canon} HEED_RANDOM_CASES=4 HEED_TEST_DEVICES=spirv:floor,spirv:amd)
heed_catch_test(reproducible.tables none [=[[ops]~[slow]~[random]~"matmul that may emulate*"]=] LABELS all reproducible COST 20
  SET HEED_TEST_REPRODUCIBLE=1 HEED_TEST_DEVICES=cpu HEED_TEST_EVERY=8)
heed_test(reproducible.goldens LABELS all reproducible driver COST 20 COUNTED NEEDS driver.lavapipe
  COMMAND ${with} lavapipe-256 $<TARGET_FILE:heed_program> verify --bits --device llvmpipe ${tests}/goldens)
foreach(driver IN ITEMS lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader)
  set(filter "${canon_of_devices}")
  if(driver STREQUAL "lavapipe-256")  # leaves out tests of the CPU's plans and of sources
    set(filter [=[[reproducible]~[language_model]~"*fault*"~"*a network*"~"*the text of*"]=])
  endif()
  heed_catch_test(reproducible.${driver} ${driver} "${filter}" LABELS all reproducible COST 25
    ${canon} HEED_RANDOM_CASES=10 HEED_TEST_DEVICES=cpu,vulkan)
endforeach()

# Every kernel variant on many more cases than elsewhere: HEED_RANDOM_CASES on each driver, and HEED_COMPOSITIONS graphs of many operations.
# A failure says how to repeat it.
set(cases HEED_RANDOM_CASES=2000)
foreach(driver IN ITEMS lavapipe-128 lavapipe-256 lavapipe-512 lavapipe-26 swiftshader)
  heed_catch_test(random.${driver} ${driver} "random graphs on every kernel variant" LABELS slow random DEFAULTS ${cases})
  heed_catch_test(random.${driver}.compositions ${driver} "compositions of operations on every device" LABELS slow random
    DEFAULTS ${cases} "HEED_COMPOSITIONS=$((HEED_RANDOM_CASES / 20))")
  heed_catch_test(random.${driver}.gradients ${driver} "gradients are what central differences say*" LABELS slow random
    DEFAULTS ${cases})
  heed_catch_test(random.${driver}.training ${driver} "[curve]" LABELS slow random SET HEED_ALL_STEPS=1)
endforeach()
heed_catch_test(random.interpreter none "random graphs on every kernel variant" LABELS slow random
  SET HEED_TEST_DEVICES=spirv DEFAULTS ${cases})
