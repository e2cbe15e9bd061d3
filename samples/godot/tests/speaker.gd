# Speakers, headless, while frames continue: answers of several at once, wrong calls, cancelling, nodes that are freed at any time, and
# files that are no models. No frame may wait for any of that.
#   godot --headless --path samples/godot --script tests/speaker.gd -- MODEL HOSTILE PERSONA
# MODEL: a file; HOSTILE: a folder of files that are none; PERSONA: a persona file
extends SceneTree

# The most time that speakers may take in 99 of 100 frames, and in all frames on average. Both are far more than they need, since other
# programs may occupy the processor meanwhile. Beginning one conversation takes longer.
const MOST_OF_A_FRAME_MS := 10.0
const MOST_ON_AVERAGE_MS := 0.5
const SECONDS_FOR_AN_ANSWER := 60.0

var failures := 0
var device := HeedDevice.new()
var meter := HeedSpeaker.new()
var model := ""
# Each speaker's signals, by its number, which outlives it.
var tokens := {}
var finished := {}
var failed := {}

var frames := 0
var spent_ms := 0.0
var worst_ms := 0.0
var long_frames := 0
var longest_gap_ms := 0.0
var last_us := 0

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func _process(_delta: float) -> bool:
	var now := Time.get_ticks_usec()
	if last_us != 0:
		longest_gap_ms = maxf(longest_gap_ms, (now - last_us) / 1000.0)
	last_us = now
	var ms := meter.take_spent_usec() / 1000.0
	frames += 1
	spent_ms += ms
	worst_ms = maxf(worst_ms, ms)
	if ms > MOST_OF_A_FRAME_MS:
		long_frames += 1
	return false

# Returns false if it did not happen in time.
func until(what: Callable) -> bool:
	var end := Time.get_ticks_msec() + SECONDS_FOR_AN_ANSWER * 1000
	while not what.call():
		if Time.get_ticks_msec() > end:
			return false
		await process_frame
	return true

func speaker(path: String, persona: String) -> HeedSpeaker:
	var node := HeedSpeaker.new()
	var id := node.get_instance_id()
	root.add_child(node)
	check(node.open(device, path) == OK, "open")
	check(node.set_persona(persona) == OK, "set_persona")
	tokens[id] = ""
	node.token.connect(func(text: String) -> void: tokens[id] += text)
	node.finished.connect(func(answer: String) -> void: finished[id] = answer)
	node.failed.connect(func(why: String) -> void: failed[id] = why)
	return node

func wrong_calls() -> void:
	var early := HeedSpeaker.new()
	check(early.say("Hello?") == ERR_UNCONFIGURED, "say without a model")
	check(early.open(null, model) == ERR_INVALID_PARAMETER, "open without a device")
	check(early.open(HeedDevice.new(), model) == ERR_INVALID_PARAMETER, "open on a device that is not open")
	check(early.answer_tokens == 80 and early.context_tokens == 1024, "defaults")
	early.answer_tokens = -1
	early.context_tokens = -1
	check(early.answer_tokens == 80 and early.context_tokens == 1024, "properties keep their values")
	early.cancel()
	early.free()
	device.threads = -1
	check(device.threads == 0, "threads keep their value")
	check(device.open() == OK, "the device")
	check(device.describe().begins_with("cpu"), "the device's name")
	device.threads = 3
	check(device.threads == 0, "threads of an open device")

