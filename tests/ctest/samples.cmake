# The samples, with good and bad input, and with real models if these can be downloaded.

heed_test(model.minilm LABELS all COST 15 MAKES model.minilm COMMAND ${samples}/search/fetch_model.sh)
heed_test(model.smollm2 LABELS all COST 15 MAKES model.smollm2 COMMAND ${samples}/talk/fetch_model.sh)
heed_test(model.gemma3 LABELS all COST 30 MAKES model.gemma3 COMMAND ${samples}/talk/fetch_model.sh gemma3)
heed_test(model.whisper LABELS all COST 15 MAKES model.whisper COMMAND ${samples}/listen/fetch_model.sh)
set(minilm ${PROJECT_SOURCE_DIR}/.cache/all-MiniLM-L6-v2)
set(smollm2 ${PROJECT_SOURCE_DIR}/.cache/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf)
set(gemma3 ${PROJECT_SOURCE_DIR}/.cache/gemma-3-270m/gemma-3-270m-q4_k_m.gguf)

heed_test(tour.program LABELS all tour COST 3 COUNTED
  COMMAND ${with} none ${samples}/tour/test.sh $<TARGET_FILE:tour> ${PROJECT_BINARY_DIR}/tour-test)
heed_test(tour.lavapipe LABELS all tour driver COST 2 NEEDS driver.lavapipe
  COMMAND ${with} lavapipe $<TARGET_FILE:tour> --device llvmpipe --out ${PROJECT_BINARY_DIR}/tour)

# The 500 sentences of tests/search: all of them on the CPU device, every fiftieth on lavapipe. SwiftShader would need two minutes for
# kernels that its own tests run.
heed_test(search.program LABELS all search COST 10 COUNTED
  COMMAND ${with} none ${samples}/search/test.sh $<TARGET_FILE:search> ${PROJECT_BINARY_DIR}/search-test)
set(sentences LABELS all search NEEDS model.minilm IF ${minilm}/model.safetensors)
heed_catch_test(search.cpu none "[model]" ${sentences} COST 20 SET HEED_REQUIRE_MODEL=1 HEED_ALL_SENTENCES=1 HEED_TEST_DEVICES=cpu)
heed_catch_test(search.lavapipe lavapipe "[model]" ${sentences} COST 30 SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=llvmpipe
  DEFAULTS HEED_ALL_SENTENCES=0)

# Texts of SmolLM2: the CPU device answers eight prompts, lavapipe two. Reproducible plans of the model do not run on lavapipe, whose
# compiler takes a minute for them, since `reproducible` runs plans of tiny models there.
set(says LABELS all models NEEDS model.smollm2 IF ${smollm2})
heed_catch_test(models.cpu none "[language_model]~[gemma3]" ${says} COST 20 SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=cpu)
heed_catch_test(models.lavapipe lavapipe "[language_model]~[reproducible]~[gemma3]" ${says} COST 50
  SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=llvmpipe)
# Texts of Gemma 3: the CPU device continues six prompts, lavapipe two, one of which is longer than the window.
heed_catch_test(models.gemma3 lavapipe "[gemma3]" LABELS all models NEEDS model.gemma3 IF ${gemma3} COST 60
  SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=cpu,llvmpipe)

heed_test(talk.program LABELS all talk COST 8 COUNTED
  COMMAND ${with} none ${samples}/talk/test.sh $<TARGET_FILE:talk> ${PROJECT_BINARY_DIR}/talk-test)
set(whisper ${PROJECT_SOURCE_DIR}/.cache/whisper-tiny.en)
heed_test(talk.models LABELS all talk COST 12 COUNTED NEEDS model.smollm2 AFTER model.gemma3 model.whisper IF ${smollm2}
  COMMAND ${with} none ${samples}/talk/test.sh $<TARGET_FILE:talk> ${PROJECT_BINARY_DIR}/talk-test-models ${smollm2} ${whisper} ${gemma3})

# Text of Whisper tiny.en; and tiny models on lavapipe, which run on the CPU with all other tests.
set(hears LABELS all speech NEEDS model.whisper IF ${whisper}/model.bin)
heed_catch_test(speech.model none "[speech_model]" ${hears} COST 4 SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=cpu)
heed_catch_test(speech.lavapipe lavapipe-256 "[speech]~[hostile]" LABELS all speech COST 20 SET HEED_TEST_DEVICES=llvmpipe GALLIVM_PERF=nopt)
# The same on drivers, whose compilers take minutes.
foreach(driver IN ITEMS lavapipe-256:llvmpipe swiftshader:swiftshader)
  string(REPLACE ":" ";" driver ${driver})
  list(GET driver 0 name)
  list(GET driver 1 device)
  heed_catch_test(speech.model-${device} ${name} "[speech_model]" LABELS slow NEEDS model.whisper IF ${whisper}/model.bin COST 300
    SET HEED_REQUIRE_MODEL=1 HEED_TEST_DEVICES=${device})
