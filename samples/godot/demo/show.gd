# Plays the demo without a player, to measure it or for a picture.
extends Node

const QUESTIONS: Array[String] = ["Do you sell swords?", "Do you have a room for tonight?", "Do you really guard a hoard of gold?",
	"What happened in the village today?", "Tell me about your work.", "What do you think of the others here?"]

var village: Node3D
var _last_usec := 0
var _times := PackedFloat32Array()
var _asked := 0

func _init(of: Node3D) -> void:
	village = of

func _ready() -> void:
	if village.options.bench > 0.0:
		bench()
	else:
		picture()

func _process(_delta: float) -> void:
	var now := Time.get_ticks_usec()
	if _last_usec != 0:
		_times.append((now - _last_usec) / 1000.0)
	_last_usec = now

func _frames(count: int) -> void:
	for i in count:
		await get_tree().process_frame

# Asks each silent character something.
func _keep_talking() -> void:
	for person in village.people:
		if not person.speaker.is_speaking() and person.is_open and not person.has_failed:
			person.ask(QUESTIONS[_asked % QUESTIONS.size()])
			_asked += 1

func _tokens() -> int:
	var sum := 0
	for person in village.people:
		sum += person.speaker.get_tokens()
	return sum

func bench() -> void:
	var options = village.options
	await _frames(30)  # while pipelines are created
	if options.speak != "none":
		# The models are opened and the personas read before timing starts.
		_keep_talking()
		var end_of_wait := Time.get_ticks_msec() + 60000
		while Time.get_ticks_msec() < end_of_wait and village.people.any(func(person: Node) -> bool: return person.speaker.is_speaking() and person.speaker.get_tokens() == 0):
			await get_tree().process_frame
	_times.clear()
	var tokens_before := _tokens()
	var begin := Time.get_ticks_usec()
	var scatters := 5.0
	while Time.get_ticks_usec() - begin < options.bench * 1e6:
		if options.speak != "none":
			_keep_talking()
		if (Time.get_ticks_usec() - begin) / 1e6 > scatters:
			village.scatter() if int(scatters) % 2 == 1 else village.settle()
			scatters += 5.0
		await get_tree().process_frame
	var seconds := (Time.get_ticks_usec() - begin) / 1e6
	var tokens := _tokens() - tokens_before
	var sorted := _times.duplicate()
	sorted.sort()
	var told := "# frames %d seconds %.3f p50 %.3f p95 %.3f p99 %.3f worst %.3f tokens %d tokens_per_second %.3f" % [
		sorted.size(), seconds, sorted[sorted.size() / 2], sorted[int(sorted.size() * 0.95)], sorted[int(sorted.size() * 0.99)],
		sorted[sorted.size() - 1], tokens, tokens / seconds]
	print(told)
	if options.log_file != "":
		var file := FileAccess.open(options.log_file, FileAccess.WRITE)
		if file == null:
			push_error("the log %s cannot be written" % options.log_file)
			get_tree().quit(1)
			return
		for time in _times:
			file.store_line("%.3f" % time)
		file.store_line(told)
		file.close()
	get_tree().quit(0)

func picture() -> void:
	var show: String = village.options.show
	await _frames(20)
	if show == "scatter":
		village.settle()
		await _frames(150)
		village.scatter()
		await _frames(26)
	elif show == "settle":
		await _frames(60)
		village.settle()
		await _frames(190)
	elif show == "speak":
		await _speak()
	else:
		await _talk(show == "look")
	await RenderingServer.frame_post_draw
	var image := get_viewport().get_texture().get_image()
	var problem := image.save_png(village.options.png)
	print("%s: %s" % [village.options.png, "written" if problem == OK else error_string(problem)])
	get_tree().quit(0 if problem == OK else 1)

func _talk(looks: bool) -> void:
	for i in village.people.size():
		village.people[i].shown_seconds = INF
		village.people[i].ask(QUESTIONS[i])
	var end := Time.get_ticks_msec() + 120000
	while Time.get_ticks_msec() < end and village.people.any(func(person: Node) -> bool: return person.speaker.is_speaking()):
		await get_tree().process_frame
	if looks:
		for person in village.people:
			var words: PackedStringArray = person.speaker.get_answer().split(" ", false)
			# The longest word after the first few probably carries meaning.
			var best := mini(3, words.size() - 1)
			for i in range(3, words.size()):
				if words[i].length() > words[best].length():
					best = i
			if best >= 0:
				person.pick(best)
		while Time.get_ticks_msec() < end and not village.people.all(func(person: Node) -> bool: return person.looked_at_most(1).size() > 0):
			await get_tree().process_frame
	await _frames(10)

# A recording asks a character, and it answers.
func _speak() -> void:
	const HOST := 1
	village.speak_to(HOST)
	village.people[HOST].shown_seconds = INF
	var end := Time.get_ticks_msec() + 120000
	var said := [""]
	village.ears.said.connect(func(text: String) -> void: said[0] = text)
	if not village.ears.hear(village.options.recording):
		printerr("village: %s is no WAV file of 16 bits and one channel" % village.options.recording)
	while Time.get_ticks_msec() < end and (village.ears.listener.is_busy() or said[0] == "" or village.people[HOST].speaker.is_speaking()):
		await get_tree().process_frame
	print("spoken: ", said[0])
	await _frames(10)