func two_at_once() -> void:
	var smith := speaker(model, "You are Bram, a grumpy blacksmith. Answer in one short sentence.")
	var host := speaker(model, "You are Mara, a cheerful innkeeper. Answer in one short sentence.")
	check(smith.say("Do you sell swords?") == OK and host.say("Do you have a room?") == OK, "say")
	check(smith.say("And axes?") == ERR_BUSY, "say while speaking")
	check(smith.set_persona("Somebody else.") == ERR_BUSY, "set_persona while speaking")
	var from_thread := Thread.new()
	from_thread.start(func() -> int: return smith.say("From a thread"))
	check(from_thread.wait_to_finish() == ERR_UNAVAILABLE, "say on another thread")
	speaker(model, "").queue_free()  # while its model is still being opened
	check(await until(func() -> bool: return finished.size() == 2), "two answers")
	for node: HeedSpeaker in [smith, host]:
		var answer := node.get_answer()
		check(not node.is_speaking() and answer.length() > 0, "an answer")
		check(finished.get(node.get_instance_id()) == answer and tokens[node.get_instance_id()] == answer, "the whole answer")
		print("said: ", answer)
		check(node.get_tokens() > 0, "tokens are counted")
	await looks(smith, "swords?")
	# One continues when the other is freed.
	host.queue_free()
	tokens[smith.get_instance_id()] = ""
	finished.clear()
	check(smith.say("And axes?") == OK, "a second question")
	check(await until(func() -> bool: return finished.size() == 1), "a second answer")
	smith.free()

# As in scenes that a thread loads.
func made_on_a_thread() -> void:
	var maker := Thread.new()
	maker.start(func() -> HeedSpeaker: return HeedSpeaker.new())
	var node: HeedSpeaker = maker.wait_to_finish()
	check(node.open(device, model) == ERR_UNAVAILABLE, "open on another thread than the maker's")
	root.add_child(node)
	check(node.open(device, model) == OK, "open in the tree")
	node.answer_tokens = 2
	finished.clear()
	node.finished.connect(func(answer: String) -> void: finished[0] = answer)
	check(node.say("Hello?") == OK, "say in the tree")
	check(await until(func() -> bool: return finished.size() == 1), "an answer of a node that a thread made")
	node.free()

# The attention of an answer's first and last word includes the asked word, and nothing later.
func looks(node: HeedSpeaker, asked: String) -> void:
	var words := node.get_answer().split(" ", false)
	for word: int in [0, words.size() - 1]:
		var seen := []
		var note := func(seen_words: PackedStringArray, weights: PackedFloat32Array) -> void: seen.append_array([seen_words, weights])
		node.looked.connect(note)
		check(node.look(word) == OK, "look")
		check(await until(func() -> bool: return not seen.is_empty()), "what word %d looked at" % word)
		node.looked.disconnect(note)
		if seen.is_empty():
			return
		check(seen[0].size() == seen[1].size() and seen[0].has(asked), "what was asked was seen: %s" % seen[0])
		check(Array(seen[1]).max() == 1.0 and Array(seen[1]).min() > 0.0, "weights")
		check(not seen[0].has("user") and (word == 0 or seen[0].slice(-word) == words.slice(0, word)), "words before the word")
	check(node.look(-1) == ERR_INVALID_PARAMETER, "no word")
	check(node.look(words.size()) == OK, "a word that is not there is told later")

# The budget limits what the character takes from other threads, which are busy all the time here.
func budgets() -> void:
	var node := speaker(model, "You are a bard.")
	node.answer_tokens = 12
	var rest := [false]
	var others: Array[Thread] = []
	for i in OS.get_processor_count():
		others.append(Thread.new())
		others.back().start(func() -> void:
			while not rest[0]:
				pass)
	var took := {}
	for budget: float in [-1.0, 0.0, 0.5]:
		node.budget_msec = budget
		check(node.budget_msec == maxf(budget, 0.0), "a budget")
		finished.clear()
		if budget < 0.0:
			check(node.set_persona("You are a bard. Tell long stories.") == OK, "set_persona")
		var begin := Time.get_ticks_msec()
		check(node.say("Tell me more.") == OK, "say")
		check(await until(func() -> bool: return finished.size() == 1), "an answer within a budget of %s ms" % budget)
		took[budget] = Time.get_ticks_msec() - begin
	print("12 tokens took %d ms, with a budget of 0.5 ms %d ms" % [took[0.0], took[0.5]])
	check(took[0.5] > 2 * mini(took[0.0], took[-1.0]), "half a millisecond of a frame is a small part")
	rest[0] = true
	for other in others:
		other.wait_to_finish()
	node.free()

