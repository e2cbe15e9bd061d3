# Two characters who speak on Godot's GPU, a part of a step in each frame.
#   godot --path samples/godot --script tests/gpu_speaker.gd -- MODEL
extends SceneTree

var failures := 0

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func run(model: String) -> void:
	var device := HeedDevice.new()
	check(device.open() == OK and device.is_gpu(), "the GPU")
	var finished := {}
	var nodes: Array[HeedSpeaker] = []
	for name: String in ["Bram", "Marta"]:
		var node := HeedSpeaker.new()
		root.add_child(node)
		node.budget_msec = 20.0
		node.context_tokens = 128
		node.answer_tokens = 3
		check(node.open(device, model) == OK and node.set_persona("You are %s." % name) == OK, "open")
		node.finished.connect(func(answer: String) -> void: finished[name] = answer)
		node.failed.connect(func(why: String) -> void: finished[name] = why; check(false, why))
		check(node.say("Hello!") == OK, "say")
		nodes.append(node)
	var begin := Time.get_ticks_msec()
	var frames := 0
	while finished.size() < 2 and Time.get_ticks_msec() < begin + 100000:
		await process_frame
		frames += 1
	print(finished, " in ", frames, " frames, ", Time.get_ticks_msec() - begin, " ms")
	check(finished.size() == 2, "two answers")
	for node in nodes:
		check(node.get_tokens() == 3, "three tokens each, not %d" % node.get_tokens())
		node.free()
	print("passed" if failures == 0 else "failed")
	device = null
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	Engine.max_fps = 60
	run(OS.get_cmdline_user_args()[0])
