# The meaning of a text, headless: the nearest of a game's intents, a missing model, and nodes that are freed during a query.
#   godot --headless --path samples/godot --script tests/intents.gd -- ENCODER
extends SceneTree

const INTENTS: Array[String] = ["Buy a sword from the blacksmith", "Take a room at the inn for the night", "Frighten the birds so that they fly away"]

var failures := 0

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func until(what: Callable) -> bool:
	var end := Time.get_ticks_msec() + 40000
	while not what.call():
		if Time.get_ticks_msec() > end:
			return false
		await process_frame
	return true

func encoder(device: HeedDevice, path: String, told: Array) -> HeedTextEncoder:
	var node := HeedTextEncoder.new()
	root.add_child(node)
	node.answered.connect(func(text: String, intents: PackedStringArray, cosines: PackedFloat32Array) -> void: told.append([text, intents, cosines]))
	node.failed.connect(func(text: String, why: String) -> void: told.append([text, why]))
	check(node.open(device, path) == OK, "open")
	return node

func run(path: String) -> void:
	var device := HeedDevice.new()
	check(device.open_cpu() == OK, "the device")
	var early := HeedTextEncoder.new()
	check(early.ask("Hello") == ERR_UNCONFIGURED and early.set_intents(PackedStringArray(INTENTS)) == ERR_UNCONFIGURED, "calls without a model")
	check(early.open(null, path) == ERR_INVALID_PARAMETER, "open without a device")
	early.free()
	var told := []
	var node := encoder(device, path, told)
	check(node.set_intents(PackedStringArray(INTENTS)) == OK, "set_intents")
	var thread := Thread.new()
	thread.start(func() -> int: return node.ask("from a thread"))
	check(thread.wait_to_finish() == ERR_UNAVAILABLE, "ask on another thread")
	for text: String in ["I need a new blade", "where can I sleep tonight?", "shoo! get off the roof, you crows"]:
		check(node.ask(text) == OK and node.is_asking(), "ask")
	check(await until(func() -> bool: return told.size() == 3), "three answers")
	for i in told.size():
		check(told[i].size() == 3 and told[i][1][0] == INTENTS[i], "what '%s' means: %s" % [told[i][0], told[i][1]])
		check(told[i][1].size() == 3 and told[i][2][0] >= told[i][2][1] and told[i][2][1] >= told[i][2][2] and told[i][2][0] < 1.001, "the nearest first")
	check(not node.is_asking(), "nothing is left")
	# Any text has an answer.
	told.clear()
	for text: String in ["", "   ", "sword ".repeat(20000), char(0xFFFD), char(0x1F5E1)]:
		node.ask(text)
	check(await until(func() -> bool: return told.size() == 5) and told.all(func(one: Array) -> bool: return one.size() == 3), "odd texts")
	# The intent's own text gives that intent.
	told.clear()
	node.ask(INTENTS[1])
	check(await until(func() -> bool: return told.size() == 1), "another answer")
	check(absf(told[0][2][0] - 1.0) < 1e-4, "a cosine of 1")
	told.clear()
	check(node.set_intents(PackedStringArray()) == OK and node.ask("anything") == OK, "no intents")
	check(await until(func() -> bool: return told.size() == 1) and told[0][1].is_empty(), "nothing is near")
	node.ask("freed while it asks")
	node.free()
	told.clear()
	var missing := encoder(device, "/there/is/no/model", told)
	missing.set_intents(PackedStringArray(INTENTS))
	missing.ask("Hello")
	check(await until(func() -> bool: return told.size() == 1) and told[0].size() == 2, "a model that is missing is told")
	missing.free()
	print("passed" if failures == 0 else "failed")
	device = null
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	run(OS.get_cmdline_user_args()[0])