func cancelled() -> void:
	var node := speaker(model, "You are a bard. Tell long stories.")
	var id := node.get_instance_id()
	finished.clear()
	check(node.say("Tell me a story.") == OK, "say")
	node.cancel()
	check(not node.is_speaking() and finished.get(id) == "", "cancel before the first word")
	finished.clear()
	check(node.say("Tell me a story.") == OK, "say after cancel")
	check(await until(func() -> bool: return tokens[id] != ""), "a first word")
	node.cancel()
	var answer := node.get_answer()
	check(finished.get(id) == answer and answer.length() > 0, "cancel in the middle gives what was said")
	for i in 30:
		await process_frame
	check(node.get_answer() == answer and tokens[id] == answer, "silence after cancel")
	# A handler cancels the answer that it is notified of, and asks again.
	finished.clear()
	tokens[id] = ""
	node.token.connect(func(_text: String) -> void: node.cancel(), CONNECT_ONE_SHOT)
	check(node.say("Go on.") == OK, "say after a second cancel")
	check(await until(func() -> bool: return finished.has(id)), "cancel in a handler")
	node.answer_tokens = 3
	check(node.set_persona("You are a bard.") == OK, "set_persona after cancel")
	finished.clear()
	check(node.say("Tell me a story.") == OK, "say as somebody else")
	check(await until(func() -> bool: return finished.has(id)), "an answer of three tokens")
	check(finished[id].length() < 60, "an answer of three tokens is short")
	node.free()

func freed_by_handlers() -> void:
	for told: String in ["token", "finished", "failed"]:
		var node := speaker("/there/is/no/model.gguf" if told == "failed" else model, "You are a guard.")
		node.answer_tokens = 8
		node.connect(told, func(_text: String) -> void: node.queue_free())
		check(node.say("Who goes there?") == OK, "say")
		check(await until(func() -> bool: return not is_instance_valid(node)), "a handler of " + told + " frees its node")

func freed_in_any_order() -> void:
	for order: Array in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]:
		var nodes: Array[HeedSpeaker] = []
		for i in order.size():
			nodes.append(speaker(model, "You are guard number %d." % i))
			if i != 1:
				check(nodes[i].say("Who goes there?") == OK, "say")
		for i: int in order:
			for frame in i * 3:
				await process_frame
			nodes[i].free()
	# The last speaker was freed a moment ago, and with it the model, which may still be computing. A new speaker opens the model again.
	var node := speaker(model, "")
	node.context_tokens = 256
	check(node.open(device, model) == OK, "open again, with another context")
	node.answer_tokens = 4
	finished.clear()
	check(node.say("Hello!") == OK, "say")
	check(await until(func() -> bool: return finished.size() == 1), "an answer in a context of 256 tokens")
	node.free()

func hostile_files(folder: String) -> void:
	failed.clear()
	var nodes: Array[HeedSpeaker] = []
	var names := Array(DirAccess.get_files_at(folder))
	check(names.size() >= 5, "hostile files")
	names.append_array(["folder.gguf", "is_not_there.gguf", "res://is_not_there.gguf"])
	for file: String in names:
		nodes.append(speaker(file if file.begins_with("res://") else folder.path_join(file), ""))
		check(nodes.back().say("Hello?") == OK, "say")
	check(await until(func() -> bool: return failed.size() == names.size()), "each file is refused")
	for i in nodes.size():
		var why: String = failed.get(nodes[i].get_instance_id(), "")
		check(why.contains("could not be opened"), names[i])
		check(why.contains("nothing is at") == names[i].contains("is_not_there") and why.contains(".pck") == names[i].begins_with("res://"), why)
		check(nodes[i].say("Hello?") == OK, "say again")
		check(nodes[i].open(device, model) == OK, "another model after one that failed")
		nodes[i].free()

