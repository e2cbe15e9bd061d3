# The command line's options, after "--".
#   --scene village|crowd   the scene; the crowd of policy.onnx reads --agents COUNT, --budget, --detail, --bench, --png, and
#                     --after SECONDS, the time of the picture
#   --model FILE, --encoder FOLDER, --personas FOLDER   the language model, the sentence model, and the characters' files
#   --ears FOLDER     the speech model, which hears the player while Tab is down; --show speak plays --recording FILE.wav
#   --budget MS       milliseconds of each frame for the characters; default 4, and 0, no limit, with --png
#   --speak none|heed|CLASS   whether the characters speak by themselves during --bench or --show; CLASS: by nodes of another
#                     class with HeedSpeaker's methods and signals
#   --speech auto|cpu|gpu   the device of the characters' model; auto: Godot's GPU, unless that is a software driver
#   --birds COUNT     number of birds; 0: 320 on a GPU, 80 on the CPU
#   --detail full|plain   plain: without shadows, sky, glow and smooth edges, for software drivers
#   --bench SECONDS   plays for so long, and ends; --log FILE then has each frame's milliseconds, a line each, and a summary in its
#                     last lines, after "#"
#   --show WHAT --png FILE   plays, writes a picture and ends; WHAT: settle, scatter, talk, look or speak
extends RefCounted

var scene := "village"
var agents := 128
var after := 23.0
var model := ""
var encoder := ""
var personas := ""
var ears := ""
var recording := ""
var budget := 4.0
var speak := "none"
var speech := "auto"
var birds := 0
var detail := "full"
var speaker: String:  # the class
	get: return "HeedSpeaker" if speak in ["none", "heed"] else speak
var bench := 0.0
var log_file := ""
var show := "settle"
var png := ""

func read(arguments: PackedStringArray) -> String:
	for i in range(0, arguments.size(), 2):
		if i + 1 == arguments.size():
			return "%s needs a value" % arguments[i]
		var value := arguments[i + 1]
		match arguments[i]:
			"--scene": scene = value
			"--agents": agents = value.to_int()
			"--after": after = value.to_float()
			"--model": model = value
			"--encoder": encoder = value
			"--personas": personas = value
			"--ears": ears = value
			"--recording": recording = value
			"--budget": budget = value.to_float()
			"--speak": speak = value
			"--speech": speech = value
			"--birds": birds = value.to_int()
			"--detail": detail = value
			"--bench": bench = value.to_float()
			"--log": log_file = value
			"--show": show = value
			"--png": png = value
			_: return "there is no %s" % arguments[i]
	if not speak in ["none", "heed"] and not ClassDB.class_exists(speak):
		return "--speak is none, heed or the name of a class"
	if png != "" and not "--budget" in arguments:
		budget = 0.0
	if not speech in ["auto", "cpu", "gpu"]:
		return "--speech is auto, cpu or gpu"
	if not detail in ["full", "plain"]:
		return "--detail is full or plain"
	if not scene in ["village", "crowd"]:
		return "--scene is village or crowd"
	if agents < 1:
		return "--agents is a count of one or more"
	if birds < 0:
		return "--birds is a count"
	if not show in ["settle", "scatter", "talk", "look", "speak"]:
		return "--show is settle, scatter, talk, look or speak"
	if png != "" and show == "speak" and (ears == "" or recording == ""):
		return "--show speak needs --ears and --recording"
	return ""