endforeach()
if(TARGET listen)
  heed_test(listen.program LABELS all speech COST 3 COUNTED
    COMMAND ${with} none ${samples}/listen/test.sh $<TARGET_FILE:listen> ${PROJECT_BINARY_DIR}/listen-test)
  heed_test(listen.whisper ${hears} COST 12 COUNTED
    COMMAND ${with} none ${samples}/listen/test.sh $<TARGET_FILE:listen> ${PROJECT_BINARY_DIR}/listen-test-whisper ${whisper})
endif()

# Reports of machines: what `heed report` writes here, and those that the repository holds.
heed_test(report LABELS all driver COST 100 COUNTED NEEDS driver.lavapipe-26 SET GALLIVM_PERF=nopt
  COMMAND ${with} lavapipe ${samples}/heed/report/test.sh $<TARGET_FILE:heed_program> ${PROJECT_BINARY_DIR}/report-test llvmpipe
          null-tu102 null-ga102 null-navi21 null-navi31 null-gfx1201 null-dg2 null-bmg null-tgl null-m1 null-a740)
heed_test(reports LABELS all COST 1 COUNTED COMMAND ${tests}/gpu/reports/table.py --check)

heed_test(learn.program LABELS all learn COST 8 COUNTED
  COMMAND ${with} none ${samples}/learn/test.sh $<TARGET_FILE:learn> ${PROJECT_BINARY_DIR}/learn-test)
heed_test(learn.lavapipe LABELS all learn driver COST 4 NEEDS driver.lavapipe
  COMMAND ${with} lavapipe $<TARGET_FILE:learn> --device llvmpipe --out ${PROJECT_BINARY_DIR}/learn-test-lavapipe --fresh --steps 20
          --layers 1 --width 32 --heads 2 --context 32 --batch 4)

# The behaviour of the swarm's crowds, the pictures and the window, on one width of lavapipe and on SwiftShader.
heed_test(swarm.lavapipe-256 LABELS all swarm driver COST 120 COUNTED NEEDS driver.lavapipe
  COMMAND ${with} lavapipe-256 ${samples}/swarm/test.sh ${programs}/swarm ${PROJECT_BINARY_DIR}/swarm-test-lavapipe-256)
heed_test(swarm.swiftshader LABELS all swarm driver COST 80 COUNTED NEEDS driver.swiftshader
  COMMAND ${with} swiftshader ${samples}/swarm/test.sh ${programs}/swarm ${PROJECT_BINARY_DIR}/swarm-test-swiftshader --short)
heed_test(swarm.none LABELS all swarm COST 2 COUNTED
  COMMAND ${with} none ${samples}/swarm/test.sh ${programs}/swarm ${PROJECT_BINARY_DIR}/swarm-test-none --bad-only)

# Godot 4 of Debian sid loads the add-on, headless and under Xvfb with validation, with a safe and a separate render thread: attention on
# Godot's buffers, characters on CPU and GPU, the demo, and faults, each of which must give an error and let the game go on. The root with
# Godot is kept for the next run.
set(godot ${PROJECT_BINARY_DIR}/roots/godot)
set(godot_is_there IF ${godot}/interface/gdextension_interface.h)
set(add_on ${PROJECT_BINARY_DIR}/godot)
heed_test(godot.root LABELS all godot COST 60 MAKES godot.root NEEDS packages.roots AFTER packages.python
  COMMAND ${samples}/godot/get_godot.sh ${godot})
heed_test(godot.configure LABELS all godot MAKES godot.configured NEEDS godot.root ${godot_is_there}
  COMMAND ${CMAKE_COMMAND} -S ${samples}/godot -B ${add_on} -G Ninja -DCMAKE_BUILD_TYPE=Release
          -DHEED_GODOT_INTERFACE=${godot}/interface -DHEED_GODOT_HEED=${PROJECT_BINARY_DIR})
heed_test(godot.build LABELS all godot COST 30 MAKES godot NEEDS godot.configured ${godot_is_there}
  COMMAND ${CMAKE_COMMAND} --build ${add_on})
heed_test(godot.game LABELS all godot driver COST 90 NEEDS godot model.minilm model.smollm2 model.whisper AFTER onnx.pytorch
  ${godot_is_there} ${minilm}/model.safetensors ${smollm2} ${whisper}/model.bin
  COMMAND ${samples}/godot/test.sh ${godot} ${samples}/godot/addons/heed/bin/libheed_godot.so ${smollm2} ${minilm} ${whisper} ${PROJECT_BINARY_DIR}/exported)