func personas(path: String) -> void:
	var node := speaker(model, "")
	var id := node.get_instance_id()
	check(node.set_persona_file("/there/is/no/persona.txt") == ERR_FILE_CANT_READ, "no persona file")
	check(node.set_persona_file("/model.gguf") == ERR_FILE_CANT_READ, "a persona file that is none")
	check(node.set_persona_file(path) == OK, "a persona file")
	finished.clear()
	check(node.say("Who are you?") == OK, "say")
	check(node.set_persona_file(path) == ERR_BUSY, "a persona file while speaking")
	check(await until(func() -> bool: return finished.has(id)), "an answer of a persona file")
	var answer: String = finished.get(id, "")
	print("said: ", answer)
	finished.clear()
	check(node.set_persona("") == OK and node.say("Who are you?") == OK, "the same question to nobody")
	check(await until(func() -> bool: return finished.has(id)), "an answer of nobody")
	check(answer != "" and answer != finished.get(id), "the persona of the file")
	node.free()

# A conversation that is loaded gives the same answer as without saving, and a damaged file changes nothing.
func saved() -> void:
	var node := speaker(model, "You are Bram, a grumpy blacksmith.")
	var id := node.get_instance_id()
	var told := []
	node.saved.connect(func(path: String) -> void: told.append("saved " + path))
	node.loaded.connect(func(path: String) -> void: told.append("loaded " + path))
	node.answer_tokens = 12
	var answers := []
	for part: String in ["ask", "save", "ask", "load", "ask"]:
		finished.clear()
		told.clear()
		if part == "ask":
			check(node.say("What do you sell?") == OK, "say")
			check(node.save("user://no.talk") == ERR_BUSY and node.load("user://no.talk") == ERR_BUSY, "files while speaking")
			check(await until(func() -> bool: return finished.has(id)), "an answer")
			answers.append(node.get_answer())
		else:
			check(node.call(part, "user://smith.talk") == OK, part)
			check(await until(func() -> bool: return told.size() == 1), part + " is told")
			check(told == [part.trim_suffix("e") + "ed user://smith.talk"], str(told))
			check(node.get_answer() == (answers[0] if part == "load" else answers.back()), "the last answer")
	check(answers[1] == answers[2] and answers[1] != "", "the same answer after loading: %s" % [answers])
	var bytes := FileAccess.get_file_as_bytes("user://smith.talk")
	check(bytes.size() > 0 and bytes.size() < 8192, "a few KB")
	var half := FileAccess.open("user://half.talk", FileAccess.WRITE)
	half.store_buffer(bytes.slice(0, bytes.size() / 2))
	half.close()
	for path: String in ["user://half.talk", "user://none.talk"]:
		failed.clear()
		check(node.load(path) == OK, "load")
		check(await until(func() -> bool: return failed.has(id)), "a file that is none")
		check(failed.get(id, "").contains("could not be loaded"), failed.get(id, ""))
	check(node.get_answer() == answers[2], "nothing has changed")
	node.free()

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	if arguments.size() != 3:
		printerr("FAILED: MODEL HOSTILE PERSONA must be given")
		quit(2)
		return
	model = arguments[0]
	Engine.max_fps = 60
	run(arguments[1], arguments[2])

func run(hostile: String, persona: String) -> void:
	wrong_calls()
	await two_at_once()
	await made_on_a_thread()
	await budgets()
	await cancelled()
	await freed_by_handlers()
	await freed_in_any_order()
	await hostile_files(hostile)
	await personas(persona)
	await saved()
	# One character is speaking, and another model is being opened, when the program ends.
	check(speaker(model, "").say("Tell me a long story.") == OK, "say at the end")
	var opening := HeedSpeaker.new()
	opening.context_tokens = 128
	root.add_child(opening)
	check(opening.open(device, model) == OK, "open at the end")
	# Godot does not free a node outside of the tree.
	var lost := HeedSpeaker.new()
	check(lost.open(device, model) == OK and lost.say("Does anybody hear me?") == OK, "a node that nobody frees")
	check(root.get_child_count() == 2, "all other speakers are gone")
	print("%d frames in %.1f s; speakers took at most %.2f ms of one, %.3f ms on average; longest time between two: %.1f ms" % [
		frames, last_us / 1e6, worst_ms, spent_ms / frames, longest_gap_ms])
	check(long_frames * 100 <= frames and spent_ms / frames <= MOST_ON_AVERAGE_MS, "no frame waits")
	print("passed" if failures == 0 else "failed")
	device = null
	meter.free()
	quit(0 if failures == 0 else 1)
